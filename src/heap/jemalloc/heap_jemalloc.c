/* SPDX-License-Identifier: MIT */
/*
 * heap_jemalloc.c - all live blocks of jemalloc, read from outside: heap_walk_jemalloc.
 *
 * The page map knows every extent: pages with a large block, a slab of small ones
 * (with a bitmap of those that are free), or free ones. It is walked three times: to survey (where
 * jemalloc keeps its own structures, which large blocks are caches), to check (every
 * cached block is a block in use of the right class), and to hand on. Nothing is
 * remembered between them but ranges: a heap has millions of extents.
 * A picture in which a thread is in the midst of a change is refused before that (see
 * heap_jemalloc_threads.c): no sum that jemalloc keeps would tell.
 */
#include "src/heap/jemalloc/heap_jemalloc.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define MAP_BEFORE	120u		/* of the struct that holds the map */

int jemalloc_fail(struct jemalloc *jemalloc, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(jemalloc->why, sizeof(jemalloc->why), format, args);
	va_end(args);
	return error;
}

bool jemalloc_read(struct jemalloc *jemalloc, uint64_t address, void *buffer, size_t bytes)
{
	return address < JEMALLOC_TOP && heap_pages_read(&jemalloc->pages, address, buffer, bytes);
}

uint64_t jemalloc_word(struct jemalloc *jemalloc, uint64_t address)
{
	uint64_t word;

	return jemalloc_read(jemalloc, address, &word, sizeof(word)) ? word : 0;
}

int jemalloc_extend(struct ranges *ranges, uint64_t low, uint64_t high)
{
	struct range *last = ranges->count ? &ranges->range[ranges->count - 1] : NULL;

	if (!last || last->high != low)
		return ranges_add(ranges, low, high);
	last->high = high;
	return 0;
}

static int jemalloc_init(struct jemalloc *jemalloc)
{
	jemalloc->words = calloc(JEMALLOC_WORDS, sizeof(*jemalloc->words));
	return jemalloc->words ? heap_pages_init(&jemalloc->pages, jemalloc->picture) : -ENOMEM;
}

static void jemalloc_done(struct jemalloc *jemalloc)
{
	free(jemalloc->leaf);
	free(jemalloc->stack);
	free(jemalloc->cached);
	free(jemalloc->words);
	ranges_done(&jemalloc->base);
	ranges_done(&jemalloc->free);
	ranges_done(&jemalloc->slabs_of_8);
	ranges_done(&jemalloc->used);
	heap_pages_done(&jemalloc->pages);
}

/* --- to survey ---------------------------------------------------------------- */

static int survey_extent(void *context, const struct jemalloc_extent *extent)
{
	struct jemalloc *jemalloc = context;
	struct ranges *to = !extent->used ? &jemalloc->free :
			    extent->slab && extent->class == 0 ? &jemalloc->slabs_of_8 :
								 &jemalloc->used;
	int r = jemalloc_take_base(jemalloc, extent->record, extent->arena);

	jemalloc->arenas[extent->arena / 64] |= 1ull << extent->arena % 64;
	if (r == 0 && extent->used && !extent->slab) {
		r = jemalloc_stack_at(jemalloc, extent->address) ? 1 :
		    jemalloc_try_cache(jemalloc, extent);
		if (r > 0)	/* the block of a cache is none of the program's */
			return 0;
	}
	return r ? r : jemalloc_extend(to, extent->low, extent->high);
}

static bool are_mapped(const struct procmaps *maps, const struct ranges *ranges)
{
	for (size_t i = 0; i < ranges->count; i++) {
		uint64_t at = ranges->range[i].low;

		while (at < ranges->range[i].high) {
			const struct procmap *map = procmaps_find(maps, at);

			if (!map)
				return false;
			at = map->end;
		}
	}
	return true;
}

static int survey(struct jemalloc *jemalloc)
{
	const struct procmaps *maps = &jemalloc->picture->maps;
	size_t before = jemalloc->stack_count;
	int r = jemalloc_each_extent(jemalloc, survey_extent, jemalloc);

	if (r == 0 && (!are_mapped(maps, &jemalloc->used) ||
		       !are_mapped(maps, &jemalloc->slabs_of_8)))
		return jemalloc_fail(jemalloc, -EAGAIN, "blocks are where no memory is");
	return r == 0 && jemalloc->stack_count > before ? jemalloc_caches_sort(jemalloc) : r;
}

