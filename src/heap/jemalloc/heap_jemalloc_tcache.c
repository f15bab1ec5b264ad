/* SPDX-License-Identifier: MIT */
/*
 * heap_jemalloc_tcache.c - the caches of threads: which blocks are in them, and they themselves.
 *
 * A thread has its cache in its thread-local storage: two structs that point at each
 * other (tcache_t, tcache_slow_t), which is how the first is found, without symbols; all others
 * have theirs at the same distance from their thread pointers. For each class it
 * has a stack of pointers to free blocks, all of them one after the other in one large block,
 * between two words that jemalloc puts there as marks. What is below a stack's head
 * are pointers of old, mostly to blocks that are alive: the whole block is no root.
 * Caches made by hand (mallctl "tcache.create") have their structs in that block, too. One
 * that no thread has (a forked child inherits those of threads that it has not) may hold
 * anything: what it points to counts as reachable.
 */
#include "src/heap/jemalloc/heap_jemalloc.h"

#include <errno.h>

#include "src/leak/roots/thread_data.h"

#define TLS_BYTES	(256u << 10)	/* searched below the thread pointer */
#define MARK_BEFORE	0x7a7a7a7a7a7a7a7aull
#define MARK_BEHIND	0xa7a7a7a7a7a7a7a7ull
#define BINS		73u
#define MAX_STACKS_BYTES (BINS * 65536u)
#define SMALLEST_BLOCK	16384u

/* Offsets in tcache_slow_t. */
#define SLOW_ARENA	40u
#define SLOW_BLOCK	160u
#define SLOW_CACHE	168u

/* cache_bin_t. The last three are the low halves of places in its stack. */
struct bin {
	uint64_t head;		/* the first pointer that counts */
	uint64_t requests;
	uint16_t low_water, full, empty, unused;
};
/* tcache_t. */
struct cache {
	uint64_t slow;
	struct bin bin[BINS];
};

