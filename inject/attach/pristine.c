/* SPDX-License-Identifier: MIT */
/*
 * pristine.c - taking the snapshot of a target.
 *
 * Code and read-only data of a module can only differ from the file where the
 * kernel made a private copy of the page, and pagemap tells which those are. So
 * only private pages are read and hashed: that is complete, it brings in no page
 * that the target had not touched, and it takes milliseconds for the largest
 * programs. smaps was rejected: it walks all page tables of the target under
 * its lock, and counts page cache that is waiting for the disk as
 * Private_Dirty. Where pagemap can't be had, all bytes are hashed.
 * Neighbouring mappings that differ in nothing are joined first: the kernel may
 * leave one split after it was changed and changed back, which nobody can see.
 */
#include "inject/attach/pristine_data.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "inject/tracee/proc_status.h"
#include "src/base/hashmap.h"
#include "src/base/procmaps.h"

#define PAGE_BYTES 4096u
#define NEIGHBOURS 8   /* segments of one module lie next to each other */
#define ENTRIES    512 /* of pagemap, read at once */
#define MAX_LINK   4096
#define READ_TRIES 3

/* Bits of a pagemap entry (Documentation/admin-guide/mm/pagemap.rst). */
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)
#define PAGEMAP_FILE    (1ull << 61)

/* Where the facts come from: a live thread's files. */
struct source {
	pid_t pid, tid;
	int mem, pagemap; /* pagemap: -1 where the kernel has none */
	const uint64_t *left_out; /* left_out_count pages */
	size_t left_out_count;
};

static void source_close(struct source *source)
{
	cleanup_fd(&source->mem);
	cleanup_fd(&source->pagemap);
}

static int open_thread_file(const struct source *source, const char *file, int flags)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)source->pid,
		       (int)source->tid, file);
	fd = open(path, flags | O_CLOEXEC);
	return fd >= 0 ? fd : errno == ENOENT ? -ESRCH : -errno;
}

static int source_open(pid_t pid, struct source *source)
{
	source->pid = pid;
	source->tid = proc_live_thread(pid);
	if (source->tid < 0)
		return source->tid;
	source->mem = open_thread_file(source, "mem", O_RDONLY);
	if (source->mem < 0)
		return source->mem;
	return proc_open_pagemap(source->tid, &source->pagemap);
}

/* Swapped out counts: pages of files are dropped, not swapped (only moved, then FILE is set). */
static bool is_private(uint64_t entry)
{
	return (entry & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)) && !(entry & PAGEMAP_FILE);
}

/* What fails once must not look like a change of the target. */
static bool read_all(int fd, void *to, size_t bytes, uint64_t at)
{
	ssize_t got = -1;

	for (int i = 0; got < 0 && i < READ_TRIES; i++)
		got = pread(fd, to, bytes, (off_t)at);
	return got == (ssize_t)bytes;
}

/* A page that can't be read (beyond the end of its file) counts as empty. */
static uint64_t hash_page(const struct source *source, uint64_t address, uint64_t hash)
{
	uint64_t words[PAGE_BYTES / 8] = { 0 };

	if (!read_all(source->mem, words, sizeof(words), address))
		memset(words, 0, sizeof(words));
	hash = hashmap_hash(hash ^ address);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		hash = hashmap_hash(hash ^ words[i]) + i;
	return hash;
}

/* Up to ENTRIES entries from address on; all private where nothing is known. */
static void read_pagemap(const struct source *source, uint64_t address, uint64_t *entries,
			 size_t count)
{
	size_t bytes = count * sizeof(*entries);

	if (source->pagemap >= 0 &&
	    read_all(source->pagemap, entries, bytes, address / PAGE_BYTES * 8))
		return;
	for (size_t i = 0; i < count; i++)
		entries[i] = PAGEMAP_PRESENT;
}

static bool is_left_out(const struct source *source, uint64_t address)
{
	for (size_t i = 0; i < source->left_out_count; i++)
		if (source->left_out[i] == address)
			return true;
	return false;
}

static void watch_pages(const struct source *source, struct pristine_map *map)
{
	uint64_t entries[ENTRIES];

	map->watched = true;
	for (uint64_t at = map->start; at < map->end; at += ENTRIES * PAGE_BYTES) {
		uint64_t left = (map->end - at) / PAGE_BYTES;
		size_t count = left < ENTRIES ? left : ENTRIES;

		read_pagemap(source, at, entries, count);
		for (size_t i = 0; i < count; i++) {
			if (!is_private(entries[i]) || is_left_out(source, at + i * PAGE_BYTES))
				continue;
			map->private_pages++;
			map->content = hash_page(source, at + i * PAGE_BYTES, map->content);
		}
	}
}

