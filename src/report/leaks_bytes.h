/* SPDX-License-Identifier: MIT */
/* leaks_bytes.h - what blocks hold, for a user who asked for it: a part of leaks_text.c's. */
#ifndef MEMATTACH_REPORT_LEAKS_BYTES_H
#define MEMATTACH_REPORT_LEAKS_BYTES_H

#include <stdio.h>

#include "src/leak/findings/leak_report.h"

/*
 * The string that the block begins with, if it does, and its first bytes, 16 a line, as hexdump -C
 * shows them, with their addresses. Whatever the bytes are, none of them reaches a terminal
 * as anything but printable text. Errors stick to the stream.
 */
void leaks_bytes_put(FILE *out, const struct leak_content *content);

#endif
