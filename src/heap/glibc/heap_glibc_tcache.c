/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_tcache.c - the caches of threads: which blocks are in them, and they themselves.
 *
 * The struct of a tcache is a block of the heap. A thread has a pointer to it in its static TLS,
 * close to the one to its arena; that is how the first is found, without symbols. All others
 * have it at the same distance from their thread pointer. A tcache that no thread has (a
 * forked child inherits those of threads that it has not, an ending thread has let go of its
 * own) is told by its content: all its lists lead to chunks of the right size.
 * A count may be one off, when its thread is about to change it: the list decides.
 */
#include "src/heap/glibc/heap_glibc_cached.h"

#include <errno.h>
#include <string.h>

#define TLS_BYTES	(64u << 10)	/* searched below the thread pointer */
#define OF_THREAD	1u		/* slack of a count of a tcache that a thread has */
#define SMALL_LISTS	64u		/* of chunks of one size each */
#define BROKEN_MOST	2u		/* lists of what still looks like a tcache */
#define NEAR_WORDS	8u		/* thread_arena and tcache are at most that far apart */

static uint64_t tcache_count(const struct glibc_tcache_layout *layout, const uint8_t *bytes,
			     unsigned int bin)
{
	uint16_t wide;

	if (layout->count_bytes == 1)
		return bytes[bin];
	memcpy(&wide, bytes + 2 * (size_t)bin, sizeof(wide));
	return wide;
}

static uint64_t tcache_entry(const struct glibc_tcache_layout *layout, const uint8_t *bytes,
			     unsigned int bin)
{
	uint64_t entry;

	memcpy(&entry, bytes + layout->entries + 8 * (size_t)bin, sizeof(entry));
	return entry;
}

/* How many lists of what may be a tcache are not empty; -1: it is none. */
static int tcache_used(const struct glibc_tcache_layout *layout, const uint8_t *bytes)
{
	int used = 0;

	for (unsigned int i = 0; i < layout->bins; i++) {
		uint64_t entry = tcache_entry(layout, bytes, i);

		if (entry % 16 != 0 || (entry != 0 && entry < GLIBC_PAGE))
			return -1;
		used += entry != 0;
	}
	return used;
}

/* Does it look like a tcache, some lists of which were written over? */
static bool is_broken_tcache(const struct glibc_tcache_layout *layout, const uint8_t *bytes)
{
	unsigned int broken = 0, used = 0;

	for (unsigned int i = 0; i < layout->bins; i++) {
		uint64_t entry = tcache_entry(layout, bytes, i);

		broken += entry % 16 != 0 || (entry != 0 && entry < GLIBC_PAGE) || entry >> 47;
		used += entry != 0;
	}
	return used > 0 && broken <= BROKEN_MOST;
}

bool glibc_maybe_tcache(const struct glibc *glibc, uint64_t size, const uint64_t *words)
{
	const struct glibc_tcache_layout *layout = glibc_tcache_layout(glibc->versions, size);

	return layout && tcache_used(layout, (const uint8_t *)words) > 0;
}

/* Blocks in a list that can't be followed are not known. The last lists have no one size. */
static void doubt_list(struct glibc *glibc, unsigned int list)
{
	(void)glibc_fail(glibc, -EAGAIN, "the tcache of a thread is inconsistent");
	(void)glibc_bear(glibc, -EAGAIN);
	glibc_doubt(glibc, list < SMALL_LISTS ? GLIBC_MINSIZE + 16ull * list : UINT64_MAX);
}

/* Every list of the tcache in bytes; a count may differ by slack from its list. */
static int tcache_lists(struct glibc *glibc, const struct glibc_tcache_layout *layout,
			const uint8_t *bytes, uint64_t slack)
{
	for (unsigned int i = 0; i < layout->bins; i++) {
		uint64_t count = tcache_count(layout, bytes, i);
		const struct glibc_list list = { glibc_tcache_fits, i, GLIBC_HEADER,
						 UINT16_MAX, 0 };
		int64_t n = glibc_follow(glibc, &list, tcache_entry(layout, bytes, i));

		if (n >= 0 && !layout->remaining &&
		    ((uint64_t)n > count + 1 || count > (uint64_t)n + slack))
			n = -EAGAIN;
		if (n == -EAGAIN && glibc->salvage && slack == OF_THREAD)
			doubt_list(glibc, i);
		else if (n < 0)
			return (int)n;
	}
	return 0;
}

