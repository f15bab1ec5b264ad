/* SPDX-License-Identifier: MIT */
/*
 * mark.h - which blocks can still be reached, and by what kind of pointer.
 *
 * The kinds and their meaning are memcheck's (its manual, 4.2.8): start pointers and those that
 * an idiom explains make a block reachable; mere interior pointers, possibly lost; what no
 * root leads to is lost, one leader for each cycle, the rest indirectly.
 */
#ifndef MEMATTACH_LEAK_MARK_H
#define MEMATTACH_LEAK_MARK_H

#include "src/leak/blocks/blocks.h"
#include "src/leak/blocks/mark_cliques.h"
#include "src/leak/roots/roots.h"
#include "src/memory/picture.h"

/*
 * Interior pointers that count as start pointers; memcheck's heuristics of the same names. Where
 * it is not known how many bytes the program asked for, these may be some less than are usable:
 * what fits any size it can have asked for counts.
 */
enum mark_heuristic {
	MARK_STDSTRING = 1,	/* length, capacity and reference count stand before the text */
	MARK_LENGTH64 = 2,	/* the block begins with its length minus 8 (sqlite3's) */
	MARK_NEWARRAY = 4,	/* new T[n]: the number of elements stands first; n may be 0 */
	MARK_MULTIPLE_INHERITANCE = 8,	/* points to another vtable pointer of the same object */
	MARK_SDS = 16,		/* a header of 1, 3 or 5 bytes stands before the text (redis's) */
	MARK_ALL_HEURISTICS = 31,
};
struct mark_input {
	const struct picture *picture;
	struct blocks *blocks;		/* its marks are changed */
	const struct roots *roots;
	unsigned int heuristics;	/* enum mark_heuristic */
	unsigned int workers;		/* threads, at least 1; the result is always the same */
	size_t memory;			/* bytes for buffers and work lists; 0: 1/20 of the heap */
	/*
	 * Bytes that the program asked for with the block at address; 0: not known. Called by all
	 * workers at once. NULL: of no block.
	 */
	uint64_t (*asked)(void *context, uint64_t address);
	void *context;
};
struct mark_sums {
	uint64_t count[BLOCK_KINDS], bytes[BLOCK_KINDS];
	uint64_t scanned_bytes;		/* looked through: roots and blocks, but no holes */
	size_t memory;			/* taken at most, beside the map */
	double seconds;
};
/*
 * Marks everything, again if it was done before. What can't be read counts as zeros; with less
 * memory than it wants it takes longer, by 2 us a block at worst. The map must not be changed
 * from here on. 0, -EINVAL (no worker), -ENOMEM.
 */
int mark_run(const struct mark_input *input, struct mark_sums *ret) _must_check_;
/* After mark_run. pre: address is a block's start. */
enum block_kind mark_kind(const struct blocks *blocks, uint64_t address);
/* After mark_run: as blocks_each, for all that are not BLOCK_REACHABLE: mostly few. */
int mark_each_unreached(const struct blocks *blocks,
			int (*each)(void *context, const struct block *block), void *context);
/*
 * After mark_run: how many blocks and bytes are lost because the definitely lost block at leader
 * is, itself not counted: the I of memcheck's "N (D direct, I indirect)". A block that several
 * leaders lead to is counted for one of them only. All zeros for anything else.
 */
struct clique mark_of_leader(const struct blocks *blocks, uint64_t leader);

#endif
