/* SPDX-License-Identifier: MIT */
/*
 * screen_put.c - see screen_put.h.
 *
 * UTF-8 is decoded by hand and handed to ncurses as wide characters: what the locale can't show
 * becomes a question mark, what takes no column or is not known to wcwidth is left out, so
 * that columns stay where they are whatever the names of the target are.
 */
#include "src/screen/screen_put.h"

#include <langinfo.h>
#include <ncurses.h>
#include <stdarg.h>
#include <string.h>
#include <wchar.h>

#define LINE_COLUMNS 1024

enum { PAIR_NAME = 1, PAIR_WARN, PAIR_DIM };

bool view_is_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

void view_set_colors(bool color)
{
	if (!color || !has_colors() || start_color() == ERR || use_default_colors() == ERR)
		return;
	(void)init_pair(PAIR_NAME, COLOR_CYAN, -1);
	(void)init_pair(PAIR_WARN, COLOR_YELLOW, -1);
	(void)init_pair(PAIR_DIM, COLOR_BLUE, -1);
}

static attr_t style_attributes(enum view_style style)
{
	switch (style) {
	case VIEW_BOLD: return A_BOLD;
	case VIEW_DIM: return A_DIM;
	case VIEW_NAME: return (attr_t)COLOR_PAIR(PAIR_NAME);
	case VIEW_WARN: return (attr_t)COLOR_PAIR(PAIR_WARN) | A_BOLD;
	case VIEW_BAR: return A_REVERSE;
	case VIEW_CHOSEN: return A_REVERSE | A_BOLD;
	default: return A_NORMAL;
	}
}

/* The next character; broken bytes, which are not to be there, are '?'. */
static wchar_t next_character(const char **text)
{
	const unsigned char *at = (const unsigned char *)*text;
	unsigned int bytes = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	uint32_t value = bytes == 1 ? at[0] : at[0] & (0xffu >> (bytes + 1));

	for (unsigned int i = 1; i < bytes; i++) {
		if ((at[i] & 0xc0u) != 0x80u) {
			*text += i;
			return L'?';
		}
		value = value << 6 | (at[i] & 0x3fu);
	}
	*text += bytes;
	return (wchar_t)value;
}

/* Up to width columns of text as wide characters; returns the columns. */
static int lay_out(const char *text, int width, wchar_t to[LINE_COLUMNS + 1], bool *ret_cut)
{
	int columns = 0, count = 0;

	*ret_cut = false;
	while (*text) {
		wchar_t c = next_character(&text);
		int wide = wcwidth(c);

		if (wide == 0)
			continue;
		if (wide < 0) {
			c = L'?';
			wide = 1;
		}
		if (columns + wide > width) {
			*ret_cut = true;
			break;
		}
		to[count++] = c;
		columns += wide;
	}
	to[count] = L'\0';
	return columns;
}

int view_put(int y, int x, int width, enum view_style style, const char *text)
{
	wchar_t line[LINE_COLUMNS + 1];
	bool cut;
	int columns;

	if (y < 0 || y >= LINES || x < 0 || x >= COLS)
		return 0;
	if (width > COLS - x)
		width = COLS - x;
	if (width > LINE_COLUMNS)
		width = LINE_COLUMNS;
	if (width <= 0)
		return 0;
	columns = lay_out(text, width, line, &cut);
	(void)attrset((int)style_attributes(style));
	(void)mvaddwstr(y, x, line);
	if (cut)
		(void)mvaddwstr(y, x + width - 1, view_is_utf8() ? L"\u2026" : L">");
	(void)attrset(A_NORMAL);
	return cut ? width : columns;
}

void view_put_right(int y, int x, int width, enum view_style style, const char *text)
{
	wchar_t line[LINE_COLUMNS + 1];
	bool cut;
	int columns = lay_out(text, width < LINE_COLUMNS ? width : LINE_COLUMNS, line, &cut);

	(void)view_put(y, cut ? x : x + width - columns, width, style, text);
}

int view_putf(int y, int x, int width, enum view_style style, const char *format, ...)
{
	char text[LINE_COLUMNS];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return view_put(y, x, width, style, text);
}

void view_fill(int y, enum view_style style)
{
	if (y < 0 || y >= LINES)
		return;
	(void)attrset((int)style_attributes(style));
	(void)mvhline(y, 0, ' ', COLS);
	(void)attrset(A_NORMAL);
}

/* 0 nothing, 8 all of it; what is there is at least 1. */
static unsigned int height_of(uint64_t value, uint64_t largest)
{
	unsigned int height = largest ? (unsigned int)((double)value / (double)largest * 8 + 0.5)
				      : 0;

	return height > 8 ? 8 : value && !height ? 1 : height;
}

void view_graph(int y, int x, int width, const uint64_t *value, uint32_t count)
{
	static const char ascii[] = " .,:;=+*#";
	uint32_t shown = width < 0 ? 0 : (uint32_t)width < count ? (uint32_t)width : count;
	const uint64_t *from = value + (count - shown);
	uint64_t largest = 0;

	for (uint32_t i = 0; i < shown; i++)
		largest = from[i] > largest ? from[i] : largest;
	for (uint32_t i = 0; i < shown; i++) {
		unsigned int height = height_of(from[i], largest);
		char cell[4] = { ascii[height], '\0' };

		if (view_is_utf8() && height)	/* U+2581 to U+2588 */
			memcpy(cell, (const char[]){ '\xe2', '\x96', (char)(0x80 + height), '\0' },
			       sizeof(cell));
		(void)view_put(y, x + width - (int)shown + (int)i, 1, VIEW_NAME, cell);
	}
}
