/* SPDX-License-Identifier: MIT */
/*
 * heap_jemalloc.h - what the parts of the jemalloc walker share.
 *
 * heap_jemalloc_find finds the page map (the emap's radix tree) and the table of small classes,
 * heap_jemalloc_map walks the map, heap_jemalloc_base finds where jemalloc keeps its own
 * structures, heap_jemalloc_tcache the blocks that are cached by threads, heap_jemalloc_threads
 * who is at work in it. heap_jemalloc.c is in charge.
 *
 * Their functions return 0; -ENOMEM; -EAGAIN where what was read does not agree with itself;
 * -ENOTSUP where it is beyond a limit (both: jemalloc->why says what).
 */
#ifndef MEMATTACH_LEAK_HEAP_JEMALLOC_H
#define MEMATTACH_LEAK_HEAP_JEMALLOC_H

#include "src/heap/heap.h"
#include "src/heap/heap_window.h"

#define JEMALLOC_PAGE		4096u
#define JEMALLOC_HUGE		(2u << 20)	/* base blocks are multiples of it */
#define JEMALLOC_BINS		36u		/* small classes */
#define JEMALLOC_CLASSES	232u
#define JEMALLOC_REGIONS	512u		/* in a slab, at the most */
#define JEMALLOC_GROUPS		(JEMALLOC_REGIONS / 64)
#define JEMALLOC_TOP		(1ull << 47)
#define JEMALLOC_MAX_LEAVES	32768u
#define JEMALLOC_WORDS		(32u << 10)	/* that are read at a time */
#define JEMALLOC_MAX_EXTENTS	(1u << 28)
#define JEMALLOC_MAX_CACHED	(32u << 20)
#define JEMALLOC_MAX_STACKS	65536u
#define JEMALLOC_MAX_BASES	4096u

/*
 * The page map is a radix tree (rtree.h of jemalloc): an array of pointers in the library's data.
 * They lead to leaves, or to nodes with pointers to leaves. Its form follows from the bits of an
 * address that jemalloc was built for, those of the processor of the machine that built it: 48 or
 * 57.
 */
struct jemalloc_form {
	uint32_t root_entries, node_entries;	/* node_entries 1: there are no nodes */
	uint32_t leaf_pages;
	uint32_t element_words;		/* of a leaf */
};

struct jemalloc_leaf {
	uint64_t low;			/* first address that it is for */
	uint64_t address;
};
struct jemalloc_bin {
	uint64_t slab_bytes;
	uint32_t regions;
};
/* Where a thread's cache, or one made by hand, keeps its pointers: a large block. */
struct jemalloc_stack {
	uint64_t address;
	bool orphan;			/* of no thread: who knows which of its pointers count */
};
struct jemalloc_sums {
	uint64_t live_count, live_bytes, free_count, free_bytes;
};

struct jemalloc {
	const struct picture *picture;
	const struct modules *modules;
	const struct module *module;
	char version[32];
	const struct jemalloc_form *form;
	uint64_t root;			/* address of the map */
	struct jemalloc_bin bin[JEMALLOC_BINS];
	size_t leaf_count, stack_count, cached_count;
	size_t stack_room, cached_room;
	size_t stack_sorted;		/* the first so many of stack */
	struct jemalloc_leaf *leaf;	/* owned; ascending */
	struct jemalloc_stack *stack;	/* owned; ascending after jemalloc_caches_sort */
	uint64_t stack_bytes;		/* what the caches' pointers take in each; 0: not known */
	uint64_t *cached;		/* owned; jemalloc_cached(), ascending after ..._sort */
	uint64_t *words;		/* owned; JEMALLOC_WORDS, a stretch of a leaf */
	struct ranges base;		/* normalized; jemalloc's own blocks */
	uint32_t headers;		/* of base blocks that were read */
	struct ranges free;		/* extents that are not in use */
	struct ranges slabs_of_8;	/* extents in use, with blocks of 8 bytes */
	struct ranges used;		/* the others */
	uint64_t arenas[4096 / 64];	/* a bit for each that has extents */
	uint64_t cache_below;		/* of a thread's cache below its thread pointer; 0: none */
	bool entered;			/* a thread is at work in jemalloc, be it harmless */
	struct heap_pages pages;
	char why[128];
};

/*
 * Finds the library: module and version are set then. 1; 0 none; -ENOTSUP one whose
 * structures are not known (version says which).
 */
