/* SPDX-License-Identifier: MIT */
/* terminal.h - the terminal before, during and after the live screen. */
#ifndef MEMATTACH_SCREEN_TERMINAL_H
#define MEMATTACH_SCREEN_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "src/base/cleanup.h"

/* As it was, for whom the screen was killed under. */
struct terminal_saved {
	struct termios modes;
};

/* Standard input and output are one terminal that a screen can be drawn on, and it is ours now. */
bool terminal_can_show(void);
/* 0 or -errno. */
int terminal_save(struct terminal_saved *ret) _must_check_;
/*
 * Puts it back after the screen was killed: modes, cursor, the screen of before. Never waits: what
 * a blocked terminal does not take is lost.
 */
void terminal_restore(const struct terminal_saved *saved);

/* ncurses takes the terminal over. 0, -ENOTTY it is unusable. color: if it has colours. */
int terminal_open(bool color) _must_check_;
/* And gives it back as it was. */
void terminal_close(void);
/* Gives it back, stops this process until SIGCONT, and takes it again as it is then. */
void terminal_suspend(void);
/* All of the terminal is written anew with the next picture. */
void terminal_redraw(void);
/* The next key that was pressed, never waiting; SCREEN_KEY_NONE: none. See keys.h. */
uint32_t terminal_key(void);

#endif
