/* SPDX-License-Identifier: MIT */
/* frame_name.h - demangled names made shorter, for views. */
#ifndef MEMATTACH_VIEW_FRAME_NAME_H
#define MEMATTACH_VIEW_FRAME_NAME_H

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

#endif
