/* SPDX-License-Identifier: MIT */
/*
 * json_walk.h - the members of a JSON object or array one by one, as stretches of its text.
 *
 * Finds where values begin and end; whether they are valid is for who parses them.
 */
#ifndef MEMATTACH_REPORT_JSON_WALK_H
#define MEMATTACH_REPORT_JSON_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/cleanup.h"

#define JSON_WALK_MAX_DEPTH 60u

/* Borrowed text; text NULL: not there. */
struct json_piece {
	const char *text;
	size_t bytes;
};
struct json_walk {
	const char *at, *end;	/* on -EBADMSG: at is the byte that makes no sense */
	char close;		/* the bracket that ends it */
	bool first;
};
/* bracket: '{' or '['. 0; -EBADMSG the text does not begin with it. */
int json_walk_begin(struct json_walk *walk, struct json_piece whole, char bracket) _must_check_;
/*
 * The next member, without white space around it. ret_key: its text between the quotes, escapes
 * as they are; not written for an array. 1 there is one; 0 that was all: walk->at is behind
 * the closing bracket; -EBADMSG no JSON, or nested deeper than JSON_WALK_MAX_DEPTH.
 */
int json_walk_next(struct json_walk *walk, struct json_piece *ret_key,
		   struct json_piece *ret_value) _must_check_;
/* Moves over white space. */
void json_walk_blank(struct json_walk *walk);
/* Is the piece exactly this text? */
bool json_piece_is(struct json_piece piece, const char *text);

#endif
