/* SPDX-License-Identifier: MIT */
/*
 * shim_threads.c - a slot of shared memory per thread, found by its thread pointer.
 *
 * Thread-local storage would need libc (and may allocate); this table needs
 * nothing, not even a notice of a thread's end: slots that nobody used for a
 * while are taken over where there is no free one, those first that came here longest ago.
 * Calls that the island lets pass (island_slots.S) don't come here: who is seldom sampled may lose
 * its slot, and the short path with it. Linear probing over eight slots; owners never move, so a
 * thread finds its slot as long as it has one.
 *
 * Two threads can meet on a slot that is being taken over. Nothing breaks: a
 * count-down is worth one sample, and the stack range is bound to its owner by
 * stack_check (stack_copy.c).
 */
#include "inject/shim/shim.h"

#define PROBES 8u
#define IDLE_CYCLES (1ull << 36)	/* 15 to 30 seconds: then a slot may be taken over */

static uint64_t mix(uint64_t v)
{
	v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
	return v ^ (v >> 31);
}

/* splitmix64: one addition of state, any state is a good one. */
uint64_t shim_random(uint64_t *state)
{
	*state += SHIM_GOLDEN;
	return mix(*state);
}

static struct ring_thread *slot_at(struct ring_control *control, uint64_t index)
{
	struct ring_thread *slots =
		(struct ring_thread *)((uint8_t *)control + control->threads_offset);

	return &slots[index & (control->thread_slots - 1)];
}

static bool is_idle(const struct ring_control *control, const struct ring_thread *slot)
{
	uint64_t used = shim_load(&slot->used), now = shim_load(&control->deadline);

	return now > used && now - used > IDLE_CYCLES && shim_load(&slot->busy) == 0;
}

/* Numbered by claims, not by place, so that a seeded run of one thread repeats itself. */
static void slot_reset(struct ring_control *control, struct ring_thread *slot)
{
	uint64_t number = shim_add(&control->threads_claimed, 1);
	uint64_t seed = control->seed;
	uint32_t cpu;

	slot->stack_check = 0;
	slot->busy = 0;
	slot->interval = 0;
	shim_add(&control->given_bytes, (uint64_t)-slot->countdown);
	slot->countdown = 0;
	slot->random = mix((seed ? seed : arch_clock(control, &cpu)) + number * SHIM_GOLDEN);
	slot->used = shim_load(&control->deadline);
}

/* The first that nobody has, else the one that was idle for longest; NULL: none is. */
static struct ring_thread *slot_to_claim(struct ring_control *control, uint64_t place)
{
	struct ring_thread *oldest = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct ring_thread *slot = slot_at(control, place + i);

		if (shim_load(&slot->owner) == 0)
			return slot;
		if (is_idle(control, slot) &&
		    (!oldest || shim_load(&slot->used) < shim_load(&oldest->used)))
			oldest = slot;
	}
	return oldest;
}

/* False: somebody else took it just now. */
static bool slot_claim(struct ring_control *control, struct ring_thread *slot, uint64_t thread)
{
	uint64_t owner = shim_load(&slot->owner);

	if (owner != 0 && !is_idle(control, slot))
		return false;
	if (!shim_exchange_if(&slot->owner, owner, thread))
		return false;
	slot_reset(control, slot);
	return true;
}

struct ring_thread *shim_thread_find(struct ring_control *control, uint64_t thread)
{
	uint64_t place = shim_hash(thread);

	if (thread == 0 || control->thread_slots == 0)
		return NULL;
	for (uint32_t i = 0; i < PROBES; i++)
		if (shim_load(&slot_at(control, place + i)->owner) == thread)
			return slot_at(control, place + i);
	for (uint32_t i = 0; i < PROBES; i++) {
		struct ring_thread *slot = slot_to_claim(control, place);

		if (!slot)
			break;
		if (slot_claim(control, slot, thread))
			return slot;
	}
	shim_add(&control->lost_threads, 1);
	return NULL;
}

/*
 * The stack grows down: a hook that this one interrupted lies above it. A busy
 * word below sp is of a hook that was left by longjmp. (A handler on an
 * alternate stack above is taken for such a case and shares the slot: the
 * count-down loses or gains one sample.)
 */
bool shim_thread_begin(struct ring_thread *slot, uint64_t sp)
{
	if (slot->busy > sp)
		return false;
	slot->busy = sp;
	return true;
}

void shim_thread_end(struct ring_thread *slot)
{
	slot->busy = 0;
}
