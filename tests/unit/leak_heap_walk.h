/* SPDX-License-Identifier: MIT */
/*
 * leak_heap_walk.h - what a test of a heap walker does with the walker: one walk, and what
 * holds of it whatever the allocator is. Failures are cmocka's.
 */
#ifndef MEMATTACH_TESTS_LEAK_HEAP_WALK_H
#define MEMATTACH_TESTS_LEAK_HEAP_WALK_H

#include "tests/unit/leak_heap_lab.h"

struct walk {
	struct heap heap;		/* with figures */
	struct heap_result result;
};

/* Fixtures: a model of so many bytes in *state, zeroed, that begins with a struct lab. */
int walk_setup(void **state, size_t model_bytes);
int walk_teardown(void **state);

/*
 * One walk, to be ended by walk_done: of any picture, or of the lab as its areas are now.
 * walker: heap_walk_glibc, or one of its like (src/heap/heap.h).
 */
void walk_picture(struct walk *w, __typeof__(heap_walk_glibc) *walker,
		  const struct picture *picture, const struct modules *modules);
void walk_lab(struct walk *w, __typeof__(heap_walk_glibc) *walker, struct lab *lab);
/* The same, and of its memory this is resident. */
void walk_lab_with(struct walk *w, __typeof__(heap_walk_glibc) *walker, struct lab *lab,
		   const struct ranges *present);
void walk_done(struct walk *w);

/* It is covered, and what was found is the truth: each block once, and the sums. */
void walk_check_truth(const struct walk *w, const struct lab *lab);
/* The cover is this, and nothing was added. what: of the case, for people. */
void walk_check_nothing(const struct walk *w, const char *what, enum heap_cover cover);
/* Whatever the cover is: the sum agrees, or nothing was added. */
void walk_check_sound(const struct walk *w);

#endif
