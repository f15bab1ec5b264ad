/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_figures.c - where the memory of each arena went, as malloc_info(3) tells it.
 *
 * Chunks are counted as the walk meets them, in the bin that their size belongs to; only of the
 * unsorted ones size does not tell, so these lists are followed before. What remains of an
 * arena's memory is the allocator's own. malloc_info itself takes each arena's lock, and adds the
 * lowest bit of each free chunk's size to its sums; here sizes are sizes.
 */
#include "src/heap/glibc/heap_glibc_figures.h"

#include <errno.h>
#include <string.h>

#include "src/memory/regions.h"

#define TCACHE_BINS	96u
#define FIRST_FAST	TCACHE_BINS
#define FIRST_BIN	(FIRST_FAST + GLIBC_FASTBINS)
#define BINS		(FIRST_BIN + GLIBC_BINS)
#define SMALLEST_LARGE	1024u
#define CHUNK_HEAD	48u		/* sizes and links of a free chunk */

/* What an arena's bins hold, in the order in which they are listed. */
struct tally {
	struct heap_bin bin[BINS];
};
struct glibc_figures {
	struct heap *heap;
	size_t unsorted_count, unsorted_room;
	uint64_t *unsorted;		/* owned; ascending */
	uint32_t first;			/* index of main_arena in heap->figures */
	size_t count;			/* of arenas there */
	struct tally **tally;		/* owned, one for each of them that has any */
};

/* --- unsorted chunks ---------------------------------------------------------------- */