static int note_tcache(struct glibc *glibc, const struct glibc_tcache *tcache)
{
	if (glibc->tcache_count == glibc->tcache_room) {
		size_t room = glibc->tcache_room ? glibc->tcache_room * 2 : 16;
		struct glibc_tcache *grown = reallocarray(glibc->tcache, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		glibc->tcache = grown;
		glibc->tcache_room = room;
	}
	glibc->tcache[glibc->tcache_count++] = *tcache;
	return 0;
}

/* The chunk as a tcache: 0 and all it holds pushed; -EAGAIN, and nothing is. */
static int read_tcache(struct glibc *glibc, uint64_t chunk, uint64_t slack)
{
	uint64_t words[GLIBC_TCACHE_MAX / 8], size = glibc_chunk_size(glibc, chunk);
	const struct glibc_tcache_layout *layout;
	size_t before = glibc->cached_count;
	int r;

	glibc->followed_bytes = 0;
	layout = glibc_tcache_layout(glibc->versions, size);
	if (!layout || !heap_pages_read(&glibc->pages, chunk + GLIBC_HEADER, words,
					 layout->entries + 8ull * layout->bins))
		return -EAGAIN;
	r = tcache_lists(glibc, layout, (const uint8_t *)words, slack);
	if (r == 0)
		r = note_tcache(glibc, &(struct glibc_tcache){
			chunk, { glibc->cached_count - before, glibc->followed_bytes, 0 } });
	if (r == 0)
		r = glibc_cached_push(glibc, chunk | GLIBC_CACHED_TCACHE);
	if (r == -EAGAIN && slack == OF_THREAD)
		glibc->tcache_broken |= is_broken_tcache(layout, (const uint8_t *)words);
	if (r == -EAGAIN)
		glibc->cached_count = before;
	else if (r == 0)
		glibc_versions_narrow(&glibc->versions, layout->versions);
	return r;
}

/*
 * The pointer to an arena is words[at]: that to a tcache must be near. The number of words that
 * it stands before the thread pointer, behind the last of words; 0: there is none.
 */
static int search_near(struct glibc *glibc, const uint64_t *words, size_t count, size_t at)
{
	size_t last = count - at > NEAR_WORDS ? at + NEAR_WORDS : count - 1;

	for (size_t i = at < NEAR_WORDS ? 0 : at - NEAR_WORDS; i <= last; i++) {
		int r = -EAGAIN;

		if (words[i] % 16 == 0 && words[i] >= GLIBC_PAGE && words[i] >> 47 == 0)
			r = read_tcache(glibc, words[i] - GLIBC_HEADER, OF_THREAD);
		if (r != -EAGAIN)
			return r ? r : (int)(count - i);
	}
	return 0;
}

/* Searches the TLS of one thread, from the thread pointer down; returns as search_near. */
static int search_tls(struct glibc *glibc, uint64_t pointer, uint64_t *words)
{
	const struct procmap *map = procmaps_find(&glibc->picture->maps, pointer - 8);
	size_t bytes = TLS_BYTES;

	if (!map || pointer % 8 != 0)
		return 0;
	if (pointer - map->start < bytes)
		bytes = (size_t)(pointer - map->start);
	if (picture_read(glibc->picture, pointer - bytes, words, bytes) < 0)
		return 0;
	for (size_t i = bytes / 8; i-- > 0;) {
		int r = 0;

		if (glibc_is_arena(glibc, words[i]))
			r = search_near(glibc, words, bytes / 8, i);
		if (r > 0)
			glibc->arena_words = (int)(bytes / 8 - i);
		if (r)
			return r;
	}
	return 0;
}

/*
 * The thread's pointer, now that it is known where threads have it: NULL for none, or since 2.42
 * a dummy in libc itself. Anything else must be a tcache.
 */
static int read_known(struct glibc *glibc, uint64_t pointer, int words_before)
{
	uint64_t word = picture_word(glibc->picture, pointer - 8 * (uint64_t)words_before);
	int r = -EAGAIN;

	if (word == 0 || (word >= glibc->code_low && word < glibc->code_high))
		return 0;
	if (word % 16 == 0 && word >= GLIBC_PAGE)
		r = read_tcache(glibc, word - GLIBC_HEADER, OF_THREAD);
	return r == -EAGAIN ? glibc_fail(glibc, r, "the tcache of a thread is inconsistent") : r;
}

/* Workers of the kernel have the thread pointer of who made them. */
static bool seen_before(const struct picture *picture, size_t index)
{
	uint64_t pointer = picture->thread[index].registers.fs_base;

	for (size_t i = 0; i < index; i++) {
		if (picture->thread[i].registers.fs_base == pointer)
			return true;
	}
	return false;
}

int glibc_read_tcaches(struct glibc *glibc)
{
	_cleanup_free_ uint64_t *words = malloc(TLS_BYTES);
	const struct picture *picture = glibc->picture;
	size_t first = 0;
	int where = words ? 0 : -ENOMEM, r = 0;

	for (; first < picture->thread_count && where == 0; first++)
		where = search_tls(glibc, picture->thread[first].registers.fs_base, words);
	if (where < 0)
		return where;
	/* Else what is cached there would pass for live. */
	if (where == 0 && glibc->tcache_broken)
		return glibc_fail(glibc, -EAGAIN, "the tcache of a thread is inconsistent");
	glibc->tcache_words = where;
	/* Those before it have none: the search would have found it. */
	for (size_t i = first; i < picture->thread_count && r == 0; i++) {
		if (!seen_before(picture, i))
			r = read_known(glibc, picture->thread[i].registers.fs_base, where);
	}
	return r ? r : glibc_cached_sort(glibc);
}

int glibc_read_orphans(struct glibc *glibc, const struct glibc_orphans *orphans)
{
	size_t before = glibc->cached_count;
	int r;

	for (size_t i = 0; i < orphans->count; i++) {
		r = read_tcache(glibc, orphans->chunk[i], UINT16_MAX);
		if (r < 0 && r != -EAGAIN)
			return r;
	}
	if (glibc->cached_count == before)
		return 0;
	r = glibc_cached_sort(glibc);
	return r ? r : 1;
}
