/* SPDX-License-Identifier: MIT */
/*
 * module_pages.c - see module_pages.h.
 *
 * The file belongs to the target's user, who may truncate or rewrite it while we read. A mapping of
 * it was rejected for both: a page past a new end is a SIGBUS, and bytes that change between check
 * and use turn checked call frame information into unchecked. So they are copied with pread into
 * anonymous memory, each piece once, which can be written only while a piece of it is.
 */
#include "src/modules/module_pages.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "src/base/log.h"
#include "src/modules/image_room.h"

#define FIRST_BYTES	4096u		/* the headers are taken, too */
#define PIECE_BYTES	(8u << 10)	/* an entry of call frame information has its neighbours */

struct module_pages {
	int fd;
	const struct module_segment *segment;
	uint32_t segment_count;
	uint8_t *copy;
	size_t bytes;
	struct image_room *room;
	uint64_t taken;			/* of it */
	bool have[];			/* by piece; read without the lock */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- a child may be made while another thread reads ---- */

static void take_lock(void)
{
	(void)pthread_mutex_lock(&lock);
}

static void release_lock(void)
{
	(void)pthread_mutex_unlock(&lock);
}

static void prepare_forks(void)
{
	(void)pthread_atfork(take_lock, release_lock, release_lock);
}

/* ---- one copy ---- */

int module_pages_new(int fd, const struct module_segment *segment, uint32_t segment_count,
		     size_t bytes, struct image_room *room, struct module_pages **ret)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t pieces = bytes / PIECE_BYTES + 1;
	struct module_pages *pages = calloc(1, sizeof(*pages) + pieces);
	void *copy = mmap(NULL, bytes, PROT_READ,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (!pages || copy == MAP_FAILED) {
		free(pages);
		if (copy != MAP_FAILED)
			(void)munmap(copy, bytes);
		return -ENOMEM;
	}
	(void)pthread_once(&once, prepare_forks);
	*pages = (struct module_pages){ .fd = fd, .segment = segment,
					.segment_count = segment_count, .copy = copy,
					.bytes = bytes, .room = room };
	*ret = pages;
	return 0;
}

void module_pages_free(struct module_pages *pages)
{
	if (!pages)
		return;
	(void)munmap(pages->copy, pages->bytes);
	image_room_give(pages->room, pages->taken);
	free(pages);
}

const uint8_t *module_pages_start(const struct module_pages *pages)
{
	return pages->copy;
}

/* ---- a piece of it ---- */

/* As much of [low, high) as there is. */
static void read_some(const struct module_pages *pages, size_t low, size_t high)
{
	while (low < high) {
		ssize_t n = pread(pages->fd, pages->copy + low, high - low, (off_t)low);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		low += (size_t)n;
	}
}

/* What [low, high) has of [from, to). */
static void read_within(const struct module_pages *pages, size_t low, size_t high, size_t from,
			size_t to)
{
	read_some(pages, low > from ? low : from, high < to ? high : to);
}

/* False: no room is left, now. */
static bool take_room(struct module_pages *pages, uint64_t bytes)
{
	if (image_room_take(pages->room, bytes)) {
		pages->taken += bytes;
		return true;
	}
	if (!pages->room->said)
		log_warning("copies of the target's code take what --max-memory leaves for them; "
			    "stacks may end there");
	pages->room->said = true;
	return false;
}

/* The pieces first to last. False: they are not to be had now, and read as zeros. */
static bool read_pieces(struct module_pages *pages, size_t first, size_t last)
{
	size_t low = first * PIECE_BYTES, end = (last + 1) * PIECE_BYTES;
	size_t high = pages->bytes < end ? pages->bytes : end;

	if (!take_room(pages, high - low))
		return false;
	if (mprotect(pages->copy + low, high - low, PROT_READ | PROT_WRITE) < 0)
		return true;		/* out of memory: zeros, for ever */
	read_within(pages, low, high, 0, FIRST_BYTES);
	for (uint32_t i = 0; i < pages->segment_count; i++) {
		const struct module_segment *segment = &pages->segment[i];

		read_within(pages, low, high, segment->offset,
			    segment->offset + segment->file_bytes);
	}
	(void)mprotect(pages->copy + low, high - low, PROT_READ);
	return true;
}

/* From first on as many as are not there, to last at the most. False: there is no room for them. */
static bool read_missing(struct module_pages *pages, size_t first, size_t last)
{
	size_t end = first;
	bool had = true;

	take_lock();
	while (end <= last && !pages->have[end])
		end++;
	if (end > first)
		had = read_pieces(pages, first, end - 1);
	for (size_t i = first; had && i < end; i++)
		__atomic_store_n(&pages->have[i], true, __ATOMIC_RELEASE);
	release_lock();
	return had;
}

void module_pages_have(struct module_pages *pages, size_t offset, size_t bytes)
{
	size_t last;

	if (offset >= pages->bytes || bytes == 0)
		return;
	bytes = bytes < pages->bytes - offset ? bytes : pages->bytes - offset;
	last = (offset + bytes - 1) / PIECE_BYTES;
	for (size_t i = offset / PIECE_BYTES; i <= last; i++)
		if (!__atomic_load_n(&pages->have[i], __ATOMIC_ACQUIRE) &&
		    !read_missing(pages, i, last))
			return;
}
