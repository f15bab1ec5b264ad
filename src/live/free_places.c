/* SPDX-License-Identifier: MIT */
/*
 * free_places.c - can a block that was never seen allocated lie at this address?
 *
 * Where everything is recorded such a block is older than the attach, so it lies in
 * memory that was there at the attach. Of that, these are ruled out for glibc: modules
 * (code, data, bss), the main thread's stack, the stack of the thread that calls. Anything
 * else that was mapped then, whatever its protection or file, may hold one: heaps are put
 * into hugetlbfs files, pages are protected for a while.
 *
 * It refuses to say anything of an allocator other than glibc: musl puts blocks into the
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

#include "inject/ring_publish.h"

#define MAX_RANGES	65536u	/* more, and nothing is ruled out any more */
#define TCB_REACH	65536u	/* struct pthread and static TLS above the thread pointer */

struct free_places {
	const struct target_view *view;
	bool noted;			/* else any place may hold blocks; */
	bool given_up;			/* if there are too many, too */
	uint32_t count, capacity;
	struct ring_range *range;	/* that may hold older blocks: sorted, disjoint */
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

static bool was_mapped(const struct free_places *places, uint64_t address)
{
	uint32_t low = 0, high = places->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (places->range[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address < places->range[low - 1].high;
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

enum wrong_free_reason free_places_judge(void *context, const struct event *event)
{
	const struct free_places *places = context;
	const struct procmap *map = procmaps_find(&places->view->maps, event->address);

	if (map && strcmp(map->path, "[stack]") == 0)
		return WRONG_FREE_STACK;
	if (map && is_own_stack(places, map, event))
		return WRONG_FREE_STACK;
	if (is_static(places, event->address))
		return WRONG_FREE_STATIC;
	if (!places->noted || places->given_up || was_mapped(places, event->address))
		return WRONG_FREE_NOT;
	return map ? WRONG_FREE_MAPPED : WRONG_FREE_UNMAPPED;
}