/* --- to check, and to hand on ------------------------------------------------- */

struct jemalloc_walk {
	struct jemalloc *jemalloc;
	struct heap *heap;		/* NULL: only check */
	struct jemalloc_sums sums;
	size_t cached;			/* those before it were met */
};

static int take_block(struct jemalloc_walk *walk, uint64_t address, uint64_t bytes,
		      uint32_t class)
{
	const struct jemalloc *jemalloc = walk->jemalloc;

	if (walk->cached < jemalloc->cached_count &&
	    jemalloc->cached[walk->cached] == jemalloc_cached(address, class)) {
		walk->cached++;
		walk->sums.free_count++;
		walk->sums.free_bytes += bytes;
		return 0;
	}
	walk->sums.live_count++;
	walk->sums.live_bytes += bytes;
	return walk->heap ? blocks_add(walk->heap->blocks, address, bytes) : 0;
}

static int take_slab(struct jemalloc_walk *walk, const struct jemalloc_extent *extent)
{
	const uint64_t bytes = jemalloc_class_bytes(extent->class);
	uint32_t count = walk->jemalloc->bin[extent->class].regions;
	int r = 0;

	walk->sums.free_count += extent->free_regions;
	walk->sums.free_bytes += extent->free_regions * bytes;
	for (uint32_t i = 0; i < count && r == 0; i++)
		if (!(extent->group[i / 64] >> i % 64 & 1))
			r = take_block(walk, extent->low + i * bytes, bytes, extent->class);
	return r;
}

static int own_stack(struct jemalloc_walk *walk, const struct jemalloc_extent *extent,
		     const struct jemalloc_stack *stack)
{
	if (!walk->heap || stack->orphan)
		return 0;
	return ranges_add(&walk->heap->own, extent->low, extent->high);
}

static int take_extent(void *context, const struct jemalloc_extent *extent)
{
	struct jemalloc_walk *walk = context;
	const struct jemalloc_stack *stack;

	if (!extent->used)
		return 0;
	if (extent->slab)
		return take_slab(walk, extent);
	stack = jemalloc_stack_at(walk->jemalloc, extent->address);
	return stack ? own_stack(walk, extent, stack) :
		       take_block(walk, extent->address, extent->bytes, extent->class);
}

static int walk_all(struct jemalloc_walk *walk)
{
	struct jemalloc *jemalloc = walk->jemalloc;
	int r = jemalloc_each_extent(jemalloc, take_extent, walk);

	/* They are sorted: one that was not met stops all that follow. */
	if (r == 0 && walk->cached != jemalloc->cached_count)
		r = jemalloc_fail(jemalloc, -EAGAIN, "a cached block is no block");
	return r;
}

/* --- all of it ---------------------------------------------------------------- */

/* Everything but the last walk: 1 when the heap agrees with itself, 0 there is none. */
static int check(struct jemalloc *jemalloc, struct jemalloc_sums *ret)
{
	struct jemalloc_walk walk = { .jemalloc = jemalloc };
	int r = jemalloc_init(jemalloc);

	if (r == 0)
		r = jemalloc_find_module(jemalloc);
	if (r <= 0)
		return r;
	r = jemalloc_find_map(jemalloc);
	if (r == 0)
		r = jemalloc_read_caches(jemalloc);
	if (r == 0 || r == -EAGAIN) {
		int threads = jemalloc_look_at_threads(jemalloc);

		r = threads ? threads : r;
	}
	if (r == 0)
		r = survey(jemalloc);
	if (r == 0)
		r = walk_all(&walk);
	*ret = walk.sums;
	return r ? r : 1;
}

static uint64_t sum_ranges(const struct ranges *ranges)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ranges->count; i++)
		sum += ranges->range[i].high - ranges->range[i].low;
	return sum;
}

static int join(struct ranges *all, const struct ranges *more)
{
	int r = 0;

	for (size_t i = 0; i < more->count && r == 0; i++)
		r = ranges_add(all, more->range[i].low, more->range[i].high);
	return r;
}

