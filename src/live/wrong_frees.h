/* SPDX-License-Identifier: MIT */
/*
 * wrong_frees.h - frees and reallocs of what was freed already, or is no block: found by
 * live.c, kept here by what they have in common.
 */
#ifndef MEMATTACH_WRONG_FREES_H
#define MEMATTACH_WRONG_FREES_H

#include <stddef.h>

#include "src/live/freed.h"

enum wrong_free_kind { WRONG_FREE_DOUBLE = 0, WRONG_FREE_ILLEGAL };
/* How it is known. */
enum wrong_free_reason {
	WRONG_FREE_NOT = 0,	/* it is not wrong, as far as anyone can tell */
	WRONG_FREE_AGAIN,	/* freed before, and nothing was allocated there since */
	WRONG_FREE_INSIDE,	/* inside a block that lives */
	WRONG_FREE_MISALIGNED,	/* where the allocator lets no block begin */
	WRONG_FREE_STACK,	/* in a thread's stack */
	WRONG_FREE_STATIC,	/* in the code or data of a module */
	WRONG_FREE_UNMAPPED,	/* where no memory is, nor was at the attach */
	WRONG_FREE_MAPPED,	/* memory newer than the attach that no allocator gave out */
	WRONG_FREE_FREE,	/* in a heap that was walked, and in no block */
};

struct wrong_free {
	enum wrong_free_reason reason;
	bool realloc;			/* part of a realloc, not a free */
	uint16_t entry;			/* the entry point: index in the hook plan */
	uint64_t address;		/* that was handed in */
	/*
	 * Freed before: that block, with its first free. Inside: the block that lives, freed
	 * all 0. Mapped: the mapping, if the program made it, likewise. Else all 0. Its site
	 * is 0 if its allocation was not seen; its size is what is usable then, or 0.
	 */
	struct freed_block block;
	struct freed_event by;		/* this free */
	uint64_t count;			/* wrong frees alike: same stacks, same reason */
};

#define WRONG_FREES_MAX 256u

struct wrong_frees;
int wrong_frees_new(struct wrong_frees **ret) _must_check_;
void wrong_frees_free(struct wrong_frees *wrong);
/*
 * Books one (its count is ignored): with an earlier one alike, or as a new one while
 * there are fewer than WRONG_FREES_MAX; else it is only counted as left out.
 */
void wrong_frees_add(struct wrong_frees *wrong, const struct wrong_free *found);
/* In the order in which they were first seen. Borrowed until the next wrong_frees_add. */
const struct wrong_free *wrong_frees_all(const struct wrong_frees *wrong, size_t *ret_count);
/* How many were left out. */
uint64_t wrong_frees_left_out(const struct wrong_frees *wrong);

static inline enum wrong_free_kind wrong_free_kind(enum wrong_free_reason reason)
{
	return reason == WRONG_FREE_AGAIN ? WRONG_FREE_DOUBLE : WRONG_FREE_ILLEGAL;
}
/* As in the JSON document: "freed-before", "inside-block", ... */
const char *wrong_free_reason_name(enum wrong_free_reason reason);

#endif