static int push(struct jemalloc *jemalloc, uint64_t cached)
{
	size_t room = jemalloc->cached_room ? jemalloc->cached_room * 2 : 1024;
	uint64_t *grown;

	if (jemalloc->cached_count == JEMALLOC_MAX_CACHED)
		return jemalloc_fail(jemalloc, -ENOTSUP, "too many cached blocks");
	if (jemalloc->cached_count == jemalloc->cached_room) {
		grown = reallocarray(jemalloc->cached, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		jemalloc->cached = grown;
		jemalloc->cached_room = room;
	}
	jemalloc->cached[jemalloc->cached_count++] = cached;
	return 0;
}

static int push_stack(struct jemalloc *jemalloc, uint64_t address, bool orphan)
{
	size_t room = jemalloc->stack_room ? jemalloc->stack_room * 2 : 64;
	struct jemalloc_stack *grown;

	if (jemalloc->stack_count == JEMALLOC_MAX_STACKS)
		return jemalloc_fail(jemalloc, -ENOTSUP, "too many caches");
	if (jemalloc->stack_count == jemalloc->stack_room) {
		grown = reallocarray(jemalloc->stack, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		jemalloc->stack = grown;
		jemalloc->stack_room = room;
	}
	jemalloc->stack[jemalloc->stack_count++] = (struct jemalloc_stack){ address, orphan };
	return 0;
}

/* --- one cache ---------------------------------------------------------------- */

static int push_range(struct jemalloc *jemalloc, uint64_t low, uint64_t high, uint32_t class)
{
	int r = 0;

	for (; low < high && r == 0; low += 8) {
		uint64_t pointer = jemalloc_word(jemalloc, low);

		if (pointer == 0 || pointer >= JEMALLOC_TOP)
			return jemalloc_fail(jemalloc, -EAGAIN, "a cache holds no block");
		r = push(jemalloc, jemalloc_cached(pointer, class));
	}
	return r;
}

/* A stack that begins at low; *ret_end: where the next one does. */
static int take_bin(struct jemalloc *jemalloc, const struct bin *bin, uint64_t low,
		    uint32_t class, uint64_t *ret_end)
{
	uint64_t end = low + (uint16_t)(bin->empty - low);
	uint64_t full = low + (uint16_t)(bin->full - low);
	int r;

	if (end == low || end % 8 || full % 8 || bin->head % 8 || bin->head < full ||
	    bin->head > end)
		return jemalloc_fail(jemalloc, -EAGAIN, "a cache is inconsistent");
	*ret_end = end;
	/* Blocks that wait to be checked for use after free, if that is on, stand first. */
	r = push_range(jemalloc, low, full, class);
	return r ? r : push_range(jemalloc, bin->head, end, class);
}

/* All stacks of the cache at address, which begin in block. */
static int take_bins(struct jemalloc *jemalloc, uint64_t address, uint64_t block)
{
	uint64_t at = block + 8;
	struct cache cache;
	uint32_t i = 0;

	if (!jemalloc_read(jemalloc, address, &cache, sizeof(cache)) ||
	    jemalloc_word(jemalloc, block) != MARK_BEFORE)
		return jemalloc_fail(jemalloc, -EAGAIN, "a cache is not where it should be");
	for (; i < BINS && jemalloc_word(jemalloc, at) != MARK_BEHIND; i++) {
		int r = take_bin(jemalloc, &cache.bin[i], at, i, &at);

		if (r < 0)
			return r;
	}
	if (i == 0 || jemalloc_word(jemalloc, at) != MARK_BEHIND ||
	    (jemalloc->stack_bytes && jemalloc->stack_bytes != at + 8 - block))
		return jemalloc_fail(jemalloc, -EAGAIN, "caches differ in size");
	jemalloc->stack_bytes = at + 8 - block;
	return push_stack(jemalloc, block, false);
}

/* --- those of threads --------------------------------------------------------- */

/* Is there a cache at address, in use? *ret_block: where its stacks are. */
static bool is_cache(struct jemalloc *jemalloc, uint64_t address, uint64_t slow,
		     uint64_t *ret_block)
{
	*ret_block = jemalloc_word(jemalloc, slow + SLOW_BLOCK);
	return slow % 8 == 0 && slow >= JEMALLOC_PAGE && slow < JEMALLOC_TOP &&
	       jemalloc_word(jemalloc, slow + SLOW_CACHE) == address &&
	       jemalloc_word(jemalloc, slow + SLOW_ARENA) != 0 && *ret_block &&
	       *ret_block % JEMALLOC_PAGE == 0 && *ret_block < JEMALLOC_TOP;
}

/* How far below the thread pointer there is a cache; 0: none is found. */
static uint64_t search_tls(struct jemalloc *jemalloc, uint64_t pointer, uint64_t *words)
{
	const struct procmap *map = procmaps_find(&jemalloc->picture->maps, pointer - 8);
	uint64_t bytes = TLS_BYTES, block;

	if (!map || pointer % 8)
		return 0;
	if (pointer - map->start < bytes)
		bytes = pointer - map->start;
	if (picture_read(jemalloc->picture, pointer - bytes, words, (size_t)bytes) < 0)
		return 0;
	for (uint64_t i = 0; i < bytes / 8; i++) {
		uint64_t address = pointer - bytes + 8 * i;

		/* The two are not far from each other. */
		if (words[i] > pointer - bytes && words[i] < pointer &&
		    is_cache(jemalloc, address, words[i], &block) &&
		    jemalloc_word(jemalloc, block) == MARK_BEFORE)
			return bytes - 8 * i;
	}
	return 0;
}

/* A cache that was given back has no arena any more. */
static bool get_cache(struct jemalloc *jemalloc, uint64_t pointer, uint64_t *ret_address,
		      uint64_t *ret_slow)
{
	*ret_address = pointer - jemalloc->cache_below;
	*ret_slow = jemalloc->cache_below ? jemalloc_word(jemalloc, *ret_address) : 0;
	return *ret_slow && jemalloc_word(jemalloc, *ret_slow + SLOW_ARENA);
}

bool jemalloc_has_cache(struct jemalloc *jemalloc, uint64_t pointer)
{
	uint64_t address, slow;

	return get_cache(jemalloc, pointer, &address, &slow);
}

static int take_thread(struct jemalloc *jemalloc, uint64_t pointer)
{
	uint64_t address, slow, block;

	if (!get_cache(jemalloc, pointer, &address, &slow))
		return 0;
	if (!is_cache(jemalloc, address, slow, &block))
		return jemalloc_fail(jemalloc, -EAGAIN, "the cache of a thread is inconsistent");
	return take_bins(jemalloc, address, block);
}

/* Workers of the kernel have the thread pointer of who made them. */
static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int take_threads(struct jemalloc *jemalloc, const uint64_t *pointer, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		if (i == 0 || pointer[i] != pointer[i - 1])
			r = take_thread(jemalloc, pointer[i]);
	return r;
}

/* In a forked child, libc keeps the stacks of threads that it has not, and the caches on them. */
static int take_ended(struct jemalloc *jemalloc, const uint64_t *pointer, size_t count)
{
	_cleanup_free_ struct thread_ended *ended = NULL;
	size_t ended_count = 0;
	int r = thread_data_ended(jemalloc->picture, pointer, count, &ended, &ended_count);

	for (size_t i = 0; i < ended_count && r == 0; i++) {
		size_t before = jemalloc->cached_count;

		r = take_thread(jemalloc, ended[i].data.tcb);
		if (r == -EAGAIN) {	/* it was given back, and is something else now */
			jemalloc->cached_count = before;
			r = 0;
		}
	}
	return r;
}

static int take_all_threads(struct jemalloc *jemalloc)
{
	const struct picture *picture = jemalloc->picture;
	_cleanup_free_ uint64_t *pointer = calloc(picture->thread_count + 1, sizeof(*pointer));
	int r;

	if (!pointer)
		return -ENOMEM;
	for (size_t i = 0; i < picture->thread_count; i++)
		pointer[i] = picture->thread[i].registers.fs_base;
	qsort(pointer, picture->thread_count, sizeof(*pointer), by_value);
	r = take_threads(jemalloc, pointer, picture->thread_count);
	return r ? r : take_ended(jemalloc, pointer, picture->thread_count);
}

int jemalloc_read_caches(struct jemalloc *jemalloc)
{
	_cleanup_free_ uint64_t *words = malloc(TLS_BYTES);
	const struct picture *picture = jemalloc->picture;
	int r;

	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < picture->thread_count && !jemalloc->cache_below; i++)
		jemalloc->cache_below = search_tls(jemalloc, picture->thread[i].registers.fs_base,
						   words);
	r = jemalloc->cache_below ? take_all_threads(jemalloc) : 0;
	return r ? r : jemalloc_caches_sort(jemalloc);
}

/* --- those of nobody ---------------------------------------------------------- */

/* Bytes from the mark before its stacks to the end of the mark behind them; 0: there is none. */
static uint64_t marked_bytes(struct jemalloc *jemalloc, const struct jemalloc_extent *extent)
{
	uint64_t most = extent->bytes < MAX_STACKS_BYTES ? extent->bytes : MAX_STACKS_BYTES;

	if (jemalloc_word(jemalloc, extent->address) != MARK_BEFORE)
		return 0;
	for (uint64_t at = 8; at + 8 <= most; at += 8)
		if (jemalloc_word(jemalloc, extent->address + at) == MARK_BEHIND)
			return at + 8;
	return 0;
}

/* The structs of one that was made by hand stand behind the stacks. */
static int take_made(struct jemalloc *jemalloc, uint64_t block, uint64_t bytes)
{
	const uint64_t address = block + bytes, slow = address + sizeof(struct cache);
	uint64_t found;

	if (jemalloc_word(jemalloc, address) != slow)
		return jemalloc->cache_below ? push_stack(jemalloc, block, true) :
		       jemalloc_fail(jemalloc, -EAGAIN, "there is a cache, and no thread has one");
	if (!is_cache(jemalloc, address, slow, &found) || found != block)
		return jemalloc_fail(jemalloc, -EAGAIN, "a cache made by hand is inconsistent");
	return take_bins(jemalloc, address, block);
}

int jemalloc_try_cache(struct jemalloc *jemalloc, const struct jemalloc_extent *extent)
{
	uint64_t bytes;
	int r;

	if (extent->arena != 0 || extent->address % JEMALLOC_PAGE ||
	    extent->bytes < SMALLEST_BLOCK || extent->bytes > 2 * MAX_STACKS_BYTES)
		return 0;
	bytes = marked_bytes(jemalloc, extent);
	if (!bytes || jemalloc_stack_at(jemalloc, extent->address))
		return 0;
	r = take_made(jemalloc, extent->address, bytes);
	return r ? r : 1;
}

/* --- all ---------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct jemalloc_stack *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

int jemalloc_caches_sort(struct jemalloc *jemalloc)
{
	if (jemalloc->stack_count)
		qsort(jemalloc->stack, jemalloc->stack_count, sizeof(*jemalloc->stack),
		      by_address);
	jemalloc->stack_sorted = jemalloc->stack_count;
	if (jemalloc->cached_count)
		qsort(jemalloc->cached, jemalloc->cached_count, sizeof(*jemalloc->cached),
		      by_value);
	for (size_t i = 1; i < jemalloc->cached_count; i++)
		if (jemalloc->cached[i] >> 8 == jemalloc->cached[i - 1] >> 8)
			return jemalloc_fail(jemalloc, -EAGAIN, "a block is cached twice");
	return 0;
}

const struct jemalloc_stack *jemalloc_stack_at(const struct jemalloc *jemalloc, uint64_t address)
{
	const struct jemalloc_stack wanted = { .address = address };

	return jemalloc->stack_sorted ?
	       bsearch(&wanted, jemalloc->stack, jemalloc->stack_sorted, sizeof(wanted),
		       by_address) : NULL;
}
