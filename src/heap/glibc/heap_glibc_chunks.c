/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_chunks.c - one stretch of chunks after another, from its first to its top or fence.
 *
 * A chunk says how long it is, its successor whether it is in use. What a free chunk says twice
 * (its size, at both ends) must agree, and the doubly linked lists of all free
 * chunks and bins are checked without following one: each link forward must have its
 * link backward, so the sums of a hash over the ones and over the others are equal. That
 * needs no memory and no read out of order, and a thread that stands in the middle of malloc
 * shows in it as a link without its counterpart. Rejected: following the lists, a random read
 * for each free chunk; believing the headers alone.
 */
#include "src/heap/glibc/heap_glibc_cached.h"
#include "src/heap/glibc/heap_glibc_figures.h"

#include <errno.h>

/* Headers with the two words behind them, as they lie in memory. */
enum { PREVIOUS_SIZE, SIZE, FD, BK, WORDS };

#define RESUME_TRIES 4096u	/* of what looks like a chunk's header above damage */
#define FENCE 16u	/* a chunk too small to be one: the end of a stretch */

struct stretch {
	const struct glibc_walk *walk;
	struct glibc *glibc;
	struct glibc_region region;
	struct glibc_arena *arena;
	uint64_t arena_bit;	/* what chunks in use must have of GLIBC_NON_MAIN */
	size_t cached;		/* index of the next one */
	uint64_t chunk, words[WORDS];	/* the last one met, not yet settled; chunk 0: none */
	uint64_t before;		/* the one below it; 0: none */
	bool ended_at_top;
};

static int torn(const struct stretch *s, const char *what, uint64_t chunk)
{
	return glibc_fail(s->glibc, -EAGAIN, "%s at %#llx", what, (unsigned long long)chunk);
}

/* For the figures, if they are wanted and this is the walk that adds. */
static int note(struct stretch *s, enum heap_part part, uint64_t chunk, uint64_t size)
{
	return s->walk->heap && s->glibc->figures
		       ? glibc_figures_note(s->glibc, s->region.arena, part, chunk, size)
		       : 0;
}

static int settle_free(struct stretch *s, uint64_t size, uint64_t next_says)
{
	struct glibc_sums *sums = &s->glibc->sums;

	if (next_says != size)
		return torn(s, "a free chunk has two sizes", s->chunk);
	s->arena->forward += glibc_link_sum(s->chunk, s->words[FD]);
	s->arena->backward += glibc_link_sum(s->words[BK], s->chunk);
	sums->free_count++;
	sums->free_bytes += size;
	return note(s, glibc_free_part(s->glibc, s->chunk, size), s->chunk, size);
}

static int settle_cached(struct stretch *s, uint64_t size)
{
	uint64_t tag = s->glibc->cached[s->cached++];

	s->glibc->sums.cached_matched++;
	if (!(tag & GLIBC_CACHED_TCACHE)) {
		s->glibc->sums.free_count++;
		s->glibc->sums.free_bytes += size;
		return note(s, tag & GLIBC_CACHED_FAST ? HEAP_FAST : HEAP_TCACHE, s->chunk, size);
	}
	if (!s->walk->heap)
		return 0;
	return ranges_add(&s->walk->heap->own, s->chunk, s->chunk + size) ?:
	       note(s, HEAP_OWN, s->chunk, size);
}

static void note_orphan(struct stretch *s, uint64_t size)
{
	struct glibc_orphans *orphans = s->walk->orphans;
	uint64_t words[GLIBC_TCACHE_MAX / 8];

	if (!orphans || orphans->count == ARRAY_SIZE(orphans->chunk) ||
	    !glibc_tcache_layout(s->glibc->versions, size) ||
	    !heap_pages_read(&s->glibc->pages, s->chunk + GLIBC_HEADER, words,
			      size - 8 < sizeof(words) ? size - 8 : sizeof(words)))
		return;
	if (glibc_maybe_tcache(s->glibc, size, words))
		orphans->chunk[orphans->count++] = s->chunk;
}

