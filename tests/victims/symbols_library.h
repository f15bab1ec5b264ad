/* SPDX-License-Identifier: MIT */
/* symbols_library.h - a library that knows its own call stack, as its source has it. */
#ifndef MEMATTACH_SYMBOLS_LIBRARY_H
#define MEMATTACH_SYMBOLS_LIBRARY_H

#include <stddef.h>

/* A call in the source: in which function (__func__), and on which line. */
struct symbols_call {
	const char *function;
	unsigned int line;
};

typedef void symbols_visitor(const struct symbols_call *call, size_t count);

#ifdef __cplusplus
extern "C"
#endif
/* Calls visit at the bottom of many stacks; call[0] is the outermost of the library's. */
void symbols_run(symbols_visitor *visit);

#endif
