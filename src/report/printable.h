/* SPDX-License-Identifier: MIT */
/* printable.h - strings from targets, made harmless for terminals and JSON. */
#ifndef MEMATTACH_REPORT_PRINTABLE_H
#define MEMATTACH_REPORT_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/cleanup.h"

enum printable_for { PRINTABLE_TERMINAL, PRINTABLE_JSON };

/*
 * A copy of text that is valid UTF-8 (broken bytes become U+FFFD) and, for a
 * terminal, free of control characters (they become '?': no name may move the
 * cursor). NULL: out of memory. The caller frees it.
 */
char *printable_copy(const char *text, enum printable_for purpose);
/* Is text its own printable copy: ASCII without control characters? */
bool printable_is_plain(const char *text);
/* Columns that such a copy takes on a terminal, one per character. */
size_t printable_columns(const char *text);

#endif
