/* SPDX-License-Identifier: MIT */
/*
 * emit.h - a JSON document written as it is made, valid by construction.
 *
 * Errors stick: a caller writes everything and asks once at the end.
 */
#ifndef MEMATTACH_REPORT_EMIT_H
#define MEMATTACH_REPORT_EMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/base/cleanup.h"

struct emit {
	FILE *out;
	bool comma;	/* the next value or key needs one before it */
	int error;
	struct frame_texts *frames;	/* frame_json.h's: what was written of each; NULL: anew */
};

/* bracket: '{' or '['; key: NULL inside an array or at the top. */
void emit_begin(struct emit *emit, const char *key, char bracket);
void emit_end(struct emit *emit, char bracket);
void emit_uint(struct emit *emit, const char *key, uint64_t value);
void emit_int(struct emit *emit, const char *key, int64_t value);
/* As emit_uint, or null. */
void emit_uint_if(struct emit *emit, const char *key, uint64_t value, bool known);
void emit_real(struct emit *emit, const char *key, double value);
/* As emit_real; null where value is not finite. */
void emit_real_if(struct emit *emit, const char *key, double value);
void emit_bool(struct emit *emit, const char *key, bool value);
void emit_null(struct emit *emit, const char *key);
/* Any bytes; NULL becomes null. */
void emit_text(struct emit *emit, const char *key, const char *text);
/* Members of an array, as they were written elsewhere: bytes of text. */
void emit_members(struct emit *emit, const char *text, size_t bytes);
/* Ends the line and flushes. 0, -errno of the stream, -ENOMEM. */
int emit_finish(struct emit *emit) _must_check_;

#endif