static int settle_used(struct stretch *s, uint64_t size)
{
	struct glibc *glibc = s->glibc;

	if ((s->words[SIZE] & (GLIBC_NON_MAIN | GLIBC_IS_MMAPPED)) != s->arena_bit)
		return torn(s, "a chunk of another arena stands", s->chunk);
	while (glibc->damage[0] && s->cached < glibc->cached_count &&
	       (glibc->cached[s->cached] & ~15ull) < s->chunk)
		s->cached++;
	if (s->cached < glibc->cached_count && glibc->cached[s->cached] < s->chunk)
		return torn(s, "a cached block is no chunk", glibc->cached[s->cached]);
	if (s->cached < glibc->cached_count &&
	    (glibc->cached[s->cached] & ~15ull) == s->chunk)
		return settle_cached(s, size);
	glibc->sums.live_count++;
	glibc->sums.live_bytes += size - 8;
	if (!s->walk->heap) {
		note_orphan(s, size);
		return 0;
	}
	if (glibc_is_doubtful(glibc, size) && glibc_hold(s->walk->heap, s->chunk, 0) < 0)
		return -ENOMEM;
	return blocks_add(s->walk->heap->blocks, s->chunk + GLIBC_HEADER, size - 8) ?:
	       note(s, HEAP_USED, s->chunk, size);
}

/* Now that its successor is known. */
static int settle(struct stretch *s, const uint64_t *next)
{
	uint64_t size = s->words[SIZE] & ~(uint64_t)GLIBC_SIZE_BITS;

	if (!s->chunk)
		return 0;
	return next[SIZE] & GLIBC_PREV_INUSE ? settle_used(s, size)
					     : settle_free(s, size, next[PREVIOUS_SIZE]);
}

/*
 * The end of a heap that is not its arena's last: an empty header, behind a chunk of 16 bytes, or
 * of 32 where 16 were left over; only that it does not say NON_MAIN tells it from a block.
 */
static int at_heap_end(struct stretch *s, const uint64_t *words, uint64_t at)
{
	uint64_t last = s->words[SIZE] & ~(uint64_t)GLIBC_SIZE_BITS;

	if (at != s->region.high - 16 || words[SIZE] != GLIBC_PREV_INUSE)
		return torn(s, "a chunk without a size stands", at);
	if (s->chunk && last == GLIBC_MINSIZE && !(s->words[SIZE] & GLIBC_NON_MAIN))
		s->chunk = 0;
	return settle(s, words);
}

/*
 * Where the main arena's stretch ends whose fence begins at address; 0: it is none. A fence is
 * two headers of 16 bytes, or three, where 16 bytes were left over before the page's end.
 */
static uint64_t fence_end(struct heap_window *window, uint64_t address)
{
	const uint64_t fence = FENCE | GLIBC_PREV_INUSE;
	const uint64_t *words = heap_window_words(window, address + FENCE, 16);
	uint64_t end = address + 2 * FENCE;

	if (!words || words[SIZE] != fence)
		return 0;
	if (end % GLIBC_PAGE != GLIBC_PAGE - FENCE)
		return end;
	words = heap_window_words(window, end, 16);
	return words && words[SIZE] == fence ? end + FENCE : end;
}

/* A chunk of 16 bytes: returns 1 at the end of the stretch. */
static int at_fence(struct stretch *s, const uint64_t *words, uint64_t at)
{
	int r = settle(s, words);

	s->chunk = 0;
	if (r)
		return r;
	if (s->region.arena == 0) {
		s->region.high = fence_end(&s->glibc->window, at);
		return s->region.high ? 1 : torn(s, "a fence is missing", at);
	}
	words = heap_window_words(&s->glibc->window, at + FENCE, 16);
	if (!words)
		return torn(s, "a heap can't be read", at);
	return at_heap_end(s, words, at + FENCE) ?: 1;
}

static int at_top(struct stretch *s, const uint64_t *words, uint64_t at)
{
	if (at + s->arena->top_bytes != s->region.high)
		return torn(s, "a top chunk does not end its heap", at);
	s->arena->top_seen = true;
	s->ended_at_top = true;
	return settle(s, words) ?: note(s, HEAP_TOP, at, s->arena->top_bytes) ?: 1;
}

/* One chunk; 1: that was the end. */
static int step(struct stretch *s, const uint64_t *words, uint64_t at)
{
	uint64_t size = words[SIZE] & ~(uint64_t)GLIBC_SIZE_BITS;
	int r;

	if (s->region.cut && at == s->region.high)
		return settle(s, words) ?: 1;
	if (at == s->region.top)
		return at_top(s, words, at);
	if (size == FENCE)
		return at_fence(s, words, at);
	if (size == 0 && s->region.arena != 0)
		return at_heap_end(s, words, at) ?: 1;
	if (size < GLIBC_MINSIZE || size % 16 != 0 ||
	    size > s->region.high - at - (s->region.cut ? 0 : 16))
		return torn(s, "a chunk has no plausible size", at);
	r = settle(s, words);
	if (r < 0)
		return r;
	s->before = s->chunk;
	s->chunk = at;
	for (unsigned int i = 0; i < WORDS; i++)
		s->words[i] = words[i];
	return r;
}

