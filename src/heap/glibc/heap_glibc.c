/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc.c - all live blocks of glibc's malloc, read from outside: heap_walk_glibc.
 *
 * First everything is walked and checked against what the allocator knows of itself: the size
 * of each arena, the lists of free chunks, the cached blocks, the number and size of
 * mapped blocks. Only then it is walked again and handed on, so that a picture in which a thread
 * stands in the middle of malloc adds nothing. That costs a second read; remembering
 * the blocks would cost a quarter of a heap of small ones. A lock that is held proves
 * nothing: under load there always is one, and mostly the arena is whole all the same.
 * Chunk sizes, links and totals come from the target: wherever they lead, steps are counted.
 */
#include "src/heap/glibc/heap_glibc_cached.h"
#include "src/heap/glibc/heap_glibc_figures.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define PROBE_BUDGET	(16u << 20)
#define BANNER_BYTES	(16u << 20)	/* searched for the version */

int glibc_fail(struct glibc *glibc, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(glibc->why, sizeof(glibc->why), format, args);
	va_end(args);
	return error;
}

bool glibc_bear(struct glibc *glibc, int error)
{
	if (error != -EAGAIN || !glibc->salvage)
		return false;
	if (!glibc->damage[0])
		memcpy(glibc->damage, glibc->why, sizeof(glibc->damage));
	return true;
}

void glibc_doubt(struct glibc *glibc, uint64_t size)
{
	if (size < glibc->doubt_low)
		glibc->doubt_low = size;
	if (size > glibc->doubt_high)
		glibc->doubt_high = size;
}

static int glibc_init(struct glibc *glibc)
{
	int r = heap_window_init(&glibc->window, glibc->picture);

	if (r == 0)
		r = heap_window_init(&glibc->probe, glibc->picture);
	if (r == 0)
		r = heap_pages_init(&glibc->pages, glibc->picture);
	glibc->probe_budget = PROBE_BUDGET;
	glibc->doubt_low = UINT64_MAX;
	return r;
}

static void glibc_done(struct glibc *glibc)
{
	free(glibc->arena);
	free(glibc->ring);
	free(glibc->region);
	free(glibc->mapped);
	free(glibc->cached);
	free(glibc->tcache);
	glibc_figures_free(glibc->figures);
	ranges_done(&glibc->claimed);
	heap_window_done(&glibc->window);
	heap_window_done(&glibc->probe);
	heap_pages_done(&glibc->pages);
}

/* Cached blocks may have mappings of their own, too (2.42, with a raised tcache_max). */
static void sum_mapped(struct glibc *glibc)
{
	struct glibc_sums *sums = &glibc->sums;

	for (size_t i = 0; i < glibc->mapped_count; i++) {
		const struct glibc_mapped *m = &glibc->mapped[i];

		if (glibc_is_cached(glibc, m->chunk)) {
			sums->cached_matched++;
			sums->free_count++;
			sums->free_bytes += m->end - m->chunk;
		} else {
			sums->live_count++;
			sums->live_bytes += m->bytes;
		}
	}
}

/* One walk over everything. first: the regions are not all known yet, nor the mapped blocks. */
static int check_walk(struct glibc *glibc, struct glibc_orphans *orphans, bool first)
{
	const struct glibc_walk walk = { .glibc = glibc, .orphans = orphans, .search = first };
	size_t walked = 0;
	int r;

	glibc_walk_begin(glibc);
	do {
		r = glibc_walk_regions(&walk, walked);
		walked = glibc->region_count;
		if (r == 0 && first)
			r = glibc_search_mapped(glibc);
		first = false;
	} while (r == 0 && walked < glibc->region_count);
	if (r < 0)
		return r;
	sum_mapped(glibc);
	r = glibc_walk_check(glibc);
	if (r == 0 && glibc->sums.cached_matched != glibc->cached_count && !glibc->damage[0])
		r = glibc_fail(glibc, -EAGAIN, "a cached block is no chunk");
	return glibc_bear(glibc, r) ? 0 : r;
}

/* Everything but the last walk: 0 when the heap agrees with itself. */
static int glibc_check(struct glibc *glibc)
{
	_cleanup_free_ struct glibc_orphans *orphans = calloc(1, sizeof(*orphans));
	int r = orphans ? glibc_init(glibc) : -ENOMEM;

	if (r == 0)
		r = glibc_read_arenas(glibc);
	if (r == 0)
		r = glibc_find_par(glibc);
	if (r == 0)
		r = glibc_read_regions(glibc);
	if (r == 0)
		r = glibc_read_cached(glibc);
	if (r == 0)
		r = check_walk(glibc, orphans, true);
	if (r == 0 && glibc_in_limbo(glibc))
		r = glibc_fail(glibc, -EAGAIN, "a thread is emptying a fastbin");
	if (r == 0 && glibc_in_realloc(glibc))
		r = glibc_fail(glibc, -EAGAIN, "a thread is changing the size of a block");
	if (r == 0)
		r = glibc_read_orphans(glibc, orphans);
	/* Their blocks passed for live ones. */
	return r <= 0 ? r : check_walk(glibc, NULL, false);
}

