/* SPDX-License-Identifier: MIT */
/*
 * json_walk.c - brackets and strings, nothing else.
 *
 * A document with 50,000 sites as one tree of json_t takes more than a gigabyte; cut into its
 * sites, each is parsed and let go alone. No recursion: the open brackets are bits of a word.
 * What is inside a stretch is only skipped: jansson has the last word on what gets used.
 * Rejected: a parser of our own with callbacks, which would have to get numbers, escapes and
 * UTF-8 right a second time.
 */
#include "src/report/json_walk.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

void json_walk_blank(struct json_walk *walk)
{
	while (walk->at < walk->end && strchr(" \t\r\n", *walk->at) && *walk->at)
		walk->at++;
}

/* at: behind the opening quote; ends behind the closing one. */
static int skip_string(struct json_walk *walk)
{
	while (walk->at < walk->end && *walk->at != '"') {
		if (*walk->at == '\\')
			walk->at++;
		walk->at++;
	}
	if (walk->at >= walk->end) {
		walk->at = walk->end;
		return -EBADMSG;
	}
	walk->at++;
	return 0;
}

/* A number or a word; at least one byte. */
static int skip_scalar(struct json_walk *walk)
{
	const char *begin = walk->at;

	while (walk->at < walk->end && *walk->at > ' ' && !strchr(",:[]{}\"", *walk->at))
		walk->at++;
	return walk->at == begin ? -EBADMSG : 0;
}

/* open: one bit a bracket around this place, 1 for an object, below a leading 1. */
static int skip_token(struct json_walk *walk, uint64_t *open)
{
	char c = *walk->at;

	switch (c) {
	case '{': case '[':
		if (*open >> JSON_WALK_MAX_DEPTH)
			return -EBADMSG;
		*open = *open << 1 | (c == '{');
		walk->at++;
		return 0;
	case '}': case ']':
		if (*open == 1 || (*open & 1) != (c == '}'))
			return -EBADMSG;
		*open >>= 1;
		walk->at++;
		return 0;
	case '"':
		walk->at++;
		return skip_string(walk);
	case ',': case ':':
		walk->at++;
		return *open == 1 ? -EBADMSG : 0;
	default:
		return skip_scalar(walk);
	}
}

static int skip_value(struct json_walk *walk)
{
	uint64_t open = 1;
	int error;

	do {
		json_walk_blank(walk);
		if (walk->at == walk->end)
			return -EBADMSG;
		error = skip_token(walk, &open);
	} while (!error && open != 1);
	return error;
}

int json_walk_begin(struct json_walk *walk, struct json_piece whole, char bracket)
{
	*walk = (struct json_walk){ .at = whole.text, .end = whole.text + whole.bytes,
				    .close = bracket == '{' ? '}' : ']', .first = true };
	json_walk_blank(walk);
	if (walk->at == walk->end || *walk->at != bracket)
		return -EBADMSG;
	walk->at++;
	return 0;
}

/* Is c the next byte after white space? Then it is passed. */
static bool pass(struct json_walk *walk, char c)
{
	json_walk_blank(walk);
	if (walk->at == walk->end || *walk->at != c)
		return false;
	walk->at++;
	return true;
}

static int next_key(struct json_walk *walk, struct json_piece *ret)
{
	struct json_piece key;

	if (!pass(walk, '"'))
		return -EBADMSG;
	key.text = walk->at;
	if (skip_string(walk) < 0)
		return -EBADMSG;
	key.bytes = (size_t)(walk->at - 1 - key.text);
	*ret = key;
	return pass(walk, ':') ? 0 : -EBADMSG;
}

int json_walk_next(struct json_walk *walk, struct json_piece *ret_key,
		   struct json_piece *ret_value)
{
	const char *begin;

	if (pass(walk, walk->close))
		return 0;
	if (!walk->first && !pass(walk, ','))
		return -EBADMSG;
	walk->first = false;
	if (walk->close == '}' && next_key(walk, ret_key) < 0)
		return -EBADMSG;
	json_walk_blank(walk);
	begin = walk->at;
	if (skip_value(walk) < 0)
		return -EBADMSG;
	*ret_value = (struct json_piece){ begin, (size_t)(walk->at - begin) };
	return 1;
}

bool json_piece_is(struct json_piece piece, const char *text)
{
	return piece.text && piece.bytes == strlen(text) &&
	       memcmp(piece.text, text, piece.bytes) == 0;
}
