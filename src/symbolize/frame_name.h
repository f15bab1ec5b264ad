/* SPDX-License-Identifier: MIT */
/* frame_name.h - demangled names made shorter, for views. */
#ifndef MEMATTACH_VIEW_FRAME_NAME_H
#define MEMATTACH_VIEW_FRAME_NAME_H

#include <stddef.h>

/*
 * In place: each list of template arguments becomes "<>". Operators such as operator<< and Rust's
 * leading "<T as Trait>" stay. A text whose brackets do not match is left as it is.
 */
void frame_name_shorten_templates(char *name);
/*
 * In place: without return type, parameters and what follows them; scopes stay, and template
 * arguments too. What has no parameters (C, Rust) is left as it is.
 */
void frame_name_only(char *name);

/*
 * In place: "..." for what stands in lists of template arguments and of parameters, the innermost
 * ones first, until it has at most so many bytes, or nothing is left to leave out: both ends
 * of the name stay. Names beyond 16 KiB are left as they are.
 */
void frame_name_fit(char *name, size_t most);

#endif
