/* SPDX-License-Identifier: MIT */
/*
 * island_jumps.c - see island_jumps.h.
 *
 * The journal says where we wrote, the files what was there; neither says what the program has made
 * of it since: text that it moved to anonymous memory, pages with huge ones in their place, a code
 * cache. So memory is asked. Of a mapped file only pages that are copies can hold anything of ours,
 * and islands are near: what is read is a library's few pages, and what a JIT has made.
 */
#include "inject/attach/island_jumps.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "inject/abi/memfd_names.h"
#include "inject/attach/load.h"
#include "inject/tracee/remote_mem.h"
#include "src/base/hashmap.h"

#define PAGE 4096ull
#define ENTRIES 512u		/* of pagemap, read at once */
#define PAGEMAP_THERE (3ull << 62)	/* present or swapped */
#define PAGEMAP_FILE (1ull << 61)
#define REACH (1ull << 31)

struct search {
	const struct target *target;
	const struct islands *islands;
	const uint64_t *gap;	/* hops to these gap_count; 0: jumps into islands */
	size_t gap_count;
	uint64_t *address;	/* found: room at the most, count of them there are */
	size_t room, count;
};

bool island_is_ours(const struct procmap *map)
{
	return strcmp(map->path, MEMFD_SHIM_PATH) == 0 && (map->prot & PROCMAP_SHARED) &&
	       (map->prot & PROCMAP_X);
}

bool island_confirmed(const struct procmap *map, const struct ring_island *island)
{
	return island_is_ours(map) && map->start == island->address &&
	       map->end - map->start == island->bytes;
}

bool island_starts_at(const struct islands *islands, uint64_t to)
{
	for (uint32_t i = 0; i < islands->count; i++) {
		uint64_t at = to - islands->island[i].address;

		if (at < islands->island[i].bytes)
			return at % sizeof(struct ring_island_entry) ==
			       offsetof(struct ring_island_entry, code);
	}
	return false;
}

bool island_in_reach(const struct islands *islands, const struct procmap *map)
{
	for (uint32_t i = 0; i < islands->count; i++)
		if (islands->island[i].address < map->end + REACH &&
		    map->start < islands->island[i].address + islands->island[i].bytes + REACH)
			return true;
	return false;
}

uint64_t island_jump_to(const uint8_t *bytes, uint64_t at)
{
	int32_t distance;

	memcpy(&distance, bytes + 1, sizeof(distance));
	return at + ISLAND_JUMP_BYTES + (uint64_t)(int64_t)distance;
}

uint64_t island_hop_to(const uint8_t *bytes, uint64_t at)
{
	return at + ISLAND_HOP_BYTES + (uint64_t)(int64_t)(int8_t)bytes[1];
}

static bool leads_to_gap(const struct search *s, uint64_t to)
{
	for (size_t i = 0; i < s->gap_count; i++)
		if (s->gap[i] == to)
			return true;
	return false;
}

static void look_in(struct search *s, const uint8_t *bytes, size_t count, uint64_t address)
{
	const uint8_t first = s->gap ? ISLAND_HOP : ISLAND_JUMP;
	const size_t need = s->gap ? ISLAND_HOP_BYTES : ISLAND_JUMP_BYTES;
	const uint8_t *end = bytes + count, *p = bytes;

	for (; (p = memchr(p, first, (size_t)(end - p))); p++) {
		uint64_t at = address + (uint64_t)(p - bytes);

		if (p - bytes >= (ptrdiff_t)PAGE || (size_t)(end - p) < need)
			return;
		if (s->gap ? !leads_to_gap(s, island_hop_to(p, at)) :
			     !island_starts_at(s->islands, island_jump_to(p, at)))
			continue;
		if (s->count < s->room)
			s->address[s->count] = at;
		s->count++;
	}
}

/* Is ordinary memory there still? A device's can't be read, and none of it is ours. */
static bool is_there(const struct target *target, uint64_t address)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	const struct procmap *map;

	if (procmaps_read(target->maps, &maps) < 0)
		return true;
	map = procmaps_find(&maps, address);
	return map && (map->prot & PROCMAP_X) && !(map->prot & PROCMAP_SHARED) &&
	       strncmp(map->path, "/dev/", 5) != 0;
}

/* told: the kernel says that there is a page. What is beyond the end of a file can't be read. */
static int look_at_page(struct search *s, uint64_t address, bool told)
{
	uint8_t bytes[PAGE + ISLAND_JUMP_BYTES - 1];
	size_t got = remote_read_some(s->target, address, bytes, sizeof(bytes));
	int error;

	if (got < PAGE) {
		error = remote_read(s->target, address, bytes, PAGE);
		if (error == -EFAULT && (!told || !is_there(s->target, address)))
			return 0;
		if (error)
			return error;
		got = PAGE;
	}
	look_in(s, bytes, got, address);
	return 0;
}

/* All pages where the kernel does not tell, and of shared memory all that there are. */
static int look_at_map(struct search *s, const struct procmap *map)
{
	const uint64_t files = map->prot & PROCMAP_SHARED ? 0 : PAGEMAP_FILE;
	uint64_t entry[ENTRIES];
	int error = 0;

	for (uint64_t at = map->start; !error && at < map->end; at += ENTRIES * PAGE) {
		uint64_t left = (map->end - at) / PAGE, count = left < ENTRIES ? left : ENTRIES;
		bool told = pread(s->target->pagemap, entry, count * 8, (off_t)(at / PAGE * 8)) ==
			    (ssize_t)(count * 8);

		for (uint64_t i = 0; !error && i < count; i++)
			if (!told || ((entry[i] & PAGEMAP_THERE) && !(entry[i] & files)))
				error = look_at_page(s, at + i * PAGE, told);
	}
	return error;
}

/* Executable, not an island, and in reach of one. */
static bool may_lead(const struct islands *islands, const struct procmap *map)
{
	return (map->prot & PROCMAP_X) && strcmp(map->path, MEMFD_SHIM_PATH) != 0 &&
	       island_in_reach(islands, map);
}

uint64_t islands_surroundings(const struct islands *islands, const struct procmaps *maps)
{
	uint64_t name = 1;

	for (size_t i = 0; i < maps->count; i++) {
		const struct procmap *map = &maps->map[i];

		if (!may_lead(islands, map))
			continue;
		name = hashmap_hash(name ^ map->start) + map->end;
		name = hashmap_hash(name ^ map->inode) + map->offset;
		name = hashmap_hash(name ^ map->prot);
	}
	return name ? name : 1;
}

static int find(struct search *s, size_t *ret)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	int error = s->islands->count ? procmaps_read(s->target->maps, &maps) : 0;

	for (size_t i = 0; !error && i < maps.count; i++)
		if (may_lead(s->islands, &maps.map[i]))
			error = look_at_map(s, &maps.map[i]);
	*ret = s->count;
	return error;
}

int island_jumps_find(const struct target *target, const struct islands *islands, uint64_t *address,
		      size_t room, size_t *ret)
{
	struct search s = { .target = target, .islands = islands, .address = address,
			    .room = room };

	return find(&s, ret);
}

int island_hops_find(const struct target *target, const struct islands *islands,
		     const uint64_t *gap, size_t count, uint64_t *address, size_t room,
		     size_t *ret)
{
	struct search s = { .target = target, .islands = islands, .gap = gap, .gap_count = count,
			    .address = address, .room = room };

	*ret = 0;
	return count ? find(&s, ret) : 0;
}
