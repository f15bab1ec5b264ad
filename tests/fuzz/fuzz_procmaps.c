/* SPDX-License-Identifier: MIT */
/*
 * fuzz_procmaps.c - any text through the maps parser; what it accepts must be
 * sorted, findable, and any hole found in it must really be one.
 */
#include <string.h>

#include "src/base/procmaps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_map(const struct procmaps *maps, size_t i)
{
	const struct procmap *map = &maps->map[i];

	if (map->start >= map->end || (i > 0 && map->start < map[-1].end))
		abort();
	if (procmaps_find(maps, map->start) != map || procmaps_find(maps, map->end - 1) != map)
		abort();
	if (map->path < maps->text || strlen(map->path) > 4096 * 1024)
		abort();
}

static void check_hole(const struct procmaps *maps, const struct procmap *near)
{
	const uint64_t bytes = 8192, reach = 1u << 30;
	uint64_t hole = procmaps_find_hole(maps, near->start, near->end, bytes, reach);

	if (!hole)
		return;
	if (hole % 4096 || hole < 65536)
		abort();
	if (hole < near->end && near->end - hole > reach)
		abort();
	if (hole + bytes > near->start && hole + bytes - near->start > reach)
		abort();
	for (uint64_t at = hole - 65535; at < hole + bytes + 65535; at += 4096) {
		if (procmaps_find(maps, at))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	if (procmaps_parse((const char *)data, size, &maps) < 0)
		return 0;
	for (size_t i = 0; i < maps.count; i++) {
		check_map(&maps, i);
		check_hole(&maps, &maps.map[i]);
	}
	return 0;
}
