/* SPDX-License-Identifier: MIT */
/* assigned_macro.h - what a call's result is assigned to inside of a macro. */
#ifndef MEMATTACH_LEAK_ASSIGNED_MACRO_H
#define MEMATTACH_LEAK_ASSIGNED_MACRO_H

#include "src/leak/variable/assigned_source.h"

/* Where definitions come from. */
struct macro_source {
	/*
	 * The text of "NAME(parameters) body" after a #define of the name (of bytes), without a
	 * terminator; NULL: there is none. Borrowed until the next call.
	 */
	const char *(*find)(void *context, const char *name, size_t bytes, size_t *ret_bytes);
	void *context;
};
/*
 * As assigned_source_read() for the text that the macro at place expands to, through macros
 * in macros. 0, -ENOENT (no macro, or no such call in it), -ENOMEM.
 */
int assigned_macro_read(const struct tokens *tokens, const struct source_place *place,
			const struct macro_source *source,
			struct source_answer *ret) _must_check_;

#endif
