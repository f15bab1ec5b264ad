/* SPDX-License-Identifier: MIT */
/* diff_key.h - what the same group or site of several sessions is found by. */
#ifndef MEMATTACH_REPORT_DIFF_KEY_H
#define MEMATTACH_REPORT_DIFF_KEY_H

#include "src/report/diff.h"

/*
 * The key of like: kind (a verdict or a kind of site), then its frames (code, or function, module
 * and line), or where it has none its type, else its size. Equal texts must have equal addresses:
 * keys are compared byte by byte. To be freed; NULL: out of memory.
 */
void *diff_key_make(const struct diff_entry *like, const char *kind, size_t *ret_bytes);
/* The verdict that stands for verdict in a key: those of blocks that are reachable count as one. */
const char *diff_key_verdict(const char *verdict);
/* How many of an entry's frames have a function's name. */
uint32_t diff_key_named_frames(const struct diff_entry *entry);

#endif
