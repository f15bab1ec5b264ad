/* SPDX-License-Identifier: MIT */
/*
 * adopt.c - taking over what a dead keeper left in a target.
 *
 * The journal lies in the target's memory, so the target could have forged it.
 * Only mappings that the kernel itself names as our memfds are unmapped, and only
 * words whose original is what the mapped file holds are written.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/abi/memfd_names.h"
#include "inject/attach/inject.h"
#include "inject/attach/island_jumps.h"
#include "inject/attach/journal.h"
#include "inject/attach/load_seen.h"
#include "inject/attach/orphan.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/remote_mem.h"
#include "src/base/spare_pages.h"

#define PAGE 4096ull

static bool named(const struct procmap *map, const char *path)
{
	return strcmp(map->path, path) == 0;
}

/* Not its guards. */
static const struct procmap *find_named(const struct procmaps *maps, const char *path)
{
	for (size_t i = 0; i < maps->count; i++)
		if (named(&maps->map[i], path) && (maps->map[i].prot & PROCMAP_R))
			return &maps->map[i];
	return NULL;
}

/* A keeper that ended before it had more there than the guards of a ring. */
static void adopt_guards(struct attachment *a, const struct procmaps *maps)
{
	for (size_t i = 0; i < maps->count && !a->ring_base; i++) {
		const struct procmap *map = &maps->map[i];

		if (!named(map, MEMFD_RING_PATH) || map->prot & PROCMAP_R ||
		    map->end - map->start <= 2 * PAGE)
			continue;
		a->ring_base = map->start + PAGE;
		a->geometry.total_bytes = map->end - map->start - 2 * PAGE;
	}
}

static bool owner_lives(const struct ring_journal *j)
{
	struct pidref owner = PIDREF_NONE;
	bool lives;

	if ((pid_t)j->owner_pid == getpid() || pidref_open((pid_t)j->owner_pid, &owner) != 0)
		return false;
	lives = pidref_alive(&owner) && owner.start_time == j->owner_start_time;
	pidref_done(&owner);
	return lives;
}

/* A private copy of the control block; zeroes when the ring was never mapped. */
static int read_control(struct inject *in, const struct procmap *ring)
{
	struct attachment *a = &in->at;
	void *copy = mmap(NULL, RING_CONTROL_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error = 0;

	if (copy == MAP_FAILED)
		return -errno;
	a->control = copy;
	a->control_bytes = RING_CONTROL_BYTES;
	if (!ring)
		return 0;
	error = remote_read(&a->target, ring->start, copy, RING_CONTROL_BYTES);
	if (!error && (a->control->magic != RING_MAGIC || a->control->version != RING_VERSION))
		error = -EBADMSG;
	if (!error)
		error = journal_check(&a->target, &a->control->journal);
	a->journal = a->control->journal;
	if (!error && owner_lives(&a->journal))
		error = -EALREADY;
	a->ring_base = ring->start;
	a->geometry.total_bytes = ring->end - ring->start;
	return error;
}

/* Islands that the journal names and the kernel confirms. */
static void adopt_islands(struct attachment *a, const struct procmaps *maps)
{
	const struct ring_journal *j = &a->journal;

	for (uint32_t i = 0; i < j->island_count; i++) {
		const struct procmap *map = procmaps_find(maps, j->island[i].address);

		if (map && island_confirmed(map, &j->island[i]))
			a->island[a->island_count++] = j->island[i];
	}
}

static void adopt_shim(struct attachment *a, const struct procmaps *maps)
{
	const struct ring_journal *j = &a->journal;

	a->loader = j->loader == LOADER_DLOPEN ? LOADER_DLOPEN : LOADER_MAP;
	a->dl_handle = j->dl_handle;
	for (size_t i = 0; i < maps->count && !a->shim_base; i++)
		if (named(&maps->map[i], MEMFD_SHIM_PATH) && maps->map[i].offset == 0)
			a->shim_base = maps->map[i].start;
	/* only the loader's own word makes it a library that can be closed */
	a->half = a->loader == LOADER_DLOPEN && !a->dl_handle && load_is_half(a, maps);
}

unsigned int adopt_descriptors(struct attachment *a)
{
	pid_t tid = proc_live_thread(a->target.ref.pid);
	unsigned int count = 0;
	struct dirent *entry;
	char path[64];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", a->target.ref.pid, tid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && count < ARRAY_SIZE(a->remote_fd)) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && remote_memfd_is_ours(a->target.ref.pid, tid, fd) > 0)
			a->remote_fd[count++] = fd;
	}
	if (dir)
		(void)closedir(dir);
	return count;
}

static int explain(struct inject *in, const struct procmap *ring, int error)
{
	const char *what = "it was forked from a process that memattach was in, and a file that "
			   "it maps can't be read to compare it with; try as root, or restart it "
			   "to be rid of the hooks, which do nothing";

	if (error == -EALREADY)
		what = "its memattach still runs; end that one";
	else if (ring)
		what = "its journal makes no sense; restart it to be rid of the hooks, which do "
		       "nothing";
	else if (error == -ETXTBSY)
		what = "its code was moved to memory of no file while memattach was in the process "
		       "that forked it; end that memattach, where it still runs, else restart "
		       "this one to be rid of the hooks, which do nothing";
	else if (error == -EBADMSG)
		what = "it was forked from a process that another version of memattach was in; "
		       "use that version, or restart it";
	(void)snprintf(in->problem, sizeof(in->problem), "process %d: %s", in->at.target.ref.pid,
		       what);
	return error;
}

int inject_adopt(struct inject *in, const struct hook_plan *plan)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	struct attachment *a = &in->at;
	const struct procmap *ring;
	unsigned int descriptors;
	int error = inject_enter(in, INJECT_LOCK);

	if (!error)
		error = procmaps_read(a->target.maps, &maps);
	if (error)
		return error;
	spare_copy(&a->plan, plan, sizeof(a->plan));
	ring = find_named(&maps, MEMFD_RING_PATH);
	descriptors = adopt_descriptors(a);
	if (!ring)
		adopt_guards(a, &maps);
	if (!ring && !a->ring_base && !find_named(&maps, MEMFD_SHIM_PATH) && !descriptors) {
		(void)snprintf(in->problem, sizeof(in->problem),
			       "nothing of memattach is in process %d", a->target.ref.pid);
		return -ENOENT;
	}
	error = read_control(in, ring);
	if (!error && !ring)	/* what fork copies has no ring, and so no journal */
		error = orphan_rebuild(a, &maps);
	if (error)
		return explain(in, ring, error);
	adopt_shim(a, &maps);
	adopt_islands(a, &maps);
	/*
	 * Without a patch no thread can ever have been led into the shim, says a journal. Where
	 * there is none, all jumps may have been taken back before.
	 */
	in->done = a->journal.patch_count || !ring ? INJECT_STEPS : INJECT_LOAD + 1;
	return 0;
}
