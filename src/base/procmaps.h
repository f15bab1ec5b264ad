/* SPDX-License-Identifier: MIT */
/* procmaps.h - /proc/PID/maps as a sorted array. The text is the kernel's, paths in it are not. */
#ifndef MEMATTACH_PROCMAPS_H
#define MEMATTACH_PROCMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

enum procmap_prot { PROCMAP_R = 1, PROCMAP_W = 2, PROCMAP_X = 4, PROCMAP_SHARED = 8 };

struct procmap {
	uint64_t start, end;	/* bytes, end exclusive */
	uint64_t offset;	/* in the file */
	uint64_t inode;		/* 0: anonymous */
	uint32_t dev_major, dev_minor;
	uint32_t prot;		/* enum procmap_prot */
	bool deleted;		/* path ended in " (deleted)", which was cut off */
	const char *path;	/* "" for anonymous; unescaped; owned by the procmaps */
};

struct procmaps {
	size_t count;
	struct procmap *map;	/* sorted by start */
	char *text;
};

/*
 * Reads everything from fd (an open /proc/.../maps; read by pread from 0, so it
 * can be used again). All mappings, or none: of a process that has ended, or does so meanwhile.
 * 0 or -errno (-EBADMSG: not a maps file, however often it is read; -ENOMEM).
 */
int procmaps_read(int fd, struct procmaps *ret) _must_check_;
/* Parses text of length bytes (used by tests and fuzzers). */
int procmaps_parse(const char *text, size_t length, struct procmaps *ret) _must_check_;
void procmaps_done(struct procmaps *maps);
/* The mapping that holds address, or NULL. */
const struct procmap *procmaps_find(const struct procmaps *maps, uint64_t address);
/*
 * A free range of bytes (page multiple) whose every byte lies within reach of
 * every byte of [low, high), at least 64 KiB from other mappings, never below
 * 64 KiB, not in the gigabyte under [stack] or the terabyte above [heap]. 0 if none.
 */
uint64_t procmaps_find_hole(const struct procmaps *maps, uint64_t low, uint64_t high,
			    uint64_t bytes, uint64_t reach);

#endif
