/* SPDX-License-Identifier: MIT */
/* utf8.h - UTF-8 without a locale, and the characters in it that act instead of being seen. */
#ifndef MEMATTACH_BASE_UTF8_H
#define MEMATTACH_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the valid UTF-8 sequence at text; 0: there is none, or text ends. */
size_t utf8_length(const char *text);
/* pre: a valid sequence of length bytes. */
uint32_t utf8_code_point(const char *text, size_t length);
/*
 * Does the character move a cursor, end a line or change the direction or the meaning of those
 * around it? C0, DEL, C1, U+2028, U+2029, the marks of bidirectional text (Bidi_Control of Unicode
 * 15), interlinear annotations and tags.
 */
bool utf8_is_control(uint32_t code);

#endif