int jemalloc_find_module(struct jemalloc *jemalloc) _must_check_;
/* After it: sets form, root, leaf and bin. */
int jemalloc_find_map(struct jemalloc *jemalloc) _must_check_;

/* Bytes of memory that a leaf is for. */
static inline uint64_t jemalloc_leaf_span(const struct jemalloc *jemalloc)
{
	return (uint64_t)jemalloc->form->leaf_pages * JEMALLOC_PAGE;
}

static inline uint64_t jemalloc_leaf_bytes(const struct jemalloc *jemalloc)
{
	return (uint64_t)jemalloc->form->leaf_pages * jemalloc->form->element_words * 8;
}

/*
 * count elements of the leaf at address, from the first-th on, into words, each as one word: as it
 * is with 48 bits. pre: count <= JEMALLOC_WORDS / element_words. False where they can't be read.
 */
bool jemalloc_read_elements(struct jemalloc *jemalloc, uint64_t address, uint64_t first,
			    size_t count);

/* Bytes of a class. pre: class < JEMALLOC_CLASSES */
uint64_t jemalloc_class_bytes(uint32_t class);

/* An extent: pages in a row, of one arena, in one state. */
struct jemalloc_extent {
	uint64_t record;		/* address of its edata_t */
	uint64_t low, high;
	bool used, slab;
	uint32_t arena, class;
	/* Large and used: the one block. */
	uint64_t address, bytes;
	/* Slab: which regions are free, and how many. */
	uint64_t group[JEMALLOC_GROUPS];
	uint32_t free_regions;
};
typedef int jemalloc_visit(void *context, const struct jemalloc_extent *extent);
/* Visits all extents in ascending order, until visit returns not 0, which is the result. */
int jemalloc_each_extent(struct jemalloc *jemalloc, jemalloc_visit *visit,
			 void *context) _must_check_;

/* Takes the base block that holds record, and all others of its arena. */
int jemalloc_take_base(struct jemalloc *jemalloc, uint64_t record, uint32_t arena) _must_check_;
/* Is there a base_t at address, with a sound list of blocks? */
bool jemalloc_is_base(struct jemalloc *jemalloc, uint64_t address);

static inline uint64_t jemalloc_cached(uint64_t address, uint32_t class)
{
	return address << 8 | class;
}

/* Collects the caches of the picture's threads: stack and cached. */
int jemalloc_read_caches(struct jemalloc *jemalloc) _must_check_;
/* A large block in use: is it a cache that no thread has? 1: it was taken as a stack. */
int jemalloc_try_cache(struct jemalloc *jemalloc, const struct jemalloc_extent *extent)
	_must_check_;
/* -EAGAIN when a block is twice in the caches. */
int jemalloc_caches_sort(struct jemalloc *jemalloc) _must_check_;
/* NULL: there was none at address when they were last sorted. */
const struct jemalloc_stack *jemalloc_stack_at(const struct jemalloc *jemalloc,
					       uint64_t address);

/*
 * After jemalloc_read_caches. Sets entered; -EAGAIN when a thread may be in the midst of a
 * change.
 */
int jemalloc_look_at_threads(struct jemalloc *jemalloc) _must_check_;
/* Has that thread a cache? After jemalloc_read_caches. */
bool jemalloc_has_cache(struct jemalloc *jemalloc, uint64_t thread_pointer);

/*
 * Adds to own what jemalloc keeps in the thread-local storage of each thread: there are
 * addresses in it that are multiples of a gigabyte, and lie in the midst of blocks. 0, -ENOMEM.
 */
int jemalloc_own_storage(struct jemalloc *jemalloc, struct ranges *own) _must_check_;

/* Words here and there, through a small cache: false where there are none. */
bool jemalloc_read(struct jemalloc *jemalloc, uint64_t address, void *buffer, size_t bytes);
/* 0 where there is none. */
uint64_t jemalloc_word(struct jemalloc *jemalloc, uint64_t address);
/* Appends to ranges; joins it with the last one where they touch. 0 or -ENOMEM. */
int jemalloc_extend(struct ranges *ranges, uint64_t low, uint64_t high) _must_check_;
/* Sets why and returns error. */
int jemalloc_fail(struct jemalloc *jemalloc, int error, const char *format, ...)
	_printf_(3, 4);

#endif
