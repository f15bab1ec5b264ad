/* SPDX-License-Identifier: MIT */
/* load_seen.c - see load_seen.h. */
#include "inject/attach/load_seen.h"

#include <string.h>

#include "inject/abi/memfd_names.h"
#include "inject/attach/remote_memfd.h"

#define PAGE 4096ull

bool load_is_half(const struct attachment *a, const struct procmaps *maps)
{
	const struct procmap *root = procmaps_find(maps, a->shim_base + a->layout.root);

	return a->shim_base && !(root && (root->prot & PROCMAP_W));
}

int load_find_shim(struct attachment *a)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	int error = procmaps_read(a->target.maps, &maps);

	for (size_t i = 0; !error && i < maps.count; i++)
		if (maps.map[i].inode == a->inode[REMOTE_SHIM] && maps.map[i].offset == 0 &&
		    !(a->stray.bytes && maps.map[i].start == a->stray.address) &&
		    memfd_path_is(maps.map[i].path, MEMFD_SHIM_PATH)) {
			a->shim_base = maps.map[i].start;
			break;
		}
	a->half = !error && load_is_half(a, &maps);
	return error;
}

/* True if our file (inode 0: any) is what the kernel says is mapped at address. */
static bool maps_file(const struct procmaps *maps, uint64_t address, uint64_t inode)
{
	const struct procmap *map = procmaps_find(maps, address);

	return map && (!inode || map->inode == inode) && memfd_path_is_ours(map->path);
}

/* A forged ring has no guards, or other ones: what is not ours is not unmapped with it. */
static void find_guards(struct attachment *a, const struct procmaps *maps)
{
	uint64_t end = a->ring_base + a->geometry.total_bytes;

	a->ring_low = a->ring_base;
	if (maps_file(maps, a->ring_base - PAGE, a->inode[REMOTE_RING]))
		a->ring_low -= PAGE;
	a->ring_high = maps_file(maps, end, a->inode[REMOTE_RING]) ? end + PAGE : end;
}

static bool is_stray(const struct attachment *a, const struct procmaps *maps)
{
	const struct procmap *map = procmaps_find(maps, a->stray.address);

	return map && map->inode && map->inode == a->stray.inode;
}

void load_forget_foreign(struct attachment *a, const struct procmaps *maps)
{
	uint32_t kept = 0;

	if (a->ring_base && !a->seen.ring && !maps_file(maps, a->ring_base, a->inode[REMOTE_RING]))
		a->ring_base = 0;
	if (a->ring_base && a->seen.ring) {
		a->ring_low = a->ring_base - PAGE;
		a->ring_high = a->ring_base + a->geometry.total_bytes + PAGE;
	} else if (a->ring_base) {
		find_guards(a, maps);
	}
	if (a->shim_base && !a->seen.shim && !maps_file(maps, a->shim_base, a->inode[REMOTE_SHIM]))
		a->shim_base = 0;
	if (a->stray.bytes && !is_stray(a, maps))
		a->stray.bytes = 0;
	for (uint32_t i = 0; i < a->island_count; i++)
		if (i < a->seen.islands ||
		    maps_file(maps, a->island[i].address, a->inode[REMOTE_SHIM]))
			a->island[kept++] = a->island[i];
	a->island_count = kept;
}