/* In another's heap it can't be added, and is forged: 1 if there is nothing of the kind. */
static int check_apart(const struct jemalloc *jemalloc, struct heap *heap)
{
	_cleanup_(ranges_done) struct ranges all = { 0, 0, NULL };
	const struct ranges *others = blocks_segments(heap->blocks);
	uint64_t sum;
	int r = others ? join(&all, others) : -ENOMEM;

	if (r == 0)
		r = join(&all, &jemalloc->used);
	if (r == 0)
		r = join(&all, &jemalloc->slabs_of_8);
	if (r < 0)
		return r;
	sum = sum_ranges(&all);
	ranges_normalize(&all);
	return sum == sum_ranges(&all);
}

static int add_segments(struct heap *heap, const struct ranges *ranges, unsigned int granule)
{
	int r = 0;

	for (size_t i = 0; i < ranges->count && r == 0; i++)
		r = blocks_add_segment(heap->blocks, ranges->range[i].low, ranges->range[i].high,
				       granule);
	return r;
}

static int heap_jemalloc_add(struct jemalloc *jemalloc, struct heap *heap)
{
	struct jemalloc_walk walk = { .jemalloc = jemalloc, .heap = heap };
	int r = join(&heap->own, &jemalloc->base);

	if (r == 0)
		r = join(&heap->own, &jemalloc->free);
	if (r == 0)
		r = ranges_add(&heap->own, jemalloc->root - MAP_BEFORE,
			       jemalloc->root + jemalloc->form->root_entries * 8ull);
	if (r == 0)
		r = jemalloc_own_storage(jemalloc, &heap->own);
	if (r == 0)
		r = add_segments(heap, &jemalloc->used, 16);
	if (r == 0)
		r = add_segments(heap, &jemalloc->slabs_of_8, 8);
	return r ? r : walk_all(&walk);
}

/* What was found to be sound. 0 or -ENOMEM; that it can't be added is not to be expected. */
static int add_all(struct jemalloc *jemalloc, struct heap *heap, struct heap_result *ret)
{
	int r = check_apart(jemalloc, heap);

	if (r > 0)
		r = heap_jemalloc_add(jemalloc, heap) ?: 1;
	if (r > 0 || r == -ENOMEM)
		return r > 0 ? 0 : r;
	ret->cover = HEAP_NOT_COVERED;
	snprintf(ret->why, sizeof(ret->why), "the heap overlaps another one");
	return 0;
}

static void take_failure(const struct jemalloc *jemalloc, int error, struct heap_result *ret)
{
	bool torn = error == -EAGAIN && jemalloc->entered;

	ret->cover = torn ? HEAP_TORN : HEAP_NOT_COVERED;
	snprintf(ret->why, sizeof(ret->why), "%s%s",
		 torn ? "a thread was inside malloc: " : "", jemalloc->why);
}

static void take_sums(const struct jemalloc *jemalloc, const struct jemalloc_sums *sums,
		      struct heap_result *ret)
{
	ret->cover = HEAP_COVERED;
	ret->live_count = sums->live_count;
	ret->live_bytes = sums->live_bytes;
	ret->free_count = sums->free_count;
	ret->free_bytes = sums->free_bytes;
	for (size_t i = 0; i < ARRAY_SIZE(jemalloc->arenas); i++)
		ret->arenas += (uint64_t)__builtin_popcountll(jemalloc->arenas[i]);
}

int heap_walk_jemalloc(const struct picture *picture, const struct modules *modules,
		       struct heap *heap, struct heap_result *ret)
{
	_cleanup_free_ struct jemalloc *jemalloc = calloc(1, sizeof(*jemalloc));
	struct jemalloc_sums sums = { 0 };
	int r;

	*ret = (struct heap_result){ .allocator = "jemalloc" };
	if (!jemalloc)
		return -ENOMEM;
	jemalloc->picture = picture;
	jemalloc->modules = modules;
	r = check(jemalloc, &sums);
	memcpy(ret->version, jemalloc->version, sizeof(ret->version));
	if (r > 0) {
		take_sums(jemalloc, &sums, ret);
		r = add_all(jemalloc, heap, ret);
	} else if (r < 0 && r != -ENOMEM) {
		take_failure(jemalloc, r, ret);
		r = 0;
	}
	jemalloc_done(jemalloc);
	return r;
}
