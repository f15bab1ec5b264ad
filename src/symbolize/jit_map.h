/* SPDX-License-Identifier: MIT */
/*
 * jit_map.h - names of code that was compiled at run time.
 *
 * Node, Java agents, .NET and others write /tmp/perf-PID.map for perf: lines
 * "START SIZE name", start and size in hex.
 */
#ifndef MEMATTACH_JIT_MAP_H
#define MEMATTACH_JIT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

struct jit_symbol {
	uint64_t low, high;	/* addresses in the target */
	const char *name;	/* owned by the map */
};

struct jit_map;
/*
 * Reads the file from its start by pread, its holes left out: text of most bytes, and as much again
 * for what is found in it (256 MiB of text at the most). Broken lines are left out. 0, -ENOMEM,
 * -errno.
 */
int jit_map_read(int fd, uint64_t most, struct jit_map **ret) _must_check_;
/* text need not end with a NUL. */
int jit_map_parse(const char *text, size_t bytes, struct jit_map **ret) _must_check_;
void jit_map_free(struct jit_map *map);
/* The code that holds address, the one written last if several do; NULL: none. */
const struct jit_symbol *jit_map_find(const struct jit_map *map, uint64_t address);

#endif
