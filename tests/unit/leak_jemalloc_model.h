/* SPDX-License-Identifier: MIT */
/*
 * leak_jemalloc_model.h - a small heap as jemalloc 5.3.0 would leave it, in a picture, with either
 * form of its page map.
 *
 * Slabs of three classes, large blocks, free extents, the cache of the one thread and one that
 * was made by hand. For what can't be had from a real one at will, and for the fuzzer.
 */
#ifndef MEMATTACH_TESTS_LEAK_JEMALLOC_MODEL_H
#define MEMATTACH_TESTS_LEAK_JEMALLOC_MODEL_H

#include "tests/unit/leak_heap_lab.h"

#define JEMODEL_LIB	0x7f0000000000ull
#define JEMODEL_EXPORTED (JEMODEL_LIB + 0x400)	/* a function with a symbol, of 64 bytes */
#define JEMODEL_HIDDEN	(JEMODEL_LIB + 0x500)
#define JEMODEL_DATA	(JEMODEL_LIB + 0x2000)
#define JEMODEL_BINS	(JEMODEL_DATA + 0x100)	/* the table of classes */
#define JEMODEL_ROOT	(JEMODEL_DATA + 0x878)	/* the page map; a page or two of it are modelled */
#define JEMODEL_MAP	(JEMODEL_LIB + 0x100000)
#define JEMODEL_BASE	0x7f0080000000ull	/* jemalloc's own block */
#define JEMODEL_RECORD	(JEMODEL_BASE + 0x1000)	/* of the first extent; 128 bytes each */
#define JEMODEL_LEAF	(JEMODEL_BASE + 0x100000)
#define JEMODEL_NODE	(JEMODEL_BASE + 0x80000)	/* of the map for 57 bits */
#define JEMODEL_HEAP	0x7f0100000000ull
#define JEMODEL_HEAP_PAGES 512u
#define JEMODEL_STACK	JEMODEL_HEAP		/* the stacks of the two caches */
#define JEMODEL_MADE	(JEMODEL_HEAP + 0x5000)
#define JEMODEL_TLS	0x7f0200000000ull
#define JEMODEL_CACHE	(JEMODEL_TLS + 0x400)	/* tcache_t, and tcache_slow_t before it */
#define JEMODEL_SLOW	(JEMODEL_TLS + 0x200)
#define JEMODEL_FS	(JEMODEL_TLS + 0x1c00)
#define JEMODEL_PAGE	0x1000u

struct jemodel {
	struct lab lab;
	uint8_t lib[2 * JEMODEL_PAGE], data[JEMODEL_PAGE], map[JEMODEL_PAGE],
		base[3 * JEMODEL_PAGE], leaf[2 * JEMODEL_PAGE], node[JEMODEL_PAGE],
		tls[2 * JEMODEL_PAGE],
		stack[2 * JEMODEL_PAGE], made[2 * JEMODEL_PAGE];
	uint64_t page;			/* the next extent's first, from JEMODEL_HEAP on */
	unsigned int extents;
	bool wide;			/* built for addresses of 57 bits, not 48 */
};

/* Fills the areas, and the lab with the truth. pre: zeroed but for wide, or built before. */
void jemodel_build(struct jemodel *m);
/* Address of the map's element of a page of the heap: a word; two if wide. */
uint64_t jemodel_element(const struct jemodel *m, uint64_t page);
/* Address of the map's pointer to the leaf. */
uint64_t jemodel_leaf_pointer(const struct jemodel *m);

#endif