static bool same_file(const struct pristine_map *a, const struct pristine_map *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* Code, or read-only data of a file that is also mapped as code close by: a module's. */
static bool is_module_constant(const struct pristine *p, size_t at)
{
	const struct pristine_map *map = &p->map[at];
	size_t first = at > NEIGHBOURS ? at - NEIGHBOURS : 0;

	if (map->inode == 0 || (map->prot & (PROCMAP_W | PROCMAP_SHARED)))
		return false;
	for (size_t i = first; i < p->map_count && i <= at + NEIGHBOURS; i++) {
		if ((p->map[i].prot & PROCMAP_X) && same_file(&p->map[i], map))
			return true;
	}
	return false;
}

static bool continues(const struct pristine_map *last, const struct procmap *map)
{
	return last->end == map->start && last->prot == map->prot && last->inode == map->inode &&
	       last->dev_major == map->dev_major && last->dev_minor == map->dev_minor &&
	       (map->inode == 0 || last->offset + (last->end - last->start) == map->offset) &&
	       strcmp(last->path, map->path) == 0;
}

static int add_map(struct pristine *p, const struct procmap *map)
{
	struct pristine_map *last = p->map_count > 0 ? &p->map[p->map_count - 1] : NULL;

	if (last && continues(last, map)) {
		last->end = map->end;
		return 0;
	}
	p->map[p->map_count] = (struct pristine_map){
		.start = map->start,
		.end = map->end,
		.offset = map->offset,
		.inode = map->inode,
		.dev_major = map->dev_major,
		.dev_minor = map->dev_minor,
		.prot = map->prot,
		.path = strdup(map->path),
	};
	return p->map[p->map_count++].path ? 0 : -ENOMEM;
}

static int take_maps(struct pristine *p, const struct source *source)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	_cleanup_fd_ int fd = open_thread_file(source, "maps", O_RDONLY);
	int r = fd < 0 ? fd : procmaps_read(fd, &maps);

	if (r < 0)
		return r;
	p->map = calloc(maps.count + 1, sizeof(*p->map));
	if (!p->map)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < maps.count; i++)
		r = add_map(p, &maps.map[i]);
	for (size_t i = 0; r == 0 && i < p->map_count; i++) {
		if (is_module_constant(p, i))
			watch_pages(source, &p->map[i]);
	}
	return r;
}

/* A descriptor that was closed meanwhile is simply not there. */
static int add_fd(struct pristine *p, int directory, const char *name)
{
	char link[MAX_LINK];
	ssize_t n = readlinkat(directory, name, link, sizeof(link) - 1);
	struct pristine_fd *bigger;

	if (n < 0)
		return 0;
	link[n] = '\0';
	bigger = reallocarray(p->fd, p->fd_count + 1, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	p->fd = bigger;
	p->fd[p->fd_count] = (struct pristine_fd){ atoi(name), strdup(link) };
	return p->fd[p->fd_count++].link ? 0 : -ENOMEM;
}

static int compare_fds(const void *a, const void *b)
{
	int x = ((const struct pristine_fd *)a)->number,
	    y = ((const struct pristine_fd *)b)->number;

	return (x > y) - (x < y);
}

static void cleanup_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

static int take_fds(struct pristine *p, const struct source *source)
{
	_cleanup_(cleanup_directory) DIR *directory = NULL;
	int fd = open_thread_file(source, "fd", O_RDONLY | O_DIRECTORY), r = 0;
	const struct dirent *entry;

	if (fd < 0)
		return fd;
	directory = fdopendir(fd);
	if (!directory) {
		cleanup_fd(&fd);
		return -ENOMEM;
	}
	while (r == 0 && (entry = readdir(directory))) {
		if (entry->d_name[0] != '.')
			r = add_fd(p, dirfd(directory), entry->d_name);
	}
	if (p->fd_count > 0)
		qsort(p->fd, p->fd_count, sizeof(*p->fd), compare_fds);
	return r;
}

static int take_threads(struct pristine *p, pid_t pid)
{
	_cleanup_free_ pid_t *tids = NULL;
	int n = proc_list_threads(pid, &tids);

	if (n < 0)
		return n;
	p->thread = calloc((size_t)n, sizeof(*p->thread));
	if (!p->thread)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		struct proc_thread_status status;

		if (proc_read_thread_status(pid, tids[i], &status) < 0)
			continue;
		p->thread[p->thread_count++] = (struct pristine_thread){
			tids[i],           status.tracer, status.sig_blocked, status.sig_ignored,
			status.sig_caught,
		};
	}
	return 0;
}

static int take_all(struct pristine *p, pid_t pid, const uint64_t *left_out, size_t count)
{
	_cleanup_(source_close) struct source source = { .mem = -1, .pagemap = -1,
							 .left_out = left_out,
							 .left_out_count = count };
	int r = source_open(pid, &source);

	if (r == 0)
		r = take_maps(p, &source);
	if (r == 0)
		r = take_fds(p, &source);
	if (r == 0)
		r = take_threads(p, pid);
	return r;
}

int pristine_take(const struct pidref *target, struct pristine **ret)
{
	return pristine_take_without(target, NULL, 0, ret);
}

int pristine_take_without(const struct pidref *target, const uint64_t *page, size_t count,
			  struct pristine **ret)
{
	struct pristine *p = calloc(1, sizeof(*p));
	int r = p ? take_all(p, target->pid, page, count) : -ENOMEM;

	/* Everything went by number: it counts if the number is still the target's. */
	if (r == 0 && !pidref_alive(target))
		r = -ESRCH;
	if (r < 0) {
		pristine_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void pristine_free(struct pristine *pristine)
{
	if (!pristine)
		return;
	for (size_t i = 0; i < pristine->map_count; i++)
		free(pristine->map[i].path);
	for (size_t i = 0; i < pristine->fd_count; i++)
		free(pristine->fd[i].link);
	free(pristine->map);
	free(pristine->fd);
	free(pristine->thread);
	free(pristine);
}
