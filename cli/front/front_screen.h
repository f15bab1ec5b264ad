/* SPDX-License-Identifier: MIT */
/*
 * front_screen.h - the front's side of the live screen: starts its process, opens files for it,
 * puts the terminal right when it was killed. In a build without ncurses none is possible.
 */
#ifndef MEMATTACH_FRONT_SCREEN_H
#define MEMATTACH_FRONT_SCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "src/base/cleanup.h"
#include "src/screen/terminal.h"
#include "src/screen/wire.h"

struct front_screen {
	pid_t pid;			/* 0: it has ended */
	pid_t target;
	int feed;			/* the analyst's end; -1 once it was handed on */
	int control;
	int messages;			/* what the others say on stderr meanwhile; -1: not kept */
	off_t shown;			/* of messages */
	double kill_at;			/* CLOCK_MONOTONIC: it was told to end and has not; 0 */
	struct terminal_saved saved;
	struct screen_inbox inbox;
	char file[64];			/* the last one that was made for it; "" none */
	struct stat file_status;
};

/* Standard input and output are a terminal that it can be drawn on. */
bool front_screen_is_possible(void);
/*
 * Starts the screen's process for target; color as far as the terminal has it. It waits for the
 * analyst, who is to get screen->feed. 0 or -errno.
 */
int front_screen_start(struct front_screen *screen, pid_t target, bool color) _must_check_;
/* In the keeper's process: what it and its children say does not go over the screen. */
void front_screen_forked(struct front_screen *screen);
/*
 * Passes signals of set (blocked) and the user's wish to end on to the keeper, until that ends; the
 * terminal is as it was then. What waitpid says of the keeper.
 */
int front_screen_attend(struct front_screen *screen, pid_t keeper, const sigset_t *set);

#endif
