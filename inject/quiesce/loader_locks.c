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
#include "inject/quiesce/loader_locks.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

#include "inject/tracee/proc_status.h"
#include "inject/tracee/remote_mem.h"

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

/* The owner is named as the target itself names its threads. 1, 0, -errno: that can't be told. */
static int is_thread_of(const struct target *target, pid_t owner)
{
	_cleanup_free_ pid_t *tids = NULL;
	int count = proc_list_threads(target->ref.pid, &tids);

	for (int i = 0; i < count; i++) {
		struct proc_thread_status status;
		int error = proc_read_thread_status(target->ref.pid, tids[i], &status);

		if (error && error != -ESRCH && error != -ENOENT)
			return error;
		if (!error && status.ns_pid == owner)
			return 1;
	}
	return count < 0 ? count : 0;
}

/* Does the owner of the held mutex m, which lies at address, live no more? 1, 0, -errno. */
static int is_left_behind(const struct target *target, uint64_t address, const struct mutex *m)
{
	struct mutex now;
	int error, lives = is_thread_of(target, m->owner);

	if (lives)
		return lives < 0 ? lives : 0;
	/* A thread that gave it back and ended meanwhile has left nothing behind. */
	error = remote_read(target, address, &now, sizeof(now));
	if (error)
		return error;
	return is_held(&now) && now.owner == m->owner;
}

/* Does [low, high) hold a lock without a living owner? 1, 0, -errno. */
static int is_stuck_in(const struct target *target, uint64_t low, uint64_t high)
{
	size_t bytes = high - low < DATA_BYTES ? (size_t)(high - low) : DATA_BYTES;
	_cleanup_free_ uint64_t *data = malloc(bytes);
	int stuck = data ? remote_read(target, low, data, bytes) : -ENOMEM;

	for (size_t at = 0; !stuck && at + sizeof(struct mutex) <= bytes; at += sizeof(uint64_t)) {
		const struct mutex *m = (const void *)((const char *)data + at);

		if (is_held(m))
			stuck = is_left_behind(target, low + at, m);
	}
	return stuck;
}

/* Where the kernel put the dynamic loader; *ret 0: there is none. 0 or -errno. */
static int find_loader(const struct target *target, uint64_t *ret)
{
	_cleanup_fd_ int fd = -1;
	Elf64_auxv_t entry[64];
	char path[64];
	ssize_t got;

	*ret = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/auxv", target->ref.pid,
		       proc_live_thread(target->ref.pid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, entry, sizeof(entry));
	if (got < 0)
		return -errno;
	for (size_t i = 0; i < (size_t)got / sizeof(entry[0]); i++)
		if (entry[i].a_type == AT_BASE)
			*ret = entry[i].a_un.a_val;
	return got > 0 ? 0 : -ESRCH;	/* it has no memory any more */
}

int loader_locks_stuck(const struct target *target)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	const struct procmap *loader;
	uint64_t base = 0, end = 0;
	int stuck = find_loader(target, &base);

	if (stuck || base == 0)
		return stuck;
	stuck = procmaps_read(target->maps, &maps);
	if (stuck)
		return stuck;
	loader = procmaps_find(&maps, base);
	if (!loader)
		return -EIO;
	/* its writable segment, and the anonymous rest of that */
	for (size_t i = 0; !stuck && i < maps.count; i++) {
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
	return stuck;
}