static int add_mapped(struct glibc *glibc, struct heap *heap, const struct glibc_mapped *m)
{
	int r = blocks_add_segment(heap->blocks, m->chunk, m->end, 16);

	if (r == 0 && m->chunk > m->base)
		r = ranges_add(&heap->own, m->base, m->chunk);
	if (r < 0 || glibc_is_cached(glibc, m->chunk))
		return r;
	return blocks_add(heap->blocks, m->chunk + GLIBC_HEADER, m->bytes);
}

static int glibc_add(struct glibc *glibc, struct heap *heap)
{
	const struct glibc_walk walk = { .glibc = glibc, .heap = heap };
	int r = ranges_add(&heap->own, glibc->main, glibc->main + glibc->state->bytes);

	if (r == 0)
		r = ranges_add(&heap->own, glibc->par_address,
			       glibc->par_address + glibc->par->sbrk_base + 8);
	glibc_walk_begin(glibc);
	if (r == 0 && glibc->figures)
		r = glibc_figures_begin(glibc, heap);
	if (r == 0)
		r = glibc_walk_regions(&walk, 0);
	for (size_t i = 0; i < glibc->mapped_count && r == 0; i++)
		r = add_mapped(glibc, heap, &glibc->mapped[i]);
	sum_mapped(glibc);
	if (r == 0 && glibc->figures)
		r = glibc_figures_end(glibc);
	return r < 0 ? r : glibc_add_held(glibc, heap);
}

/* Could it be that a thread just changes the heap, so that another picture will do? */
static bool in_allocator(const struct glibc *glibc)
{
	const struct picture *picture = glibc->picture;

	for (size_t i = 0; i < glibc->arena_count; i++) {
		if (glibc->arena[i].locked)
			return true;
	}
	for (size_t i = 0; i < picture->thread_count; i++) {
		uint64_t rip = picture->thread[i].registers.rip;

		if (rip >= glibc->code_low && rip < glibc->code_high)
			return true;
	}
	return false;
}

/* "2.36" out of the library's banner, if it agrees with the layout. */
static bool banner_version(const struct glibc *glibc, const struct modules *modules, char *ret,
			   size_t bytes)
{
	static const char banner[] = " release version 2.";
	const struct module *module = modules_find(modules, glibc->code_low);
	size_t size = module && module->file ? module->file_bytes : 0;
	const uint8_t *at;
	unsigned int minor = 0;

	size = size < BANNER_BYTES ? size : BANNER_BYTES;
	at = size ? module_file(module, 0, size) : NULL;
	if (at)
		at = memmem(at, size, banner, sizeof(banner) - 1);
	if (!at)
		return false;
	at += sizeof(banner) - 1;
	for (unsigned int i = 0; i < 3 && at < module->file + size && *at >= '0' && *at <= '9'; i++)
		minor = minor * 10 + (unsigned int)(*at++ - '0');
	if (minor < glibc->versions.first || minor > glibc->versions.last)
		return false;
	snprintf(ret, bytes, "2.%u", minor);
	return true;
}

static void take_version(const struct glibc *glibc, const struct modules *modules,
			 struct heap_result *ret)
{
	if (banner_version(glibc, modules, ret->version, sizeof(ret->version)))
		return;
	if (glibc->versions.last == 99)
		snprintf(ret->version, sizeof(ret->version), "2.%u or later",
			 glibc->versions.first);
	else if (glibc->versions.last > glibc->versions.first)
		snprintf(ret->version, sizeof(ret->version), "2.%u-2.%u", glibc->versions.first,
			 glibc->versions.last);
	else
		snprintf(ret->version, sizeof(ret->version), "2.%u", glibc->versions.first);
}

/* What the links in free blocks say of the version. */
static void narrow_by_links(struct glibc *glibc)
{
	const struct glibc_versions plain = { 0, 31 }, mangled = { 32, 99 };

	if (glibc->safe_linking >= 0)
		glibc_versions_narrow(&glibc->versions, glibc->safe_linking ? mangled : plain);
}

static void take_sums(const struct glibc *glibc, struct heap_result *ret)
{
	ret->live_count += glibc->sums.live_count;
	ret->live_bytes += glibc->sums.live_bytes;
	ret->free_count += glibc->sums.free_count;
	ret->free_bytes += glibc->sums.free_bytes;
	ret->arenas += glibc->arena_count;
	ret->mmapped += glibc->mapped_count;
}

static void take_failure(const struct glibc *glibc, int error, struct heap_result *ret)
{
	bool torn = error == -EAGAIN && in_allocator(glibc);

	ret->cover = torn ? HEAP_TORN : HEAP_NOT_COVERED;
	snprintf(ret->why, sizeof(ret->why), "%s%s",
		 torn ? "a thread was inside malloc: " : "", glibc->why);
}

