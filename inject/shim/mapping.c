/* SPDX-License-Identifier: MIT */
/*
 * mapping.c - mmap, munmap, mremap, brk, sbrk.
 *
 * What a call takes away is announced before it and undone if it fails; what it
 * makes is recorded after it. Mappings are few: none is left out by sampling.
 *
 * Whatever is recorded or not, a call that takes memory away first clears the
 * stack ranges that it touches, and raises unmaps_begun before and unmaps_ended
 * after: a range published meanwhile is then thrown away by its publisher
 * (ring_publish_stacks() has the other half).
 */
#include "inject/shim/nested.h"
#include "inject/shim/paths.h"

#include <asm/unistd.h>
#include <linux/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4	/* Linux 5.7 */
#endif
#define FAILED UINT64_MAX	/* MAP_FAILED, and (void *)-1 of sbrk */
#define USER_LIMIT (1ull << 56)	/* no range reaches so far: such a call fails */

/*
 * Every range that meets [low, high) becomes empty, at its end, by which they are
 * sorted. All of them are looked at: the publisher may be sorting new ones in. Its
 * partner is the publisher's check of unmaps_begun (full barriers on both sides): one
 * of the two sees the other. The generation voids what threads remember of the ranges.
 */
static void ranges_clear(struct ring_control *control, uint64_t low, uint64_t high)
{
	uint32_t count = shim_load(&control->stack_proposed);

	if (count > RING_MAX_STACKS)
		count = RING_MAX_STACKS;
	for (uint32_t i = 0; i < count; i++) {
		struct ring_range *range = &control->stack[i];
		uint64_t range_low = shim_load(&range->low), range_high = shim_load(&range->high);

		if (range_low >= range_high || range_low >= high || range_high <= low)
			continue;
		if (shim_exchange_if(&range->low, range_low, range_high))
			shim_add(&control->stack_generation, 1);
	}
}

static uint64_t page_end(uint64_t address, uint64_t bytes)
{
	uint64_t end;

	if (__builtin_add_overflow(address, bytes, &end) || end > UINT64_MAX - SHIM_PAGE)
		return UINT64_MAX;
	return (end + SHIM_PAGE - 1) & ~(SHIM_PAGE - 1);
}

static void range_goes(struct ring_control *control, uint64_t low, uint64_t high)
{
	ranges_clear(control, low, high);
	shim_rules_unmap(control, low, high);
}

static bool is_fixed(uint64_t flags)
{
	return (flags & MAP_FIXED) && !(flags & MAP_FIXED_NOREPLACE);
}

/* Clears what call is about to take away. false: it takes nothing. */
static bool unmaps_begin(struct ring_control *control, const struct shim_call *call,
			 enum ring_shape shape)
{
	const uint64_t *argument = call->argument;

	if (shape == RING_SHAPE_SBRK || (shape == RING_SHAPE_MMAP && !is_fixed(argument[3])))
		return false;
	shim_add(&control->unmaps_begun, 1);
	if (shape == RING_SHAPE_BRK)	/* a heap that shrinks to here: its range holds this byte */
		ranges_clear(control, argument[0], page_end(argument[0], 1));
	else
		range_goes(control, argument[0], page_end(argument[0], argument[1]));
	if (shape == RING_SHAPE_MREMAP && (argument[3] & MREMAP_FIXED))
		range_goes(control, argument[4], page_end(argument[4], argument[2]));
	return true;
}

/* Does the old range go? (mremap of 0 bytes and MREMAP_DONTUNMAP leave it.) */
static bool takes_old_range(const struct shim_call *call, enum ring_shape shape)
{
	if (page_end(call->argument[0], call->argument[1]) >= USER_LIMIT)
		return false;
	if (shape == RING_SHAPE_MREMAP)
		return call->argument[1] != 0 && !(call->argument[3] & MREMAP_DONTUNMAP);
	return shape == RING_SHAPE_MUNMAP;
}

static struct shim_event unmap_event(const struct shim_call *call, enum ring_kind kind,
				     enum ring_shape shape)
{
	return (struct shim_event){
		.kind = kind,
		.flags = shape == RING_SHAPE_MREMAP ? RING_F_REALLOC : 0,
		.address = call->argument[0],
		.size = call->argument[1],
	};
}