static int push_unsorted(struct glibc *glibc, uint64_t chunk)
{
	struct glibc_figures *f = glibc->figures;

	if (f->unsorted_count == f->unsorted_room) {
		size_t room = f->unsorted_room ? f->unsorted_room * 2 : 64;
		uint64_t *grown;

		if (room > GLIBC_MAX_CACHED)
			return glibc_fail(glibc, -ENOTSUP, "more free blocks than are believed");
		grown = reallocarray(f->unsorted, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		f->unsorted = grown;
		f->unsorted_room = room;
	}
	f->unsorted[f->unsorted_count++] = chunk;
	return 0;
}

/* All links were seen to have their counterparts: the list ends, unless it is forged. */
static int follow_unsorted(struct glibc *glibc, const struct glibc_arena *arena)
{
	uint64_t head = arena->address + glibc->state->bins - 16, at = arena->unsorted;
	int r = 0;

	while (r == 0 && at != head) {
		r = push_unsorted(glibc, at);
		if (glibc->link_budget == 0 ||
		    !heap_pages_read(&glibc->pages, at + GLIBC_HEADER, &at, sizeof(at)))
			return glibc_fail(glibc, -EAGAIN, "a list of unsorted chunks is broken");
		glibc->link_budget--;
	}
	return r;
}

static int by_address(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int glibc_figures_new(struct glibc *glibc)
{
	struct glibc_figures *f = glibc->figures = calloc(1, sizeof(*f));
	int r = f ? 0 : -ENOMEM;

	for (size_t i = 0; i < glibc->arena_count && r == 0; i++)
		r = follow_unsorted(glibc, &glibc->arena[i]);
	if (r == 0 && f->unsorted_count)
		qsort(f->unsorted, f->unsorted_count, sizeof(*f->unsorted), by_address);
	return r;
}

void glibc_figures_free(struct glibc_figures *f)
{
	if (!f)
		return;
	for (size_t i = 0; f->tally && i < f->count; i++)
		free(f->tally[i]);
	free(f->tally);
	free(f->unsorted);
	free(f);
}

/* --- chunks ---------------------------------------------------------------------------- */

enum heap_part glibc_free_part(const struct glibc *glibc, uint64_t chunk, uint64_t size)
{
	const struct glibc_figures *f = glibc->figures;

	if (f && f->unsorted_count &&
	    bsearch(&chunk, f->unsorted, f->unsorted_count, sizeof(chunk), by_address))
		return HEAP_UNSORTED;
	return size < SMALLEST_LARGE ? HEAP_SMALL : HEAP_LARGE;
}

/* glibc's largebin_index. */
static unsigned int large_index(uint64_t size)
{
	if (size >> 6 <= 48)
		return 48 + (unsigned int)(size >> 6);
	if (size >> 9 <= 20)
		return 91 + (unsigned int)(size >> 9);
	if (size >> 12 <= 10)
		return 110 + (unsigned int)(size >> 12);
	if (size >> 15 <= 4)
		return 119 + (unsigned int)(size >> 15);
	return size >> 18 <= 2 ? 124 + (unsigned int)(size >> 18) : 126;
}

static unsigned int tcache_index(uint64_t size)
{
	unsigned int index = size < SMALLEST_LARGE + 32 ? (unsigned int)(size / 16 - 2) :
				     64u + 53u - (unsigned int)__builtin_clzll(size);

	return index < TCACHE_BINS ? index : TCACHE_BINS - 1;
}

/* Its place among a tally's bins; BINS: it is in none. */
static unsigned int bin_index(enum heap_part part, uint64_t size)
{
	switch (part) {
	case HEAP_TCACHE: return tcache_index(size);
	case HEAP_FAST: return FIRST_FAST + (unsigned int)(size / 16 - 2) % GLIBC_FASTBINS;
	case HEAP_UNSORTED: return FIRST_BIN;
	case HEAP_SMALL: return FIRST_BIN + (unsigned int)(size / 16);
	case HEAP_LARGE: return FIRST_BIN + large_index(size);
	default: return BINS;
	}
}

static int note_bin(struct tally **tally, const struct heap_bin *bin)
{
	unsigned int index = bin_index(bin->part, bin->low);
	struct heap_bin *to;

	if (index >= BINS)
		return 0;
	if (!*tally)
		*tally = calloc(1, sizeof(**tally));
	if (!*tally)
		return -ENOMEM;
	to = &(*tally)->bin[index];
	if (!to->sum.count)
		*to = (struct heap_bin){ bin->arena, bin->part, bin->low, bin->high, { 0, 0, 0 } };
	to->low = bin->low < to->low ? bin->low : to->low;
	to->high = bin->high > to->high ? bin->high : to->high;
	heap_sum_add(&to->sum, &bin->sum);
	return 0;
}

/*
 * What of a free chunk malloc_trim(0) gives back: whole pages behind its head, where it lies in a
 * bin for chunks of a page and more; and of the main arena's top. It empties the fastbins before,
 * so that it may find some more.
 */
static uint64_t trimmable(struct glibc_figures *f, const struct heap_bin *one, bool main,
			  uint64_t chunk)
{
	uint64_t low = (chunk + CHUNK_HEAD + GLIBC_PAGE - 1) & ~(uint64_t)(GLIBC_PAGE - 1);
	uint64_t high = (chunk + one->low) & ~(uint64_t)(GLIBC_PAGE - 1);

	if (one->part == HEAP_TOP && main) {	/* at least 33 bytes of it stay */
		low = chunk + GLIBC_MINSIZE + 1;
		low += (high - low) % GLIBC_PAGE;
	} else if (one->part != HEAP_UNSORTED &&
		   (one->part != HEAP_LARGE || one->low < GLIBC_PAGE)) {
		return 0;
	}
	return low < high ? residency_bytes(&f->heap->residency, low, high) : 0;
}

/* Where those of glibc's arena stand: in the last, if there are too many. */
static size_t place_of(const struct glibc_figures *f, uint32_t arena)
{
	return arena < f->count ? arena : f->count - 1;
}

int glibc_figures_note(struct glibc *glibc, uint32_t arena, enum heap_part part, uint64_t chunk,
		       uint64_t size)
{
	struct glibc_figures *f = glibc->figures;
	size_t place = place_of(f, arena);
	const struct heap_bin one = {
		.arena = (uint32_t)(f->first + place), .part = part, .low = size, .high = size,
		.sum = { 1, size, residency_bytes(&f->heap->residency, chunk, chunk + size) },
	};

	struct heap_arena *to = &f->heap->figures->arena[one.arena];

	heap_sum_add(&to->part[part], &one.sum);
	to->trimmable = memory_sum(to->trimmable, trimmable(f, &one, arena == 0, chunk));
	return note_bin(&f->tally[place], &one);
}

/* --- the whole ---------------------------------------------------------------------------- */

static void add_arena(struct heap_arena *to, const struct glibc_arena *arena)
{
	to->system_bytes = memory_sum(to->system_bytes, arena->system_mem);
	to->max_system_bytes = memory_sum(to->max_system_bytes, arena->max_system_mem);
	to->attached = arena->attached == HEAP_UNKNOWN ? HEAP_UNKNOWN :
							 memory_sum(to->attached, arena->attached);
}

int glibc_figures_begin(struct glibc *glibc, struct heap *heap)
{
	struct glibc_figures *f = glibc->figures;
	struct heap_figures *figures = heap->figures;
	size_t room = figures->arena_count < HEAP_FIGURES_ARENAS ?
			      HEAP_FIGURES_ARENAS - figures->arena_count : 1;

	f->heap = heap;
	f->first = (uint32_t)figures->arena_count;
	f->tally = calloc(glibc->arena_count < room ? glibc->arena_count : room,
			  sizeof(struct tally *));
	if (!f->tally)
		return -ENOMEM;
	for (size_t i = 0; i < glibc->arena_count; i++) {
		if (i < room) {
			struct heap_arena *to = heap_figures_add_arena(figures);

			if (!to)
				return -ENOMEM;
			to->heap = heap->figures_heap;
			to->address = glibc->arena[i].address;
			f->count = i + 1;
		} else {
			figures->arena[f->first + f->count - 1].address = 0;
		}
		add_arena(&figures->arena[f->first + f->count - 1], &glibc->arena[i]);
	}
	return 0;
}

/* Their stretches, and what of them is in memory. */
static void add_stretches(struct glibc *glibc)
{
	struct glibc_figures *f = glibc->figures;
	struct heap_total *total = &f->heap->figures->heap[f->heap->figures_heap];

	for (size_t i = 0; i < glibc->region_count; i++) {
		const struct glibc_region *r = &glibc->region[i];
		struct heap_arena *arena =
			&f->heap->figures->arena[f->first + place_of(f, r->arena)];
		uint64_t low = r->own_low ? r->own_low : r->low;

		arena->stretches++;
		arena->resident += residency_bytes(&f->heap->residency, low, r->high);
	}
	for (size_t i = 0; i < glibc->mapped_count; i++) {
		const struct glibc_mapped *m = &glibc->mapped[i];

		heap_sum_add(&total->mapped, &(struct heap_sum){
			1, m->end - m->base,
			residency_bytes(&f->heap->residency, m->base, m->end) });
	}
}

/* What nothing else is. */
static void add_own(struct heap_arena *arena)
{
	struct heap_sum *own = &arena->part[HEAP_OWN], others = { 0, 0, 0 };

	for (int part = 0; part < HEAP_PARTS; part++)
		if (part != HEAP_OWN)
			heap_sum_add(&others, &arena->part[part]);
	own->bytes = arena->system_bytes > others.bytes ? arena->system_bytes - others.bytes : 0;
	own->resident = arena->resident > others.resident ? arena->resident - others.resident : 0;
}

static int add_bins(struct glibc_figures *f)
{
	int r = 0;

	for (size_t i = 0; i < f->count; i++)
		for (unsigned int k = 0; f->tally[i] && r == 0 && k < BINS; k++)
			if (f->tally[i]->bin[k].sum.count)
				r = heap_figures_add_bin(f->heap->figures, &f->tally[i]->bin[k]);
	return r;
}

static int by_chunk(const void *a, const void *b)
{
	const struct glibc_tcache *x = a, *y = b;

	return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

/* Workers of the kernel have the thread pointer of who made them. */
static bool is_first(const struct picture *picture, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (picture->thread[i].registers.fs_base ==
		    picture->thread[index].registers.fs_base)
			return false;
	return true;
}

static int add_thread(struct glibc *glibc, const struct picture_thread *thread, int tcache_words)
{
	struct glibc_figures *f = glibc->figures;
	uint64_t pointer = thread->registers.fs_base;
	uint64_t arena = picture_word(glibc->picture, pointer - 8 * (uint64_t)glibc->arena_words);
	uint64_t tcache = picture_word(glibc->picture, pointer - 8 * (uint64_t)tcache_words);
	const struct glibc_tcache key = { tcache - GLIBC_HEADER, { 0, 0, 0 } };
	const struct glibc_tcache *found =
		bsearch(&key, glibc->tcache, glibc->tcache_count, sizeof(key), by_chunk);
	struct heap_thread *to;

	if (f->heap->figures->thread_count == HEAP_FIGURES_THREADS)
		return 0;
	to = heap_figures_add_thread(f->heap->figures);
	if (!to)
		return -ENOMEM;
	to->heap = f->heap->figures_heap;
	to->tid = thread->tid;
	to->arena = glibc_is_arena(glibc, arena) ? arena : 0;
	if (found) {
		to->tcache = tcache;
		to->cached = found->cached;
	}
	return 0;
}

static int add_threads(struct glibc *glibc)
{
	const struct picture *picture = glibc->picture;
	int r = 0;

	if (!glibc->tcache_words)
		return 0;
	qsort(glibc->tcache, glibc->tcache_count, sizeof(*glibc->tcache), by_chunk);
	for (size_t i = 0; i < picture->thread_count && r == 0; i++)
		if (is_first(picture, i))
			r = add_thread(glibc, &picture->thread[i], glibc->tcache_words);
	return r;
}

int glibc_figures_end(struct glibc *glibc)
{
	struct glibc_figures *f = glibc->figures;
	int r;

	add_stretches(glibc);
	for (size_t i = 0; i < f->count; i++)
		add_own(&f->heap->figures->arena[f->first + i]);
	r = add_bins(f);
	return r ? r : add_threads(glibc);
}