static void take_damage(const struct glibc *glibc, struct heap_result *ret)
{
	if (!glibc->damage[0])
		return;
	ret->cover = HEAP_DAMAGED;
	snprintf(ret->why, sizeof(ret->why), "it is damaged (%s)", glibc->damage);
	if (glibc->damaged_bytes)
		snprintf(ret->why, sizeof(ret->why),
			 "it is damaged (%s): no blocks are known in %llu bytes", glibc->damage,
			 (unsigned long long)glibc->damaged_bytes);
}

/* 0, -ENOMEM; ret says the rest. */
static int check_all(struct glibc *glibc, int count, const struct modules *modules,
		     const struct heap *heap, struct heap_result *ret)
{
	bool figures = heap->figures, salvage = heap->salvage;

	for (int i = 0; i < count; i++) {
		int r;

		glibc[i].salvage = salvage;
		r = glibc_check(&glibc[i]);
		/* Figures of a heap that is not known as a whole would be none. */
		if (r == 0 && figures && !glibc[i].damage[0])
			r = glibc_figures_new(&glibc[i]);
		if (r == -ENOMEM)
			return r;
		narrow_by_links(&glibc[i]);
		take_version(&glibc[i], modules, ret);
		if (r < 0) {
			take_failure(&glibc[i], r, ret);
			return 0;
		}
		take_sums(&glibc[i], ret);
		take_damage(&glibc[i], ret);
	}
	if (ret->cover == HEAP_ABSENT)
		ret->cover = HEAP_COVERED;
	return 0;
}

static uint64_t sum_ranges(const struct ranges *ranges)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ranges->count; i++)
		sum += ranges->range[i].high - ranges->range[i].low;
	return sum;
}

static int gather_segments(const struct glibc *glibc, struct ranges *all)
{
	int r = 0;

	for (size_t i = 0; i < glibc->region_count && r == 0; i++)
		if (glibc->region[i].low < glibc->region[i].high)	/* else all was cut off */
			r = ranges_add(all, glibc->region[i].low, glibc->region[i].high);
	for (size_t i = 0; i < glibc->mapped_count && r == 0; i++)
		r = ranges_add(all, glibc->mapped[i].chunk, glibc->mapped[i].end);
	return r;
}

/* Segments of one heap in another's can't be added, and are forged: 1 if there are none. */
static int check_segments(const struct glibc *glibc, int count, struct heap *heap)
{
	_cleanup_(ranges_done) struct ranges all = { 0, 0, NULL };
	const struct ranges *others = blocks_segments(heap->blocks);
	uint64_t sum;
	int r = 0;

	if (!others)
		return -ENOMEM;
	for (size_t i = 0; i < others->count && r == 0; i++)
		r = ranges_add(&all, others->range[i].low, others->range[i].high);
	for (int i = 0; i < count && r == 0; i++)
		r = gather_segments(&glibc[i], &all);
	if (r < 0)
		return r;
	sum = sum_ranges(&all);
	ranges_normalize(&all);
	return sum == sum_ranges(&all);
}

/* What was found to be sound. 0 or -ENOMEM; that it can't be added is not to be expected. */
static int add_all(struct glibc *glibc, int count, struct heap *heap, struct heap_result *ret)
{
	int r = check_segments(glibc, count, heap);

	if (r < 0)
		return r;
	for (int i = 0; i < count && r > 0; i++)
		r = glibc_add(&glibc[i], heap) ?: 1;
	if (r > 0 || r == -ENOMEM)
		return r > 0 ? 0 : r;
	ret->cover = HEAP_NOT_COVERED;
	snprintf(ret->why, sizeof(ret->why), "the heap overlaps another one");
	return 0;
}

int heap_walk_glibc(const struct picture *picture, const struct modules *modules,
		    struct heap *heap, struct heap_result *ret)
{
	_cleanup_free_ struct glibc *glibc = calloc(GLIBC_MAX_LIBCS, sizeof(*glibc));
	int count, r = -ENOMEM;

	*ret = (struct heap_result){ .allocator = "glibc" };
	if (!glibc)
		return -ENOMEM;
	count = glibc_find(picture, modules, glibc, GLIBC_MAX_LIBCS);
	if (count == -EBADMSG) {
		ret->cover = HEAP_NOT_COVERED;
		snprintf(ret->why, sizeof(ret->why), "the ring of arenas is broken");
	}
	if (count <= 0)
		return count == -EBADMSG ? 0 : count;
	r = check_all(glibc, count, modules, heap, ret);
	if (r == 0 && (ret->cover == HEAP_COVERED || ret->cover == HEAP_DAMAGED))
		r = add_all(glibc, count, heap, ret);
	for (int i = 0; i < count; i++)
		glibc_done(&glibc[i]);
	return r;
}
