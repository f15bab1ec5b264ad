/* SPDX-License-Identifier: MIT */
/* screen_put.h - text and graphs at a place of the terminal, cut to columns. For view*.c. */
#ifndef MEMATTACH_SCREEN_VIEW_PUT_H
#define MEMATTACH_SCREEN_VIEW_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/cleanup.h"

enum view_style {
	VIEW_PLAIN = 0, VIEW_BOLD, VIEW_DIM, VIEW_NAME, VIEW_WARN, VIEW_BAR, VIEW_CHOSEN
};

/* The locale shows UTF-8: else everything is ASCII. */
bool view_is_utf8(void);
/* Colours, if the terminal has them and color. After initscr. */
void view_set_colors(bool color);
/*
 * text (valid UTF-8, no controls) from column x on, in at most width columns; the last one shows
 * where it was cut. Columns that it took.
 */
int view_put(int y, int x, int width, enum view_style style, const char *text);
/* The same so that it ends at x + width. */
void view_put_right(int y, int x, int width, enum view_style style, const char *text);
int view_putf(int y, int x, int width, enum view_style style, const char *format, ...)
	_printf_(5, 6);
/* The whole line in one style, without text. */
void view_fill(int y, enum view_style style);
/* count values from 0 to the largest of them, the last ones if width is less; right-aligned. */
void view_graph(int y, int x, int width, const uint64_t *value, uint32_t count);

#endif
