/* SPDX-License-Identifier: MIT */
/*
 * leak_jemalloc_model.h - a small heap as jemalloc 5.3.0 would leave it, in a picture.
 *
 * Slabs of three classes, large blocks, free extents, the cache of the one thread and one that
 * was made by hand. For what can't be had from a real one at will, and for the fuzzer.
 */
#ifndef MEMATTACH_TESTS_LEAK_JEMALLOC_MODEL_H
#define MEMATTACH_TESTS_LEAK_JEMALLOC_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "src/leak/heap.h"

#define JEMODEL_LIB	0x7f0000000000ull
#define JEMODEL_EXPORTED (JEMODEL_LIB + 0x400)	/* a function with a symbol, of 64 bytes */
#define JEMODEL_HIDDEN	(JEMODEL_LIB + 0x500)
#define JEMODEL_DATA	(JEMODEL_LIB + 0x2000)
#define JEMODEL_BINS	(JEMODEL_DATA + 0x100)	/* the table of classes */
#define JEMODEL_ROOT	(JEMODEL_DATA + 0x878)	/* the page map; a page of it is modelled */
#define JEMODEL_MAP	(JEMODEL_LIB + 0x100000)
#define JEMODEL_BASE	0x7f0080000000ull	/* jemalloc's own block */
#define JEMODEL_RECORD	(JEMODEL_BASE + 0x1000)	/* of the first extent; 128 bytes each */
#define JEMODEL_LEAF	(JEMODEL_BASE + 0x100000)
#define JEMODEL_HEAP	0x7f0100000000ull
#define JEMODEL_HEAP_PAGES 512u
#define JEMODEL_TLS	0x7f0200000000ull
#define JEMODEL_CACHE	(JEMODEL_TLS + 0x400)	/* tcache_t, and tcache_slow_t before it */
#define JEMODEL_SLOW	(JEMODEL_TLS + 0x200)
#define JEMODEL_FS	(JEMODEL_TLS + 0x1c00)
#define JEMODEL_PAGE	0x1000u
#define JEMODEL_LIVE	1024

struct jemodel {
	int memory;
	uint8_t lib[2 * JEMODEL_PAGE], data[JEMODEL_PAGE], map[JEMODEL_PAGE],
		base[3 * JEMODEL_PAGE], leaf[JEMODEL_PAGE], tls[2 * JEMODEL_PAGE],
		stack[2 * JEMODEL_PAGE], made[2 * JEMODEL_PAGE];
	uint64_t rip;			/* where the thread stands */
	const char *maps;		/* of another process; NULL: its own */
	uint64_t page;			/* the next extent's first, from JEMODEL_HEAP on */
	uint64_t stack_at, made_at;	/* where the stacks of the two caches are */
	unsigned int extents;
	size_t live_count, free_count;
	struct block live[JEMODEL_LIVE];
	struct picture picture;
	struct modules *modules;
};

/* The arrays of a struct jemodel, and where they lie in the modelled process. */
struct jemodel_area {
	uint64_t address;
	size_t bytes;
	uint8_t *byte;
};
#define JEMODEL_AREAS 8u
void jemodel_areas(struct jemodel *m, struct jemodel_area ret[JEMODEL_AREAS]);

/* pre: address lies in an area. */
void jemodel_put(struct jemodel *m, uint64_t address, uint64_t word);
uint64_t jemodel_get(struct jemodel *m, uint64_t address);
/* Fills the areas, and live and free_count with the truth. pre: zeroed, or built before. */
void jemodel_build(struct jemodel *m);
/* Makes picture and modules of the areas as they are now. 0 or -errno. */
int jemodel_open(struct jemodel *m) _must_check_;
/* Their end; the model may be changed, built and opened again. */
void jemodel_close(struct jemodel *m);

#endif
