/* SPDX-License-Identifier: MIT */
/*
 * truth.h - a victim's own book of what it allocates, by call stack.
 *
 * A victim keeps a shadow of its call stack (TRUTH_FUNCTION, TRUTH_CALL) and
 * books each allocator call that took effect under it. What it prints is then
 * what memattach must find: the same sites, stacks, lines, counts and bytes.
 * Nothing here allocates. Counts may be booked by several threads at once; peaks
 * mean something only where one thread does everything.
 *
 * The line of every frame is that of the macro, so a call must stand on one line.
 */
#ifndef MEMATTACH_TESTS_TRUTH_H
#define MEMATTACH_TESTS_TRUTH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct truth_site;

/* One live block, or an empty one (p is NULL). Zero-initialise. */
struct truth_block {
	void *p;
	size_t size;
	struct truth_site *site;
	unsigned long serial;	/* of its allocation among those of its thread */
	unsigned long thread;
};

/* Starts a frame of the shadow stack: first statement of every function of a victim. */
#define TRUTH_FUNCTION() \
	int truth_scope __attribute__((cleanup(truth_leave), unused)) = truth_enter(__func__)

/* Calls another function of the victim. */
#define TRUTH_CALL(call) (truth_at(__LINE__), (call))

/* Books what call, an allocator function, returned for size bytes. */
#define TRUTH_ALLOC(block, size, call) \
	(truth_at(__LINE__), truth_allocated((block), (call), (size)))

/* Books a realloc of block to size bytes. */
#define TRUTH_REALLOC(block, size, call) \
	(truth_at(__LINE__), truth_reallocated((block), (call), (size)))

/* Gives block back by release(pointer), and books it. */
#define TRUTH_FREE(block, release) \
	do { \
		void *truth_pointer = (block)->p; \
		truth_freed(block); \
		release(truth_pointer); \
	} while (0)

/* Books that block was given back, then empties it. The caller frees the pointer. */
void truth_freed(struct truth_block *block);

/* Books that a block from before the window (or nobody's) was freed. */
void truth_freed_unknown(void);

/* Books p (NULL: the call failed and had no effect) under the shadow stack. Returns p. */
void *truth_allocated(struct truth_block *block, void *p, size_t size);

/*
 * Books a realloc: free of the old block and allocation of the new one. NULL for
 * a size other than 0 is a failure: the old block lives on. Returns p.
 */
void *truth_reallocated(struct truth_block *block, void *p, size_t size);

/*
 * Books an allocation that the language made for us at line (the object of a
 * throw): library frames are no part of the truth.
 */
void truth_implied(struct truth_block *block, int line, size_t size);

/* The shadow stack; used by the macros. */
int truth_enter(const char *function);
void truth_leave(const int *scope);
void truth_at(int line);

/* What truth_print() says about how much the figures can be relied upon. */
struct truth_claims {
	int totals;	/* 1: nothing else allocated in the window */
	int peaks;	/* 1: single-threaded, so peaks are exact */
};

/* Writes the line "truth {JSON}". */
void truth_print(struct truth_claims claims);

#ifdef __cplusplus
}
#endif
#endif