static int walk_chunks(struct stretch *s)
{
	struct glibc *glibc = s->glibc;
	uint64_t at = s->region.low;

	/* The header behind what was cut off is still whole. */
	uint64_t high = s->region.high + (s->region.cut ? 16 : 0);

	heap_window_begin(&glibc->window, at, high);
	for (;;) {
		size_t bytes = high - at < 32 ? 16 : 32;
		const uint64_t *words = at < high
						? heap_window_words(&glibc->window, at, bytes)
						: NULL;
		uint64_t next;
		int r;

		if (!words)
			return torn(s, "a heap can't be read", at);
		if (++glibc->sums.chunks > GLIBC_MAX_CHUNKS)
			return glibc_fail(glibc, -ENOTSUP, "more chunks than are believed");
		next = at + (words[SIZE] & ~(uint64_t)GLIBC_SIZE_BITS);
		r = step(s, words, at);
		at = next;
		if (r)
			return r < 0 ? r : 0;
	}
}

/*
 * The main arena's stretch ended at a fence, and top lies further up: somebody else called
 * sbrk. His memory may be any number of bytes; the next stretch begins with a chunk from
 * which others lead to the top or to a fence.
 */
static int search_after_fence(struct glibc *glibc, uint64_t low, uint64_t limit)
{
	struct glibc_region next;
	const uint64_t *words;

	heap_window_begin(&glibc->window, low, limit);
	for (uint64_t at = low; at + GLIBC_MINSIZE <= limit && glibc->probe_budget > 0; at += 16) {
		glibc->probe_budget--;
		words = heap_window_words(&glibc->window, at, 16);
		if (!words)
			return 0;
		if ((words[SIZE] & 15) == GLIBC_PREV_INUSE && words[SIZE] >= GLIBC_MINSIZE &&
		    words[SIZE] - 1 <= limit - at && glibc_probe_region(glibc, at, limit, &next))
			return glibc_add_region(glibc, &next);
	}
	return 0;
}

/* After a walk: the stretch may be shorter than thought, and another may follow it. */
static int take_end(struct glibc *glibc, size_t index, const struct stretch *s)
{
	struct glibc_region *region = &glibc->region[index];

	if (region->arena != 0 || s->ended_at_top || region->cut)
		return 0;
	region->high = region->own_high = s->region.high;
	region->top = 0;
	return s->walk->search && region->high < glibc->brk_limit
		       ? search_after_fence(glibc, region->high, glibc->brk_limit)
		       : 0;
}

static int add_region(struct heap *heap, const struct glibc_region *region)
{
	/* A block reaches into the header behind it. */
	uint64_t high = region->high + (region->cut ? FENCE : 0);
	int r = blocks_add_segment(heap->blocks, region->low, high, 16);

	if (r == 0 && region->own_low && region->own_low < region->low)
		r = ranges_add(&heap->own, region->own_low, region->low);
	if (r == 0 && region->own_high > region->high)
		r = ranges_add(&heap->own, region->high, region->own_high);
	return r;
}

/* --- damage -------------------------------------------------------------------------- */

/* Do chunks follow one another from low to the region's end? *ret_second: where the second is. */
static bool leads_to_end(struct glibc *glibc, const struct glibc_region *region, uint64_t low,
			 uint64_t *ret_second)
{
	uint64_t at = low, size;

	heap_window_begin(&glibc->probe, low, region->high);
	for (; glibc->probe_budget > 0; glibc->probe_budget--, at += size) {
		const uint64_t *words = at < region->high ?
			heap_window_words(&glibc->probe, at, 16) : NULL;

		size = words ? words[SIZE] & ~(uint64_t)GLIBC_SIZE_BITS : 0;
		if (words && region->top && at == region->top)
			return at > low;
		if (words && !region->top && size <= FENCE && at >= region->high - 3 * FENCE)
			return at > low;
		if (!words || size < GLIBC_MINSIZE || size % 16 != 0 ||
		    size > region->high - at - 16 || words[SIZE] & GLIBC_IS_MMAPPED ||
		    (region->arena == 0 && words[SIZE] & GLIBC_NON_MAIN))
			return false;
		if (at == low)
			*ret_second = low + size;
	}
	return false;
}

/*
 * The first chunk above damage from which others lead to the end, and the one behind it: what
 * looks like a header in the midst of a block may lead to a true one. 0: there is none.
 */
