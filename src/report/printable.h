/* SPDX-License-Identifier: MIT */
/* printable.h - strings from targets, made harmless for terminals and JSON. */
#ifndef MEMATTACH_REPORT_PRINTABLE_H
#define MEMATTACH_REPORT_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/cleanup.h"

enum printable_for {
	PRINTABLE_TERMINAL,	/* for people: as their locale has it */
	PRINTABLE_TEXT,		/* for programs: UTF-8 */
	PRINTABLE_JSON,		/* what stands between the quotes of a JSON string */
};

/*
 * A copy of text that is valid UTF-8 (broken bytes become U+FFFD) and free of control characters
 * (src/base/utf8.h; they become '?', or \u001b for JSON: no name may move the cursor or turn what
 * stands around it). Where the locale (LC_CTYPE of the
 * process) is not of UTF-8, what is not ASCII becomes \u00e9 or \U0001f600 for a terminal, as
 * C writes it, and broken bytes '?'. NULL: out of memory. The caller frees it.
 */
char *printable_copy(const char *text, enum printable_for purpose);
/* Is text its own printable copy: ASCII without control characters? */
bool printable_is_plain(const char *text);
/* Columns that such a copy takes on a terminal: a wide character two, a combining one none. */
size_t printable_columns(const char *text);
/* Ends such a copy before the first character that is beyond so many columns. */
void printable_cut(char *text, size_t columns);

#endif