/*
 * brk does not return the old break. The call it is about to make tells it,
 * and a target that calls brk is allowed to.
 */
static uint64_t break_now(void)
{
	const uint64_t argument[6] = { 0 };

	return (uint64_t)arch_syscall(__NR_brk, argument);
}

bool shim_map_begin(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();
	struct shim_event event = unmap_event(call, RING_UNMAP, shape);

	if (!control)
		return false;
	shim_call_open(control, call);
	if (unmaps_begin(control, call, shape))
		call->state |= SHIM_UNMAPPING;
	if (shim_load(&control->mode) == RING_MODE_OFF ||
	    shim_is_nested(control, call, RING_CLASS_MAPPING))
		return call->state != 0 || call->span;
	if (shape == RING_SHAPE_BRK && shim_load(&control->confined) & RING_CONFINED_DISPATCH)
		return call->state != 0 || call->span;	/* break_now() would not be allowed */
	call->state |= SHIM_RECORD;
	if (shape == RING_SHAPE_BRK)
		call->carried = break_now();
	if (takes_old_range(call, shape) && shim_record(control, call, &event))
		call->state |= SHIM_ANNOUNCED;
	/* Else this is a fork child, out of a wait for room. */
	if (shim_control() == control && shim_load(&control->mode) == RING_MODE_ALL)
		shim_trace_begin(control, call);
	return true;
}

static void mmap_record(struct ring_control *control, const struct shim_call *call)
{
	uint64_t flags = call->argument[3];
	struct shim_event event = {
		.kind = RING_MAP,
		.flags = (uint16_t)((is_fixed(flags) ? RING_F_FIXED : 0) |
				   (flags & MAP_ANONYMOUS ? RING_F_ANONYMOUS : 0)),
		.address = call->result,
		.size = call->argument[1],
	};

	if (call->result != FAILED)
		shim_record(control, call, &event);
}

static void mremap_record(struct ring_control *control, const struct shim_call *call)
{
	uint64_t flags = call->argument[3];
	struct shim_event event = {
		.kind = RING_MAP,
		.flags = (uint16_t)(RING_F_REALLOC | (flags & MREMAP_FIXED ? RING_F_FIXED : 0)),
		.address = call->result,
		.size = call->argument[2],
		.old_address = call->argument[0],
	};

	if (call->result != FAILED)
		shim_record(control, call, &event);
}

static void brk_record(struct ring_control *control, const struct shim_call *call,
		       enum ring_shape shape)
{
	struct shim_event event = {
		.kind = RING_BRK,
		.address = call->argument[0],
		.size = call->carried,
	};

	if (shape == RING_SHAPE_BRK && (uint32_t)call->result != 0)
		return;
	if (shape == RING_SHAPE_SBRK) {
		if (call->result == FAILED)
			return;
		event.address = call->result + call->argument[0];
		event.size = call->result;
	}
	if (event.address != event.size)
		shim_record(control, call, &event);
}

/* The announced unmap did not happen. */
static void unmap_undo(struct ring_control *control, const struct shim_call *call,
		       enum ring_shape shape)
{
	struct shim_event event = unmap_event(call, RING_UNMAP_UNDO, shape);
	bool failed = shape == RING_SHAPE_MREMAP ? call->result == FAILED
						 : (uint32_t)call->result != 0;

	if (failed && (call->state & SHIM_ANNOUNCED))
		shim_record(control, call, &event);
}

void shim_map_end(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();

	if (!control)
		return;
	shim_trace_returned(control, call);
	if (call->state & SHIM_UNMAPPING)
		shim_add(&control->unmaps_ended, 1);
	if (!(call->state & SHIM_RECORD))
		return;
	if (shape == RING_SHAPE_MMAP)
		mmap_record(control, call);
	else if (shape == RING_SHAPE_MREMAP)
		mremap_record(control, call);
	else if (shape == RING_SHAPE_BRK || shape == RING_SHAPE_SBRK)
		brk_record(control, call, shape);
	unmap_undo(control, call, shape);
	shim_trace_end(control, call, shape);
}
