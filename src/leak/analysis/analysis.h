/* SPDX-License-Identifier: MIT */
/*
 * analysis.h - from a picture of the process to a leak report.
 *
 * heap walks -> blocks -> roots -> marking -> groups. Needs nothing of a session but
 * what it knows of single blocks, if it watched.
 */
#ifndef MEMATTACH_LEAK_ANALYSIS_H
#define MEMATTACH_LEAK_ANALYSIS_H

#include "src/leak/blocks/preattach_blocks.h"
#include "src/leak/findings/leak_report.h"
#include "src/memory/heap_figures.h"
#include "src/memory/picture.h"
#include "src/modules/modules.h"

/* What was seen of a block since the attach. */
struct analysis_known {
	uint64_t address, bytes;
	uint32_t site;
	uint64_t place;		/* equal for all sites with the same caller (report/caller.h) */
	double age;		/* seconds at the picture */
	double weight;		/* blocks that it stands for */
};
struct analysis_input {
	const struct picture *picture;
	const struct modules *modules;	/* of the picture */
	/*
	 * The block at address as the session knows it; false: not seen. Called by all workers at
	 * once. NULL: no session.
	 */
	bool (*known)(void *context, uint64_t address, struct analysis_known *ret);
	/* All of them, in any order. NULL: none. */
	void (*each_known)(void *context,
			   void (*each)(void *each_context, const struct analysis_known *block),
			   void *each_context);
	/* Told each of them that can still be reached. NULL: not asked for. */
	void (*reachable)(void *context, const struct analysis_known *block);
	void *context;
	uint64_t trace_to;		/* the chains that hold this block are wanted; 0: none */
	unsigned int roots;		/* enum root_class */
	unsigned int heuristics;	/* enum mark_heuristic */
	unsigned int workers;
	uint32_t show_bytes;		/* of each example; 0: contents are nobody's business */
	struct heap_figures *figures;	/* borrowed; filled by the walks; NULL: not wanted */
	const struct ranges *present;	/* memory that is resident; NULL: not known */
	bool salvage;			/* see struct heap */
	/* Set when analysis_begin fails with -EAGAIN: what does not add up. NULL: not wanted. */
	char *torn;
	size_t torn_bytes;
};

struct analysis;
/*
 * Walks the heaps of the picture; input is copied, what it points to is borrowed until
 * analysis_free. 0; -EAGAIN a thread was inside an allocator: take another picture; -ENOMEM;
 * -errno.
 */
int analysis_begin(const struct analysis_input *input, struct analysis **ret) _must_check_;
/* The rest, once: *ret is the caller's. What the session knows must be of the picture's moment. */
int analysis_search(struct analysis *analysis, struct leak_report **ret) _must_check_;
/*
 * Instead of a search: the blocks that the walks found, of the allocators that are covered. The
 * analysis is fit for analysis_free only afterwards. 0 or -ENOMEM.
 */
int analysis_take_older(struct analysis *analysis, struct older **ret) _must_check_;
/*
 * Instead of a search, or before one: adds the books to the figures (what the session knows of
 * single blocks, by each_known), and in ret (emptied before) what is the allocators' memory,
 * normalized. pre: figures are wanted. 0 or -ENOMEM.
 */
int analysis_add_books(struct analysis *analysis, struct ranges *ret) _must_check_;
/* The heaps that were found, covered or not: *ret_count of them, borrowed. */
const struct leak_heap *analysis_heaps(const struct analysis *analysis, uint32_t *ret_count);
/* NULL is ignored. */
void analysis_free(struct analysis *analysis);

#endif
