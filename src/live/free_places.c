/* SPDX-License-Identifier: MIT */
/*
 * free_places.c - can a block that was never seen allocated lie at this address?
 *
 * Where everything is recorded such a block is older than the attach, so it lies in
 * memory that was there at the attach and was not unmapped since: unmappings are told in the
 * order of the events, whereas maps are as they were a moment ago. Of that memory, these are
 * ruled out for glibc: modules (code, data, bss), the main thread's stack, the stack of the
 * thread that calls. Anything else that was mapped then, whatever its protection or file, may
 * hold one: heaps are put into hugetlbfs files, pages are protected for a while.
 *
 * Modules and stacks say nothing of an allocator other than glibc: musl puts blocks into the
 * gaps of modules, others can be given memory by the program.
 *
 * A thread's stack is believed only in the shape in which glibc maps one: guard below, TCB
 * at the upper end, sp and address in between. Merged neighbours or a stack that the
 * program allocated do not have it.
 */
#include "src/live/free_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inject/attach/ring_publish.h"
#include "src/base/array.h"

#define MAX_RANGES	65536u	/* more, and nothing is ruled out any more */
#define GONE		256u	/* unmappings that are kept, a power of two */
#define TCB_REACH	65536u	/* struct pthread and static TLS above the thread pointer */

struct free_places {
	const struct target_view *view;
	bool noted;			/* else any place may hold blocks; */
	bool given_up;			/* if there are too many, too */
	uint32_t count, capacity;
	struct ring_range *range;	/* that may hold older blocks: sorted, disjoint */
	/* The last unmappings since maps were read, which may still show what is gone. */
	struct ring_range gone[GONE];
	uint64_t gone_count;		/* of all, kept or not */
	uint64_t reads;			/* of view, when they were */
};

