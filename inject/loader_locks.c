/* SPDX-License-Identifier: MIT */
/*
 * loader_locks.c - locks that fork left behind.
 *
 * A child has one thread, and a copy of every lock as it was. glibc's fork
 * initialises some of the loader's locks anew in the child, but 2.36 not the
 * one that dl_iterate_phdr (every C++ throw) takes: if another thread of the parent
 * was in there, dlopen and dlclose never return in the child. No stack shows it,
 * because the owner has none there. So the loader's own data is searched for
 * what a held recursive mutex of glibc looks like on x86-64, and its owner
 * among the threads. A word that only looks like one costs us the dlopen loader,
 * nothing else.
 * The mutexes' names are not exported, so their places can't be looked up.
 */
#include "inject/loader_locks.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

#include "inject/proc_status.h"
#include "inject/remote_mem.h"

#define DATA_BYTES (256u * 1024)	/* ld.so has some 20 KiB */

/* The head of glibc's pthread_mutex_t. */
struct mutex {
	int32_t lock;
	uint32_t count;
	int32_t owner;
	uint32_t users;
	int32_t kind;
};

static bool is_held(const struct mutex *m)
{
	return m->kind == PTHREAD_MUTEX_RECURSIVE_NP && (m->lock == 1 || m->lock == 2) &&
	       m->count > 0 && m->count < 1000 && m->owner > 0 && m->users == 1;
}

/* The owner is named as the target itself names its threads. */
static bool is_thread_of(const struct target *target, pid_t owner)
{
	_cleanup_free_ pid_t *tids = NULL;
	int count = proc_list_threads(target->ref.pid, &tids);

	for (int i = 0; i < count; i++) {
		struct proc_thread_status status;

		if (proc_read_thread_status(target->ref.pid, tids[i], &status) == 0 &&
		    status.ns_pid == owner)
			return true;
	}
	return false;
}

/* True if [low, high) holds a lock without a living owner, or can't be read. */
static bool is_stuck_in(const struct target *target, uint64_t low, uint64_t high)
{
	size_t bytes = high - low < DATA_BYTES ? (size_t)(high - low) : DATA_BYTES;
	_cleanup_free_ uint64_t *data = malloc(bytes);

	if (!data || remote_read(target, low, data, bytes) != 0)
		return true;
	for (size_t at = 0; at + sizeof(struct mutex) <= bytes; at += sizeof(uint64_t)) {
		const struct mutex *m = (const void *)((const char *)data + at);

		if (is_held(m) && !is_thread_of(target, m->owner))
			return true;
	}
	return false;
}

/* Where the kernel put the dynamic loader. 0, -ENOENT there is none, -errno. */
static int find_loader(const struct target *target, uint64_t *ret)
{
	_cleanup_fd_ int fd = -1;
	Elf64_auxv_t entry[64];
	char path[64];
	ssize_t got;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/auxv", target->ref.pid,
		       proc_live_thread(target->ref.pid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, entry, sizeof(entry));
	if (got < 0)
		return -errno;
	for (size_t i = 0; i < (size_t)got / sizeof(entry[0]); i++)
		if (entry[i].a_type == AT_BASE && entry[i].a_un.a_val) {
			*ret = entry[i].a_un.a_val;
			return 0;
		}
	return -ENOENT;
}

bool loader_locks_stuck(const struct target *target)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	const struct procmap *loader;
	uint64_t base = 0, end = 0;
	int error = find_loader(target, &base);
	bool stuck = false;

	if (error)
		return error != -ENOENT;
	if (procmaps_read(target->maps, &maps) != 0)
		return true;
	loader = procmaps_find(&maps, base);
	/* its writable segment, and the anonymous rest of that */
	for (size_t i = 0; loader && !stuck && i < maps.count; i++) {
		const struct procmap *map = &maps.map[i];
		bool ours = map->inode && map->inode == loader->inode &&
			    map->dev_minor == loader->dev_minor &&
			    map->dev_major == loader->dev_major;

		if (!ours && !(map->inode == 0 && end && map->start == end))
			continue;
		end = map->end;
		if (map->prot & PROCMAP_W)
			stuck = is_stuck_in(target, map->start, map->end);
	}
	return stuck || !loader;
}
