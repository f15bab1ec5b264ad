/* SPDX-License-Identifier: MIT */
/*
 * stack_places.h - when the shim is to be told anew where stacks may lie.
 *
 * A stack whose end is not known is copied through the kernel and has no path: twenty times the
 * work, on both sides. So a thread that has just begun must not wait long for its place to be
 * told; but where stacks lie in other places for good (coroutines), to look again and again
 * would be for nothing. Moments are CLOCK_MONOTONIC, in nanoseconds.
 */
#ifndef MEMATTACH_STACK_PLACES_H
#define MEMATTACH_STACK_PLACES_H

#include <stdbool.h>
#include <stdint.h>

struct stack_places {
	uint64_t next_ns;	/* before this only what misses its end asks for it */
	uint64_t last_ns;	/* they were told then, */
	uint64_t last_ticks;	/* by the counter of events' times */
	uint64_t eager_ns;	/* from one time to the next that a missing end asks for */
	uint32_t booked;	/* events until then */
	bool missed;		/* an end was missing, since */
	bool by_kernel;		/* it can copy stacks: of a few events it may as well */
};

/* An event of that time (TSC) has come without its stack's end. */
void stack_places_missed(struct stack_places *p, uint64_t time);
/* Is it time? booked: events until now. */
bool stack_places_due(const struct stack_places *p, uint32_t booked, uint64_t now);
/* They could not be told now: as soon as possible. */
void stack_places_put_off(struct stack_places *p);
/* They were told, which took from begin to now; ticks: the counter before it. */
void stack_places_told(struct stack_places *p, uint32_t booked, uint64_t ticks, uint64_t begin,
		       uint64_t now);

#endif