int free_places_new(const struct target_view *view, struct free_places **ret)
{
	struct free_places *places = calloc(1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	places->view = view;
	*ret = places;
	return 0;
}

void free_places_free(struct free_places *places)
{
	if (places)
		free(places->range);
	free(places);
}

/* The kernel's own, by name; [heap] and [anon:...] are not. */
static bool is_special(const struct procmap *map)
{
	return strncmp(map->path, "[stack", 6) == 0 || strncmp(map->path, "[v", 2) == 0;
}

static bool reserve(struct free_places *places, size_t more)
{
	struct ring_range *range;

	if (places->count + more <= places->capacity)
		return true;
	if (places->count + more > MAX_RANGES)
		return false;
	range = reallocarray(places->range, places->count + more, sizeof(*range));
	if (!range)
		return false;
	places->range = range;
	places->capacity = (uint32_t)(places->count + more);
	return true;
}

void free_places_note(struct free_places *places)
{
	const struct procmaps *maps = &places->view->maps;

	places->noted = true;
	places->given_up |= !reserve(places, maps->count);
	for (size_t i = 0; i < maps->count && !places->given_up; i++) {
		if (!is_special(&maps->map[i]))
			places->range[places->count++] =
				(struct ring_range){ maps->map[i].start, maps->map[i].end };
	}
	places->count = ring_ranges_merge(places->range, places->count);
}

/* The number of ranges that end at address or below it. */
static uint32_t ranges_below(const struct free_places *places, uint64_t address)
{
	return (uint32_t)ARRAY_BISECT(places->count, i, places->range[i].high <= address);
}

static bool was_mapped(const struct free_places *places, uint64_t address)
{
	uint32_t at = ranges_below(places, address);

	return at < places->count && address >= places->range[at].low;
}

static void keep_gone(struct free_places *places, uint64_t low, uint64_t high)
{
	if (places->reads != places->view->reads)
		places->gone_count = 0;
	places->reads = places->view->reads;
	places->gone[places->gone_count++ % GONE] = (struct ring_range){ low, high };
}

/* Since maps were read, and it is among the last ones. */
static bool is_gone(const struct free_places *places, uint64_t address)
{
	if (places->reads != places->view->reads)
		return false;
	for (uint64_t i = 0; i < places->gone_count && i < GONE; i++)
		if (address >= places->gone[i].low && address < places->gone[i].high)
			return true;
	return false;
}

static void cut(struct free_places *places, uint64_t low, uint64_t high)
{
	uint32_t first = ranges_below(places, low), last = first, tail;
	struct ring_range *range, left, right;

	while (last < places->count && places->range[last].low < high)
		last++;
	if (low >= high || first == last || !reserve(places, 1))
		return;
	range = places->range;
	left = (struct ring_range){ range[first].low, low };
	right = (struct ring_range){ high, range[last - 1].high };
	tail = places->count - last;
	places->count = first + (left.low < left.high) + (right.low < right.high) + tail;
	memmove(&range[places->count - tail], &range[last], tail * sizeof(*range));
	if (left.low < left.high)
		range[first++] = left;
	if (right.low < right.high)
		range[first] = right;
}

void free_places_unmap(struct free_places *places, uint64_t low, uint64_t high)
{
	if (low >= high)
		return;
	keep_gone(places, low, high);
	cut(places, low, high);
}

static void take_back_gone(struct free_places *places, uint64_t low, uint64_t high)
{
	struct ring_range *last = &places->gone[(places->gone_count - 1) % GONE];

	if (places->gone_count && last->low == low && last->high == high)
		places->gone_count--;
}

void free_places_unmap_failed(struct free_places *places, uint64_t low, uint64_t high)
{
	uint32_t at;

	if (low >= high)
		return;
	take_back_gone(places, low, high);
	cut(places, low, high);
	places->given_up |= !reserve(places, 1);
	if (places->given_up)
		return;
	at = ranges_below(places, low);
	memmove(&places->range[at + 1], &places->range[at],
		(places->count - at) * sizeof(*places->range));
	places->range[at] = (struct ring_range){ low, high };
	places->count++;
}

/* In what an ELF file says is loaded: a module's pages may be followed by anybody's. */
static bool is_static(const struct free_places *places, uint64_t address)
{
	const struct module *module = modules_find(places->view->modules, address);

	for (uint32_t i = 0; module && module->kind != MODULE_JIT && i < module->segment_count;
	     i++) {
		const struct module_segment *segment = &module->segment[i];

		if (address - module->bias - segment->address < segment->memory_bytes)
			return true;
	}
	return false;
}

static bool is_guard(const struct procmap *map)
{
	return !(map->prot & (PROCMAP_R | PROCMAP_W | PROCMAP_X)) && !map->inode;
}

/* map, which holds address, is the stack of event's thread, and sp is below address. */
static bool is_own_stack(const struct free_places *places, const struct procmap *map,
			 const struct event *event)
{
	const struct procmap *first = places->view->maps.map;
	uint64_t sp = event->stack_address;

	return sp >= map->start && sp <= event->address && event->address < event->thread &&
	       event->thread < map->end && map->end - event->thread <= TCB_REACH &&
	       map > first && is_guard(map - 1) && map[-1].end == map->start;
}

/* The mapping that holds address, or the next one; NULL: none. */
static const struct procmap *map_from(const struct procmaps *maps, uint64_t address)
{
	size_t at = ARRAY_BISECT(maps->count, i, maps->map[i].end <= address);

	return at < maps->count ? &maps->map[at] : NULL;
}

/* The main thread's stack may have grown to address since map, which map_from found, was read. */
static bool is_main_stack(const struct free_places *places, const struct procmap *map,
			  const struct event *event)
{
	if (!map || strcmp(map->path, "[stack]") != 0)
		return false;
	return event->address >= map->start ||
	       (event->stack_address && event->stack_address <= event->address &&
		map_from(&places->view->maps, event->stack_address) == map);
}

enum wrong_free_reason free_places_judge(const struct free_places *places,
					 const struct event *event)
{
	const struct procmap *map = map_from(&places->view->maps, event->address);

	if (is_gone(places, event->address))
		return WRONG_FREE_UNMAPPED;
	if (is_main_stack(places, map, event))
		return WRONG_FREE_STACK;
	if (map && event->address < map->start)
		map = NULL;
	if (map && is_own_stack(places, map, event))
		return WRONG_FREE_STACK;
	if (is_static(places, event->address))
		return WRONG_FREE_STATIC;
	if (!places->noted || places->given_up || was_mapped(places, event->address))
		return WRONG_FREE_NOT;
	return map ? WRONG_FREE_MAPPED : WRONG_FREE_UNMAPPED;
}
