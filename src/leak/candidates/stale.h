/* SPDX-License-Identifier: MIT */
/*
 * stale.h - what memory that is not live still says of lost blocks.
 *
 * Nothing live points to a definitely lost block, but a freed block, or the part of a stack that
 * was left, often still does: a hint at who held it last, and no more than that.
 */
#ifndef MEMATTACH_LEAK_STALE_H
#define MEMATTACH_LEAK_STALE_H

#include "src/base/ranges.h"
#include "src/leak/blocks/blocks.h"
#include "src/leak/roots/roots.h"
#include "src/memory/picture.h"
#include "src/modules/modules.h"

/* Where a stale word stands; what says more comes first. */
enum stale_kind {
	STALE_FREED,		/* in a freed block whose size is known (glibc's heaps) */
	STALE_STACK,		/* below the stack pointer of a live thread */
	STALE_ENDED,		/* in no live thread's memory: a stack that libc keeps */
	STALE_HEAP,		/* in free memory of a heap */
};
struct stale_place {
	uint64_t place;		/* the address of the word */
	uint64_t block, bytes;	/* FREED: the block that it stands in, as it is cut today */
	enum stale_kind kind;
	int32_t tid;		/* STACK */
	uint64_t code;		/* STACK, ENDED: the return address next above it; 0: none */
};
struct stale_input {
	const struct picture *picture;
	const struct blocks *blocks;	/* marked */
	const struct roots *roots;	/* of all classes; else NULL: stacks are not looked at */
	const struct ranges *excluded;	/* normalized: allocators' own data */
	const struct modules *modules;
	uint64_t budget;		/* bytes to read at the most */
};
struct stale;
/*
 * Looks for words that equal the address of a definitely lost block: in what of the heaps is
 * free (MAX_GAP bytes of each piece), and in the upper 256 KiB of each piece of a stack that is
 * not in use. One place a block is kept, of 262,144 blocks at most. modules: for calls in
 * stacks. 0 or -ENOMEM.
 */
int stale_find(const struct stale_input *input, struct stale **ret) _must_check_;
void stale_free(struct stale *stale);
/* The place kept for the block at address; false: none was found. NULL has none. */
bool stale_of(const struct stale *stale, uint64_t address, struct stale_place *ret);
#define STALE_TEXT_BYTES 96u
/* "a freed block of 24 bytes, at +16": the same for all places of the same shape. */
const char *stale_text(const struct stale_place *place, char text[STALE_TEXT_BYTES]);

#endif
