/* SPDX-License-Identifier: MIT */
/*
 * chain_text.h - a chain of references as a person would write it.
 *
 * "g_cache->buckets[17]->next": grows from the root on, pointer by pointer.
 */
#ifndef MEMATTACH_LEAK_CHAIN_TEXT_H
#define MEMATTACH_LEAK_CHAIN_TEXT_H

#include "src/debuginfo/fields.h"

#define CHAIN_PIECE_BYTES 256u
#define CHAIN_TEXT_BYTES 1024u

struct chain_text {
	char text[CHAIN_TEXT_BYTES];
	size_t length;
	bool full;		/* the rest did not fit */
	/* Between two names: how the next one is joined. */
	enum { CHAIN_START = 0, CHAIN_DOT, CHAIN_ARROW } join;
	/*
	 * Inside a C++ container "[...]" has been written, and indexes are not: among nodes that
	 * point to each other, in the two levels of a deque's table, at the values.
	 */
	enum { CHAIN_NO_ELEMENT = 0, CHAIN_NODES, CHAIN_TABLE, CHAIN_BUFFER, CHAIN_VALUES } element;
	char last[CHAIN_PIECE_BYTES];	/* the last pointer's, not written yet */
	uint64_t run;		/* how often it came */
};

/* pre: zeroed. A variable, or something in words, to begin with. */
void chain_text_begin(struct chain_text *chain, const char *root);
/*
 * The pointer at path in what the text leads to so far. *ret_piece, if not NULL, gets what was
 * added, for the life of the next call.
 */
void chain_text_path(struct chain_text *chain, const struct field_path *path,
		     const char **ret_piece);
/* The pointer at an offset of which no more is known; class: of the block, or NULL. */
void chain_text_offset(struct chain_text *chain, const char *class, int64_t offset,
		       const char **ret_piece);
/* Pointers that are left out. */
void chain_text_skip(struct chain_text *chain, uint64_t count);
/* The last call: where this is, in brackets, as "main, thread 12"; NULL: nothing. */
void chain_text_end(struct chain_text *chain, const char *where);

#endif
