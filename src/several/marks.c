/* SPDX-License-Identifier: MIT */
/*
 * marks.c - see marks.h.
 *
 * By the kernel's word, /proc/PID/maps: a process can call its own files as it likes, but none of
 * them is the inode that our session made. The ring is no mark: a forked process has no copy of it.
 */
#include "src/several/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "inject/abi/memfd_names.h"
#include "inject/attach/load.h"
#include "src/base/procmaps.h"


void marks_done(struct marks *marks)
{
	free(marks->of);
	*marks = (struct marks){ 0 };
}

static bool has(const struct marks *marks, struct mark mark)
{
	for (size_t i = 0; i < marks->count; i++)
		if (marks->of[i].inode == mark.inode && marks->of[i].device == mark.device)
			return true;
	return false;
}

/* 1, 0 it is known, -ENOMEM. */
static int insert_mark(struct marks *marks, struct mark mark)
{
	struct mark *grown;

	if (has(marks, mark))
		return 0;
	grown = reallocarray(marks->of, marks->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	marks->of = grown;
	grown[marks->count++] = mark;
	return 1;
}

static bool is_mark(const struct procmap *map)
{
	return strcmp(map->path, MEMFD_SHIM_PATH) == 0;
}

static struct mark mark_of(const struct procmap *map)
{
	return (struct mark){ .device = (uint64_t)map->dev_major << 32 | map->dev_minor,
			      .inode = map->inode };
}

/* False: it can't be read, or has ended. */
static bool read_maps(pid_t pid, struct procmaps *ret)
{
	_cleanup_fd_ int fd = -1;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && procmaps_read(fd, ret) == 0;
}

int marks_add(struct marks *marks, pid_t pid)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	int found = 0, one = 0;

	if (!read_maps(pid, &maps))
		return 0;
	for (size_t i = 0; one >= 0 && i < maps.count; i++) {
		one = is_mark(&maps.map[i]) ? insert_mark(marks, mark_of(&maps.map[i])) : 0;
		found |= one > 0;
	}
	return one < 0 ? one : found;
}

bool marks_has(const struct marks *marks, pid_t pid)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	if (marks->count == 0 || !read_maps(pid, &maps))
		return false;
	for (size_t i = 0; i < maps.count; i++)
		if (is_mark(&maps.map[i]) && has(marks, mark_of(&maps.map[i])))
			return true;
	return false;
}
