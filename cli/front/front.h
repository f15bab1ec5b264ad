/* SPDX-License-Identifier: MIT */
/* front.h - the process the user sees: starts keeper and analyst, passes signals on, waits. */
#ifndef MEMATTACH_FRONT_H
#define MEMATTACH_FRONT_H

#include "inject/tracee/target.h"
#include "src/session/session.h"

/*
 * Can events be put in order on this machine? SESSION_OK, or SESSION_REFUSED with the reason on
 * stderr.
 */
int front_check_clock(void) _must_check_;
/*
 * Checks whether pid may be entered and opens it. SESSION_OK, or SESSION_REFUSED
 * with the reason and the remedy on stderr.
 */
int front_open_target(pid_t pid, const struct session_options *options, struct target *ret)
	_must_check_;
/* Runs keeper and analyst for target (ownership taken) to the end. The exit status. */
int front_run(struct target *target, const struct session_options *options);
/*
 * In a child of parent, which is told nothing but the exit status: watches pid as its keeper, until
 * a SIGTERM, or until parent ends.
 */
void front_become_keeper(pid_t pid, const struct session_options *options, pid_t parent)
	__attribute__((noreturn));
/* For a child of ours: the terminal's signals (Ctrl-C) come to the front alone. */
void front_stand_apart(void);
/* A program to be started: a child that waits for a byte before it calls exec. */
struct program {
	pid_t pid;
	int gate;		/* write a byte: go */
	int failure;		/* reads exec's errno, or nothing */
};
#define PROGRAM_NONE ((struct program){ .gate = -1, .failure = -1 })

/* command is found by PATH. 0 or -errno. */
int program_start(char **command, struct program *ret) _must_check_;
/* Lets it go and watches it from its first allocation. Takes the gate. The exit status. */
int program_watch(struct program *program, const struct session_options *options);
/* True, and said: command can't be run. Waits for its exec, or its end. pre: the gate is closed. */
bool program_failed(struct program *program, char **command) _must_check_;
/* Starts command (found by PATH) and watches it from its first allocation. The exit status. */
int front_run_command(char **command, const struct session_options *options);

#endif
