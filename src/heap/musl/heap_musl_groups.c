/* SPDX-License-Identifier: MIT */
/*
 * heap_musl_groups.c - all groups of slots, from the pages of metas.
 *
 * Every meta that was ever handed out stands in these pages; one without a group is free. The
 * lists of groups (active, free) are not followed: they hold nothing that the pages do
 * not, and change where the pages don't. Checked are: each meta and its group name each other,
 * the slots fit into the mapping, mappings do not overlap, and the context's count of slots in
 * each class is that of all groups. A group without a mapping lies in a slot of
 * another, which the walk of slots checks, or in what ld.so has donated.
 */
#include "src/heap/musl/heap_musl.h"

#include <errno.h>
#include <string.h>

/* In units; the last of a slot's bytes are the next one's header. */
static const uint16_t class_units[MUSL_CLASSES] = {
	1,    2,    3,    4,    5,    6,    7,    8,	9,    10,   12,	  15,
	18,   20,   25,	  31,	36,   42,   50,	  63,	72,   84,   102,  127,
	146,  170,  204,  255,	292,  340,  409,  511,	584,  682,  818,  1023,
	1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
};

uint64_t musl_stride(const struct musl_group *group)
{
	if (group->last == 0 && group->map_bytes)
		return group->map_bytes - MUSL_UNIT;
	return (uint64_t)class_units[group->size_class] * MUSL_UNIT;
}

static int torn(struct musl *musl, const char *what, uint64_t address)
{
	return musl_fail(musl, -EAGAIN, "%s at %#llx", what, (unsigned long long)address);
}

/* --- metas ---------------------------------------------------------------------- */

