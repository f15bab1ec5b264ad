/* SPDX-License-Identifier: MIT */
/* numbers.h - arguments and results as C would write them. */
#ifndef MEMATTACH_TRACE_NUMBERS_H
#define MEMATTACH_TRACE_NUMBERS_H

#include "src/trace/line.h"

/* Writes value as one of type; as snprintf, but cut to room. How much was written. */
int trace_number(char *text, size_t room, enum trace_type type, uint64_t value);
/* " = 0x5581a2b3c2a0", " = NULL", " = 12 ENOMEM" of a call that has returned and has a result. */
int trace_result(char *text, size_t room, const struct trace_line *call);

#endif
