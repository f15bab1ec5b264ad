/* SPDX-License-Identifier: MIT */
/*
 * outer.c - which call of a thread is the outermost one, where allocators hand calls on.
 *
 * A preloaded wrapper hands each call on to the next allocator: by a jump through a pointer, from
 * a helper, by way of another library, several wrappers deep, with a header in front of the block.
 * The program asked once. A return address does not tell that (nested.c): it may lie anywhere, or
 * be the program's own. So the entries of allocators that are none of the known ones keep their
 * frame around the original (RING_ISLAND_OUTER), and the thread's outermost call is remembered
 * until it has returned. What the thread calls meanwhile, on the same stack and deeper, is nested.
 *
 * An entry of the table is owned only while its call is under way, so it needs as many as there
 * are threads in allocators at the same time. A call that was left by longjmp or an exception
 * never takes itself out: its frame must lie above the stack pointer and still hold what it held,
 * else the next call takes its place. Its memory is looked at only where the stack is proven.
 *
 * Rejected: a depth counter per thread, which is wrong for ever after one longjmp; matching
 * addresses of blocks, which wrappers that put a header in front change.
 */
#include "inject/shim/nested.h"

#define OUTER_PROBES	8u
#define OUTER_REACH	(256u * 1024u)	/* no wrapper needs more stack than that */
#define OUTER_KEY_BITS	7u		/* thread pointers are aligned */

static uint64_t outer_key(const struct shim_call *call, enum ring_class class)
{
	return call->thread & OUTER_KEY_BITS ? 0 : call->thread | class;
}

static struct ring_outer *outer_at(struct ring_control *control, const struct shim_call *call,
				   uint32_t probe)
{
	return &control->outer[(shim_hash(call->thread) + probe) % RING_OUTERS];
}

static struct ring_outer *outer_find(struct ring_control *control, const struct shim_call *call,
				     uint64_t key)
{
	for (uint32_t i = 0; i < OUTER_PROBES && call->thread != 0; i++) {
		struct ring_outer *outer = outer_at(control, call, i);

		if (shim_load(&outer->key) == key)
			return outer;
	}
	return NULL;
}

static struct ring_outer *outer_claim(struct ring_control *control, const struct shim_call *call,
				      uint64_t key)
{
	for (uint32_t i = 0; i < OUTER_PROBES && call->thread != 0; i++) {
		struct ring_outer *outer = outer_at(control, call, i);

		if (shim_load(&outer->key) == 0 && shim_exchange_if(&outer->key, 0, key))
			return outer;
	}
	return NULL;
}

/*
 * Functions that the user has named may switch stacks while they run: where the stack is not
 * proven, any address may be another coroutine's.
 */
static bool is_under_way(struct ring_control *control, const struct shim_call *call,
			 const struct ring_outer *outer, enum ring_class class)
{
	uint64_t frame = shim_load(&outer->frame), here = (uint64_t)&call->caller, proven;
	const struct shim_call *other = (const struct shim_call *)frame;

	if (frame <= here)
		return false;
	proven = shim_stack_proven(control, call);
	if (proven == 0)
		return class == RING_CLASS_HEAP && frame - here <= OUTER_REACH;
	return frame - here + sizeof(*other) <= proven &&
	       shim_load(&other->caller) == shim_load(&outer->caller) &&
	       shim_load(&other->original) == shim_load(&outer->original);
}

bool shim_outer_holds(struct ring_control *control, const struct shim_call *call,
		      enum ring_class class)
{
	uint64_t key = outer_key(call, class);
	const struct ring_outer *outer = key ? outer_find(control, call, key) : NULL;

	return outer && is_under_way(control, call, outer, class);
}

/* The frame comes last: a signal handler in between finds none, and takes the entry over. */
void shim_outer_begin(struct ring_control *control, struct shim_call *call, enum ring_class class)
{
	uint64_t key = outer_key(call, class);
	struct ring_outer *outer = key ? outer_find(control, call, key) : NULL;

	if (outer && is_under_way(control, call, outer, class))
		return;
	if (!outer && key)
		outer = outer_claim(control, call, key);
	if (!outer) {
		shim_add(&control->lost_threads, 1);
		return;
	}
	shim_store(&outer->frame, 0);
	shim_store(&outer->caller, call->caller);
	shim_store(&outer->original, call->original);
	shim_store(&outer->frame, (uint64_t)call);
	call->state |= SHIM_OUTER;
}

/* Another call may have taken its place, on a stack to which the thread switched. */
void shim_outer_end(struct ring_control *control, const struct shim_call *call,
		    enum ring_class class)
{
	uint64_t key = outer_key(call, class);
	struct ring_outer *outer = outer_find(control, call, key);

	if (!(call->state & SHIM_OUTER) || !outer || shim_load(&outer->frame) != (uint64_t)call)
		return;
	shim_store(&outer->frame, 0);
	shim_store_release(&outer->key, 0);
}
