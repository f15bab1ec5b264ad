/* SPDX-License-Identifier: MIT */
/* keys.h - from keys to changes of the model: one table, which is the help, too. */
#ifndef MEMATTACH_SCREEN_KEYS_H
#define MEMATTACH_SCREEN_KEYS_H

#include "src/screen/model.h"

/* Keys that are no characters; characters are themselves (Unicode). */
enum screen_key {
	SCREEN_KEY_NONE = 0,
	SCREEN_KEY_UP = 0x200000, SCREEN_KEY_DOWN, SCREEN_KEY_PAGE_UP, SCREEN_KEY_PAGE_DOWN,
	SCREEN_KEY_HOME, SCREEN_KEY_END, SCREEN_KEY_BACKSPACE, SCREEN_KEY_RESIZE,
};
#define SCREEN_KEY_ENTER	'\n'
#define SCREEN_KEY_REDRAW	'\f'
#define SCREEN_KEY_ESCAPE	0x1b

/* What the model can't do by itself. */
enum keys_wish { KEYS_NOTHING = 0, KEYS_QUIT, KEYS_SAVE, KEYS_LEAKS, KEYS_REDRAW };

struct key_help {
	const char *keys, *text;	/* "m", "mark this moment" */
};

/* Does what key stands for. What is left to the caller. */
enum keys_wish keys_press(struct model *model, uint32_t key);
/* The table's i-th line for people; a NULL key ends it. */
struct key_help keys_help(size_t i);
/* How many of them there are. */
uint32_t keys_help_count(void);

#endif
