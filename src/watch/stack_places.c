/* SPDX-License-Identifier: MIT */
/* stack_places.c - see stack_places.h. */
#include "src/watch/stack_places.h"

#define LEAST_NS 200000000ull
#define MOST_NS 5000000000ull
#define SHARE 1000u		/* of our time it may take: reading the maps of thousands is work */
#define FEW_EVENTS 64		/* a second: they may as well be copied through the kernel */
#define EAGER_NS 1000000ull	/* at first; twice as long each time that it was for nothing */
#define EAGER_SHARE 20u

static uint64_t at_least(uint64_t value, uint64_t least)
{
	return value < least ? least : value;
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

void stack_places_missed(struct stack_places *p, uint64_t time)
{
	if (time > p->last_ticks)	/* what is older waited in the ring */
		p->missed = true;
}

static bool are_few(uint32_t events, uint64_t ns)
{
	return events <= (double)ns * 1e-9 * FEW_EVENTS;
}

bool stack_places_due(const struct stack_places *p, uint32_t booked, uint64_t now)
{
	if (p->missed && now >= p->last_ns + p->eager_ns)
		return true;
	/* Of nothing that was recorded since can the stack have been in a new place. */
	if (p->by_kernel && are_few(booked - p->booked, now - p->last_ns))
		return booked != p->booked && now >= p->last_ns + MOST_NS;
	return now >= p->next_ns && (booked != p->booked || now >= p->last_ns + MOST_NS);
}

void stack_places_put_off(struct stack_places *p)
{
	p->next_ns = 0;
}

void stack_places_told(struct stack_places *p, uint32_t booked, uint64_t ticks, uint64_t begin,
		       uint64_t now)
{
	uint64_t cost = now - begin, pause = at_most(at_least(cost * SHARE, LEAST_NS), MOST_NS);
	uint64_t eager = p->missed ? at_least(2 * p->eager_ns, EAGER_NS) : EAGER_NS;

	p->eager_ns = at_most(at_least(eager, cost * EAGER_SHARE), pause);
	p->next_ns = now + pause;
	p->last_ns = now;
	p->last_ticks = ticks;
	p->booked = booked;
	p->missed = false;
}