static uint64_t resume_at(struct glibc *glibc, const struct glibc_region *region, uint64_t from)
{
	unsigned int tries = RESUME_TRIES;
	uint64_t second = 0;

	heap_window_begin(&glibc->window, from, region->high);
	for (uint64_t at = from; at < region->high - FENCE && tries > 0; at += 16) {
		const uint64_t *words = heap_window_words(&glibc->window, at, 16);
		uint64_t size = words ? words[SIZE] & ~(uint64_t)GLIBC_SIZE_BITS : 0;

		if (!words)
			return 0;
		if (size < GLIBC_MINSIZE || size % 16 != 0 || size > region->high - at - 16)
			continue;
		tries--;
		if (leads_to_end(glibc, region, at, &second))
			return second;
	}
	return 0;
}

/*
 * The region ends below the damage: without the last two chunks, since what one of them says of the
 * other may be wrong. What lies above it becomes a region of its own.
 */
static int cut_region(struct glibc *glibc, size_t index, const struct stretch *s)
{
	struct glibc_region rest = glibc->region[index], *region = &glibc->region[index];
	uint64_t low = s->before ? s->before : s->chunk ? s->chunk : region->low;
	uint64_t from = (s->chunk ? s->chunk : region->low) + 16, next;

	/* The end of a stretch that is in pieces is not known. */
	if (rest.arena == 0 && !rest.top)
		rest.high = rest.low;
	next = rest.high > from ? resume_at(glibc, &rest, from) : 0;
	glibc->arena[region->arena].damaged = true;
	glibc->damaged_bytes += (next ? next : region->high) - low;
	region->high = region->own_high = low;
	region->top = 0;
	region->cut = true;
	rest.low = next;
	rest.own_low = 0;
	return next ? glibc_add_region(glibc, &rest) : 0;
}

static int walk_region(const struct glibc_walk *walk, size_t index)
{
	struct glibc *glibc = walk->glibc;
	struct stretch s = { .walk = walk, .glibc = glibc, .region = glibc->region[index] };
	int r;

	if (s.region.low >= s.region.high)	/* all of it was cut off */
		return 0;
	r = walk->heap ? add_region(walk->heap, &s.region) : 0;
	s.arena = &glibc->arena[s.region.arena];
	s.arena_bit = s.region.arena == 0 ? 0 : GLIBC_NON_MAIN;
	s.cached = glibc_cached_from(glibc, s.region.low);
	r = r ? r : walk_chunks(&s);
	if (!walk->heap && glibc_bear(glibc, r))
		return cut_region(glibc, index, &s);
	return r ? r : take_end(glibc, index, &s);
}

void glibc_walk_begin(struct glibc *glibc)
{
	glibc->sums = (struct glibc_sums){ 0 };
	for (size_t i = 0; i < glibc->arena_count; i++) {
		glibc->arena[i].forward = glibc->arena[i].bins_forward;
		glibc->arena[i].backward = glibc->arena[i].bins_backward;
		glibc->arena[i].top_seen = glibc->arena[i].system_mem == 0;
	}
}

int glibc_walk_regions(const struct glibc_walk *walk, size_t first)
{
	int r = 0;

	for (size_t i = first; i < walk->glibc->region_count && r == 0; i++)
		r = walk_region(walk, i);
	return r;
}

int glibc_walk_check(struct glibc *glibc)
{
	for (size_t i = 0; i < glibc->arena_count; i++) {
		if (glibc->arena[i].damaged)
			continue;
		if (glibc->arena[i].forward != glibc->arena[i].backward)
			return glibc_fail(glibc, -EAGAIN, "a list of free chunks is broken");
		if (!glibc->arena[i].top_seen)
			return glibc_fail(glibc, -EAGAIN, "an arena's top chunk was not met");
	}
	return 0;
}

int glibc_probe_region(struct glibc *glibc, uint64_t low, uint64_t limit,
		       struct glibc_region *ret)
{
	uint64_t top = glibc->arena[0].top, at = low, size;
	const uint64_t *words;

	heap_window_begin(&glibc->probe, low, limit);
	for (; glibc->probe_budget > 0; glibc->probe_budget--, at += size) {
		words = at < limit ? heap_window_words(&glibc->probe, at, 16) : NULL;
		if (!words)
			return 0;
		size = words[SIZE] & ~(uint64_t)GLIBC_SIZE_BITS;
		if (at == top || (size == FENCE && at > low))
			break;
		if (size < GLIBC_MINSIZE || size % 16 != 0 || size > limit - at - 16 ||
		    words[SIZE] & (GLIBC_IS_MMAPPED | GLIBC_NON_MAIN))
			return 0;
	}
	if (glibc->probe_budget == 0)
		return 0;
	*ret = (struct glibc_region){ .low = low, .top = at == top ? top : 0 };
	ret->high = ret->top ? top + glibc->arena[0].top_bytes : fence_end(&glibc->probe, at);
	ret->own_high = ret->high;
	return ret->high != 0;
}
