/* SPDX-License-Identifier: MIT */
/*
 * text_pages.c - see text_pages.h. Files are opened and read while no thread of the target stands
 * for us; when one does, to drop a copy, the page's hash is all that is asked for once more.
 */
#include "inject/attach/text_pages.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "inject/attach/mapped_file.h"
#include "inject/tracee/remote_mem.h"
#include "src/base/hashmap.h"

#define PAGE 4096ull
#define WORDS (PAGE / 8)

/* The mapping that was looked at last, and its file: most patches are in one or two. */
struct source {
	const struct procmaps *maps;
	const struct procmap *map;
	int fd;
};

static void source_done(struct source *source)
{
	cleanup_fd(&source->fd);
}

static uint64_t page_of(const struct ring_patch *patch)
{
	return patch->address & ~(PAGE - 1);
}

static uint64_t hash_of(const uint64_t *words)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < WORDS; i++)
		hash = hashmap_hash(hash ^ words[i]) + i;
	return hash;
}

int text_page_note(const struct target *target, uint64_t address, struct ring_patch *patch)
{
	uint64_t live[WORDS];
	int file, error = remote_read(target, address & ~(PAGE - 1), live, sizeof(live));

	if (error)
		return error;
	file = remote_page_is_file(target, address); /* then what was read was the file's */
	if (file < 0)
		return file;
	memcpy(&patch->original, (const uint8_t *)live + address % PAGE, sizeof(patch->original));
	patch->page_is_file = file ? RING_PAGE_FILE : RING_PAGE_COPY;
	patch->page_hash = hash_of(live);
	return 0;
}

static void source_find(const struct target *target, struct source *source, uint64_t page)
{
	const struct procmap *map = procmaps_find(source->maps, page);

	if (map && map == source->map)
		return;
	cleanup_fd(&source->fd);
	source->map = map;
	source->fd = map && map->inode ? mapped_file_open(target, map->start, map->end) : -ENOENT;
}

/* What is beyond the end of the file reads as zeroes, as far as its last page goes. */
static int read_file(const struct source *source, uint64_t page, uint64_t *words)
{
	const struct procmap *map = source->map;
	ssize_t got;

	memset(words, 0, PAGE);
	got = pread(source->fd, words, PAGE, (off_t)(page - map->start + map->offset));
	return got < 0 ? -errno : got > 0;
}

/* Was the file not opened for want of something that may be had a moment later? */
static bool is_want(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EINTR ||
	       error == -EIO;
}

/* 1, 0, -errno. hash: what was noted of the page; set anew where the file has been read. */
static int is_file(const struct target *target, struct source *source, uint64_t page,
		   uint64_t *hash)
{
	uint64_t live[WORDS], file[WORDS];
	int error, got;

	source_find(target, source, page);
	if (!source->map || !source->map->inode || (source->map->prot & PROCMAP_W))
		return 0;
	error = remote_read(target, page, live, sizeof(live));
	if (error)	/* none if the file was cut; else it is only refused just now */
		return source->fd >= 0 && read_file(source, page, file) == 0 ? 0 : error;
	if (source->fd < 0)
		return is_want(source->fd) ? source->fd : hash_of(live) == *hash;
	got = read_file(source, page, file);
	if (got <= 0 || memcmp(live, file, sizeof(live)) != 0)
		return got < 0 ? got : 0;
	*hash = hash_of(live);
	return 1;
}

/* Sets what is known of page in all its patches; those of a library that was closed have none. */
static void set_page(struct ring_journal *j, uint64_t page, uint32_t is, uint64_t hash)
{
	for (uint32_t i = 0; i < j->patch_count; i++)
		if (page_of(&j->patch[i]) == page && j->patch[i].page_is_file != RING_PAGE_COPY) {
			j->patch[i].page_is_file = is;
			j->patch[i].page_hash = hash;
		}
}

/* The first patch of page that has something to say about it; NULL. */
static const struct ring_patch *first_of(const struct ring_journal *j, uint64_t page)
{
	for (uint32_t i = 0; i < j->patch_count; i++)
		if (page_of(&j->patch[i]) == page && j->patch[i].page_is_file != RING_PAGE_COPY)
			return &j->patch[i];
	return NULL;
}

int text_pages_judge(const struct target *target, const struct procmaps *maps,
		     struct ring_journal *j)
{
	_cleanup_(source_done) struct source source = { .maps = maps, .fd = -1 };

	for (uint32_t i = 0; i < j->patch_count; i++) {
		uint64_t page = page_of(&j->patch[i]), hash = j->patch[i].page_hash;
		int same;

		if (first_of(j, page) != &j->patch[i])
			continue;
		same = is_file(target, &source, page, &hash);
		if (same < 0)
			return same;
		set_page(j, page, same ? RING_PAGE_FILE : RING_PAGE_OWN, hash);
	}
	return 0;
}

int text_page_confirm(const struct target *target, struct ring_journal *j, uint64_t page)
{
	const struct ring_patch *first = first_of(j, page);
	uint64_t live[WORDS];
	int error;

	if (!first || first->page_is_file != RING_PAGE_FILE)
		return 0;
	error = remote_read(target, page, live, sizeof(live));
	if (error)
		return error;
	if (hash_of(live) == first->page_hash)
		return 1;
	set_page(j, page, RING_PAGE_OWN, first->page_hash);
	return 0;
}

/* Does page hold a copy of what its file holds there? */
static bool is_left(const struct target *target, const struct ring_patch *p)
{
	uint64_t live[WORDS];

	return p->page_is_file == RING_PAGE_FILE &&
	       remote_page_is_file(target, p->address) == 0 &&
	       remote_read(target, page_of(p), live, sizeof(live)) == 0 &&
	       hash_of(live) == p->page_hash;
}

unsigned int text_pages_left(const struct target *target, const struct ring_journal *j)
{
	unsigned int count = 0;

	for (uint32_t i = 0; i < j->patch_count; i++)
		if (first_of(j, page_of(&j->patch[i])) == &j->patch[i])
			count += is_left(target, &j->patch[i]);
	return count;
}