static int push(struct musl *musl, const struct musl_group *group)
{
	size_t room = musl->group_room ? musl->group_room * 2 : 128;
	struct musl_group *grown;

	if (musl->group_count == MUSL_MAX_GROUPS)
		return musl_fail(musl, -ENOTSUP, "more groups than are believed");
	if (musl->group_count == musl->group_room) {
		grown = reallocarray(musl->group, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		musl->group = grown;
		musl->group_room = room;
	}
	musl->group[musl->group_count++] = *group;
	return 0;
}

/* One meta, which is words, and lies at address. */
static int take_meta(struct musl *musl, uint64_t address, const uint64_t *words)
{
	uint32_t avail = (uint32_t)words[3], freed = (uint32_t)(words[3] >> 32), all;
	struct musl_group group = {
		.mem = words[2], .meta = address, .free = avail | freed, .last = words[4] & 31,
		.size_class = words[4] >> 6 & 63, .map_bytes = (words[4] >> 12) * MUSL_PAGE,
	};

	if (!group.mem)		/* free; its other words are links */
		return 0;
	all = (uint32_t)((2ull << group.last) - 1);
	group.donated = !group.map_bytes && !(words[4] & 32);
	if (group.mem % MUSL_UNIT || group.mem >> 47 || avail & freed || group.free & ~all ||
	    group.map_bytes >> 47 ||
	    (group.size_class >= MUSL_CLASSES &&
	     (group.size_class != MUSL_ALONE || group.last || !group.map_bytes)))
		return torn(musl, "a meta makes no sense", address);
	return push(musl, &group);
}

/* How many metas of the area have ever been handed out. */
static uint64_t used_metas(const struct musl *musl, uint64_t area)
{
	return area == musl->words[MUSL_TAIL] ? MUSL_AREA_SLOTS - musl->words[MUSL_AVAIL_COUNT]
					      : MUSL_AREA_SLOTS;
}

/* Returns the next area's address in *ret_next. */
static int read_area(struct musl *musl, uint64_t area, uint64_t *ret_next)
{
	uint64_t words[MUSL_PAGE / 8];
	int r;

	if (area % MUSL_PAGE || picture_read(musl->picture, area, words, sizeof(words)) < 0 ||
	    words[0] != musl->words[MUSL_SECRET] || (uint32_t)words[2] != MUSL_AREA_SLOTS)
		return torn(musl, "there is no page of metas", area);
	*ret_next = words[1];
	r = ranges_add(&musl->areas, area, area + MUSL_PAGE);
	for (uint64_t i = 0; i < used_metas(musl, area) && r == 0; i++) {
		uint64_t offset = MUSL_AREA_HEAD + i * MUSL_META_BYTES;

		r = take_meta(musl, area + offset, &words[offset / 8]);
	}
	return r;
}

static int read_areas(struct musl *musl)
{
	uint64_t area = musl->words[MUSL_HEAD], tail = musl->words[MUSL_TAIL], next = area;
	uint64_t first_left = tail + MUSL_AREA_HEAD + used_metas(musl, tail) * MUSL_META_BYTES;
	int r = 0;

	if (musl->words[MUSL_AVAIL_META] != first_left)
		return musl_fail(musl, -EAGAIN, "the next meta is not where it should be");
	for (unsigned int i = 0; r == 0; i++) {
		if (i == MUSL_MAX_AREAS)
			return musl_fail(musl, -ENOTSUP, "more pages of metas than are believed");
		area = next;
		r = read_area(musl, area, &next);
		if (area == tail)
			break;
	}
	return r;
}

/* --- groups --------------------------------------------------------------------- */

static int by_mem(const void *a, const void *b)
{
	const struct musl_group *x = a, *y = b;

	return (x->mem > y->mem) - (x->mem < y->mem);
}

struct musl_group *musl_group_at(const struct musl *musl, uint64_t mem)
{
	const struct musl_group key = { .mem = mem };

	return musl->group_count ? bsearch(&key, musl->group, musl->group_count, sizeof(key),
					   by_mem)
				 : NULL;
}

/* Is all of [low, high) private memory, writable or once so? */
static bool is_memory(const struct picture *picture, uint64_t low, uint64_t high)
{
	const struct procmap *map = procmaps_find(&picture->maps, low);
	const struct procmap *end = picture->maps.map + picture->maps.count;

	for (; map && map < end && !(map->prot & PROCMAP_SHARED); map++) {
		if (map->end >= high)
			return true;
		if (map + 1 == end || map[1].start != map->end)
			return false;
	}
	return false;
}

static int add_segment(struct musl *musl, const struct musl_group *group, uint64_t *sum)
{
	uint64_t bytes = group->map_bytes ? group->map_bytes : MUSL_UNIT + musl_stride(group);

	if (!is_memory(musl->picture, group->mem, group->mem + bytes))
		return torn(musl, "there is no memory for the group", group->mem);
	*sum += bytes;
	return ranges_add(&musl->segments, group->mem, group->mem + bytes);
}

/* Its header names the meta, and all slots have room; an outermost one becomes a segment. */
static int check_group(struct musl *musl, const struct musl_group *group, uint64_t *sum)
{
	uint64_t header[2], bytes = MUSL_UNIT + (group->last + 1ull) * musl_stride(group);

	if (!heap_pages_read(&musl->pages, group->mem, header, sizeof(header)) ||
	    header[0] != group->meta || (header[1] & 31) > group->last)
		return torn(musl, "a group does not name its meta", group->mem);
	if (group->map_bytes && (group->mem % MUSL_PAGE || bytes > group->map_bytes))
		return torn(musl, "a group does not fit its mapping", group->mem);
	if (group->donated && group->last)
		return torn(musl, "a donated group has many slots", group->mem);
	return group->map_bytes || group->donated ? add_segment(musl, group, sum) : 0;
}

static bool counts_agree(const struct musl *musl)
{
	uint64_t slots[MUSL_CLASSES] = { 0 };

	for (size_t i = 0; i < musl->group_count; i++) {
		const struct musl_group *group = &musl->group[i];

		if (group->size_class < MUSL_CLASSES && !group->donated)
			slots[group->size_class] += group->last + 1u;
	}
	return memcmp(slots, &musl->words[MUSL_USAGE], sizeof(slots)) == 0;
}

static int check_segments(struct musl *musl, uint64_t sum)
{
	ranges_normalize(&musl->segments);
	for (size_t i = 0; i < musl->segments.count; i++)
		sum -= musl->segments.range[i].high - musl->segments.range[i].low;
	return sum ? musl_fail(musl, -EAGAIN, "groups overlap") : 0;
}

int musl_read_groups(struct musl *musl)
{
	uint64_t sum = 0;
	int r = read_areas(musl);

	if (r == 0 && musl->group_count)
		qsort(musl->group, musl->group_count, sizeof(*musl->group), by_mem);
	for (size_t i = 0; i < musl->group_count && r == 0; i++) {
		if (i > 0 && musl->group[i - 1].mem == musl->group[i].mem)
			return torn(musl, "two metas have the same group", musl->group[i].mem);
		r = check_group(musl, &musl->group[i], &sum);
	}
	if (r == 0 && !counts_agree(musl))
		r = musl_fail(musl, -EAGAIN, "the number of slots in a class is another");
	return r ? r : check_segments(musl, sum);
}
