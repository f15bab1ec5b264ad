/* SPDX-License-Identifier: MIT */
/*
 * frame_place.c - a place for the frame: on the thread's own stack, or where none has ever been.
 *
 * A goroutine's, a coroutine's or an alternate stack shows no end, so those are never used. But the
 * kernel gives [stack] some 128 KiB more than the program has touched, and what is below all that
 * it ever touched is below all that lies there, also while it runs on a fiber. Only of a single
 * thread: others could go so deep, or reach into an array there, in that very moment.
 * Rejected: the unused ends of other threads' stacks (a thread of a process of several is lent
 * only on its own), memory of our own (there is none before the first call).
 */
#include "inject/tracee/frame_place.h"

#include <string.h>

#include "inject/arch/x86_64/frame.h"
#include "inject/tracee/own_stack.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/sharers.h"
#include "src/base/pagemap.h"

#define FRAME_ROOM	(FRAME_MAX_BYTES + 4096ull)
#define PAGE		4096ull
#define PLACE_BYTES	(FRAME_ROOM + FRAME_MAX_BYTES)	/* two frames and a handler of SIGSYS */

static bool is_writable_own(const struct procmap *map)
{
	return (map->prot & (PROCMAP_R | PROCMAP_W)) == (PROCMAP_R | PROCMAP_W) &&
	       !(map->prot & PROCMAP_SHARED);
}

bool frame_place_has_room(const struct procmaps *maps, pid_t pid, pid_t tid, uint64_t sp,
			  uint64_t stack_room)
{
	const struct procmap *map = procmaps_find(maps, sp);

	if (!map || !is_writable_own(map))
		return false;
	if (own_stack_is_main(map, pid, tid))
		stack_room = 0;
	return sp - map->start >= stack_room + FRAME_ROOM;
}

/* Only on a stack that is surely this thread's own. */
static bool is_safe_below(const struct target *target, const struct procmaps *maps, pid_t tid,
			  const struct user_regs_struct *r, uint64_t stack_room)
{
	struct own_stack own;

	if (!own_stack_find(target, maps, tid, r->rsp, r->fs_base, &own) ||
	    !frame_place_has_room(maps, target->ref.pid, tid, r->rsp, stack_room))
		return false;
	return own.grows || r->rsp - own.low >= stack_room + FRAME_ROOM;
}

static bool is_alone(const struct target *target)
{
	struct proc_thread_status status;

	return proc_read_status(target->ref.pid, &status) == 0 && status.threads == 1 &&
	       !sharers_exist(target);
}

/*
 * The lowest of our own frames in the place, the second below the first; its end if there is none.
 * They stay after the calls as whatever was below a stack pointer once, and are known by what they
 * are: also by who comes after a memattach that was killed.
 */
static uint64_t lowest_frame(const uint8_t *bytes, uint64_t low)
{
	uint64_t below = low + PLACE_BYTES, frame;

	while ((frame = frame_find(bytes, low, below)))
		below = frame;
	return below;
}

/* Has nobody ever written there, but us? Only what is in memory or swapped out is read at all. */
static bool is_unused(const struct target *target, uint64_t low)
{
	static uint8_t bytes[PLACE_BYTES];
	struct pagemap_range range[PLACE_BYTES / PAGE];
	uint64_t at = low, high = low + PLACE_BYTES, first = high;
	struct pagemap pagemap;

	pagemap_init(&pagemap, target->pagemap);
	if (pagemap.way == PAGEMAP_UNKNOWN)
		return false;
	memset(bytes, 0, sizeof(bytes));
	while (at < high) {
		int count = pagemap_next(&pagemap, &at, high, range, ARRAY_SIZE(range));

		for (int i = 0; i < count; i++)
			if (remote_read(target, range[i].low, bytes + (range[i].low - low),
					range[i].high - range[i].low))
				return false;
		if (count < 0)
			return false;
		first = count && range[0].low < first ? range[0].low : first;
	}
	return first >= (lowest_frame(bytes, low) & ~(PAGE - 1));
}

/* [stack], if sp is not on it, and may be of use to tid. */
static const struct procmap *find_left_stack(const struct target *target,
					     const struct procmaps *maps, pid_t tid, uint64_t sp)
{
	const struct procmap *map = NULL;

	for (size_t i = 0; i < maps->count && !map; i++)
		if (own_stack_is_main(&maps->map[i], target->ref.pid, tid))
			map = &maps->map[i];
	return map && is_writable_own(map) && (sp < map->start || sp >= map->end) ? map : NULL;
}

/* A runtime that makes sure of its whole stack writes a zero at the end of it (Ruby). */
static bool is_zero(const struct target *target, uint64_t page)
{
	static const uint8_t zeros[PAGE];
	uint8_t bytes[PAGE];

	return remote_read(target, page, bytes, sizeof(bytes)) == 0 &&
	       memcmp(bytes, zeros, sizeof(bytes)) == 0;
}

/* The end of the place at its low end, or above a page of zeros there; 0: there is none. */
static uint64_t find_unused_end(const struct target *target, const struct procmaps *maps,
				pid_t tid, uint64_t sp, uint64_t stack_room)
{
	const struct procmap *map = find_left_stack(target, maps, tid, sp);
	uint64_t low = map ? map->start : 0;

	if (!map || stack_room + FRAME_ROOM > PLACE_BYTES ||
	    map->end - map->start <= PLACE_BYTES + PAGE)
		return 0;
	if (!is_unused(target, low)) {
		if (!is_zero(target, low) || !is_unused(target, low + PAGE))
			return 0;
		low += PAGE;
	}
	return low + PLACE_BYTES;
}

bool frame_place_may_be(const struct target *target, const struct procmaps *maps, pid_t tid,
			uint64_t sp, uint64_t stack_room)
{
	return frame_place_has_room(maps, target->ref.pid, tid, sp, stack_room) ||
	       find_unused_end(target, maps, tid, sp, stack_room);
}

uint64_t frame_place_find(const struct target *target, const struct procmaps *maps, pid_t tid,
			  const struct user_regs_struct *registers, uint64_t stack_room)
{
	uint64_t end;

	if (is_safe_below(target, maps, tid, registers, stack_room))
		return registers->rsp;
	end = find_unused_end(target, maps, tid, registers->rsp, stack_room);
	return end && is_alone(target) ? end : 0;
}
