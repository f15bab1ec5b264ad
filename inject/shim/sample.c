/* SPDX-License-Identifier: MIT */
/*
 * sample.c - Poisson sampling by bytes.
 *
 * Sample points lie on the stream of a thread's allocated bytes at exponential
 * distances with mean I; an allocation is sampled if a point lies in it, which
 * happens with probability 1 - exp(-size / I). Distances are rounded up to whole
 * bytes: P(ceil(X) <= size) is exactly P(X <= size), and what is left of a
 * count-down after an allocation is distributed like a fresh one.
 *
 * That lack of memory is why a count-down may be thrown away whenever the reason
 * has nothing to do with its value: when the interval changes (redrawn at once),
 * when a nested call used it up, when a slot is taken over. A thread without a
 * slot compares each allocation with a draw of its own: the same probability.
 *
 * Rejected: every n-th call (periodic programs), and floating point (the shim
 * may not touch a register that the interrupted code could be using).
 */
#include "inject/shim/exponential.h"
#include "inject/shim/shim.h"

#define MAX_SIZE	(1ull << 62)
#define MAX_INTERVAL	((1ull << 48) - 1)	/* what a record can carry */

/* Bytes to the next sample: 1 or more, up to 2^54. */
static int64_t draw(uint64_t *random, uint64_t interval)
{
	unsigned __int128 product =
		(unsigned __int128)shim_exponential(shim_random(random)) * interval;

	return (int64_t)(uint64_t)(product >> 58) + 1;
}

/* What is left of the old count-down counts as not given. */
static void give(struct ring_control *control, struct ring_thread *slot, uint64_t interval)
{
	int64_t countdown = draw(&slot->random, interval);

	shim_add(&control->given_bytes, (uint64_t)(countdown - slot->countdown));
	slot->countdown = countdown;
	slot->interval = interval;
}

static bool count_down(struct ring_control *control, struct ring_thread *slot, uint64_t size,
		       uint64_t interval)
{
	if (slot->interval != interval)
		give(control, slot, interval);
	slot->countdown -= (int64_t)size;
	if (slot->countdown > 0)
		return false;
	give(control, slot, interval);
	return true;
}

/* Without a slot: nothing to count down, one draw for this allocation. */
static bool draw_once(struct ring_control *control, const struct shim_call *call, uint64_t size,
		      uint64_t interval)
{
	uint32_t cpu;
	uint64_t state = arch_clock(control, &cpu) ^ (uint64_t)call ^ (call->thread << 20);

	shim_add(&control->given_bytes, size);
	return draw(&state, interval) <= (int64_t)size;
}

/* From here on call costs what it would not without us (shim_heap.c: cost_pause()). */
static bool is_sampled(const struct ring_control *control, struct shim_call *call)
{
	uint32_t cpu;

	call->begin = arch_clock(control, &cpu);
	return true;
}

bool shim_sample(struct ring_control *control, struct shim_call *call, uint64_t size,
		 uint64_t *ret_interval)
{
	uint64_t interval = shim_load(&control->interval);
	struct ring_thread *slot;
	bool sampled;

	*ret_interval = 0;
	if (interval <= 1)
		return is_sampled(control, call);
	if (interval > MAX_INTERVAL)
		interval = MAX_INTERVAL;
	if (size > MAX_SIZE)
		size = MAX_SIZE;
	if (size == 0)
		size = 1;
	*ret_interval = interval;
	slot = shim_thread_find(control, call->thread);
	if (!slot || !shim_thread_begin(slot, (uint64_t)&call->caller))
		return draw_once(control, call, size, interval) && is_sampled(control, call);
	slot->used = shim_load(&control->deadline);
	sampled = count_down(control, slot, size, interval);
	shim_thread_end(slot);
	return sampled && is_sampled(control, call);
}
