/* SPDX-License-Identifier: MIT */
/*
 * analysis.c - see analysis.h.
 *
 * Blocks of an allocator that can't be walked are those that were seen since the attach: they
 * can be lost like all others. Memory of such an allocator beyond them counts as roots,
 * so that what only its older blocks hold is not called lost.
 */
#include "src/leak/analysis/analysis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/heap/heap.h"
#include "src/leak/analysis/groups.h"
#include "src/leak/analysis/heap_totals.h"
#include "src/leak/blocks/block_map.h"
#include "src/leak/holders/holder_texts.h"
#include "src/leak/mark/mark.h"
#include "src/leak/roots/roots.h"

#define PAGE 4096ull
#define LOADER_DATA (256u * 1024)	/* it has some 20 KiB */

struct analysis {
	struct analysis_input input;
	double seconds;		/* that the walks took */
	struct heap heap;
	struct older_heap covered[OLDER_MAX_HEAPS];
	size_t covered_count;
	struct ranges known;	/* pages that hold blocks of allocators that can't be walked */
	struct ranges excluded;
	struct roots roots;
	struct leak_report *report;
	int error;
};

typedef int heap_walker(const struct picture *picture, const struct modules *modules,
			struct heap *heap, struct heap_result *ret);

static void note_heap(struct leak_report *report, const struct heap_result *result)
{
	struct leak_heap *heap = &report->heap[report->heap_count];

	if (result->cover == HEAP_ABSENT || report->heap_count == LEAK_MAX_HEAPS)
		return;
	*heap = (struct leak_heap){ .covered = result->cover == HEAP_COVERED,
				    .live_count = result->live_count,
				    .live_bytes = result->live_bytes };
	memcpy(heap->allocator, result->allocator, sizeof(heap->allocator));
	memcpy(heap->version, result->version, sizeof(heap->version));
	memcpy(heap->why, result->why, sizeof(heap->why));
	report->heap_count++;
	report->covers_older_blocks = report->covers_older_blocks && heap->covered;
}

/* The segments from number begin on are this allocator's. */
static void note_covered(struct analysis *a, const struct heap_result *result, size_t begin)
{
	struct older_heap *heap = &a->covered[a->covered_count];

	if (result->cover != HEAP_COVERED || a->covered_count == OLDER_MAX_HEAPS)
		return;
	*heap = (struct older_heap){ .begin = begin, .end = a->heap.blocks->segment_count };
	memcpy(heap->allocator, result->allocator, sizeof(heap->allocator));
	a->covered_count++;
}

/* Another picture may be whole; -EAGAIN, or 0 if this has been tried: it is not covered then. */
static int note_torn(const struct analysis *a, struct heap_result *result)
{
	if (a->input.torn)
		snprintf(a->input.torn, a->input.torn_bytes, "%s", result->why);
	if (!a->input.salvage)
		return -EAGAIN;
	result->cover = HEAP_NOT_COVERED;
	return 0;
}

static int walk_heaps(struct analysis *a)
{
	static heap_walker *const walkers[] = {
		heap_walk_glibc,
		heap_walk_musl,
		heap_walk_mimalloc,
		heap_walk_jemalloc,
	};
	struct leak_report *report = a->report;

	report->covers_older_blocks = true;
	for (size_t i = 0; i < ARRAY_SIZE(walkers); i++) {
		struct heap_result result = { .cover = HEAP_ABSENT };
		size_t begin = a->heap.blocks->segment_count;
		int error = walkers[i](a->input.picture, a->input.modules, &a->heap, &result);

		if (!error && result.cover == HEAP_TORN)
			error = note_torn(a, &result);
		if (error)
			return error;
		note_heap(report, &result);
		if (a->heap.figures)
			heap_totals_note(&a->heap, &result, begin);
		note_covered(a, &result, begin);
	}
	report->covers_older_blocks = report->covers_older_blocks && report->heap_count > 0;
	return 0;
}

/* --- blocks that only the session knows -------------------------------------- */

static void note_place(void *context, const struct analysis_known *block)
{
	struct analysis *a = context;
	const struct ranges *segments = blocks_segments(a->heap.blocks);

	if (!segments)
		a->error = -ENOMEM;
	else if (!ranges_contain(segments, block->address) && block->bytes &&
		 block->address + block->bytes > block->address && !a->error)
		a->error = ranges_add(&a->known, block->address & ~(PAGE - 1),
				      (block->address + block->bytes + PAGE - 1) & ~(PAGE - 1));
}

static void note_block(void *context, const struct analysis_known *block)
{
	struct analysis *a = context;
	int error;

	if (a->error || !ranges_contain(&a->known, block->address))
		return;
	error = blocks_add(a->heap.blocks, block->address, block->bytes);
	if (error == -ENOMEM)
		a->error = error;
}

/* Its own segments must not meet those of a walker: what does is cut off. */
static int add_piece(void *context, uint64_t low, uint64_t high)
{
	struct analysis *a = context;

	return blocks_add_segment(a->heap.blocks, low, high, 8);
}

/* A walk does not see where in its block the program's own pointer is; the session does. */
static void note_start(void *context, const struct analysis_known *block)
{
	struct analysis *a = context;
	int error = blocks_set_start(a->heap.blocks, block->address);

	if (error == -ENOMEM)
		a->error = error;
}

static int add_known(struct analysis *a)
{
	_cleanup_(ranges_done) struct ranges walked = { 0, 0, NULL };
	const struct ranges *segments = blocks_segments(a->heap.blocks);
	int error = 0;

	if (!segments)
		return -ENOMEM;
	if (!a->input.each_known)
		return 0;
	a->input.each_known(a->input.context, note_place, a);
	a->input.each_known(a->input.context, note_start, a);
	if (a->error)
		return a->error;
	ranges_normalize(&a->known);
	for (size_t i = 0; !error && i < segments->count; i++)
		error = ranges_add(&walked, segments->range[i].low, segments->range[i].high);
	ranges_normalize(&walked);
	for (size_t i = 0; !error && i < a->known.count; i++)
		error = ranges_outside(&walked, a->known.range[i].low, a->known.range[i].high,
				       add_piece, a);
	if (error)
		return error;
	a->input.each_known(a->input.context, note_block, a);
	return a->error;
}

/* --- what is no root ---------------------------------------------------------- */

static int exclude(struct analysis *a)
{
	int error = 0;

	for (size_t i = 0; !error && i < a->heap.own.count; i++)
		error = ranges_add(&a->excluded, a->heap.own.range[i].low,
				   a->heap.own.range[i].high);
	ranges_normalize(&a->excluded);
	return error;
}

/* To read a hole of shared memory fills it, for everybody and for good: left alone. */
static void drop_shared(struct analysis *a)
{
	struct roots *roots = &a->roots;
	size_t kept = 0;

	for (size_t i = 0; i < roots->count; i++)
		if (!roots->root[i].shared)
			roots->root[kept++] = roots->root[i];
	roots->count = kept;
	roots->bytes -= roots->shared_bytes;
	a->report->unread_shared_bytes = roots->shared_bytes;
	roots->shared_bytes = 0;
}

/* --- what the dynamic loader holds -------------------------------------------- */

static bool is_loader(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && (strncmp(name, "/ld-", 4) == 0 || strncmp(name, "/ld.so", 6) == 0);
}

/* A word of its data that leads into a block, be it to its middle, holds it (LEAKS.md). */
static int add_held(struct roots *roots, const struct root_word *word)
{
	struct root_word *grown = reallocarray(roots->word, roots->word_count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	roots->word = grown;
	grown[roots->word_count++] = *word;
	return 0;
}

static int hold_from(struct analysis *a, const struct procmap *map)
{
	uint64_t word[512];
	struct block block;
	int error = 0;

	for (uint64_t at = map->start; at < map->end && at - map->start < LOADER_DATA;
	     at += sizeof(word)) {
		size_t got = picture_read_some(a->input.picture, at, word, sizeof(word));

		for (size_t i = 0; !error && i < got / sizeof(word[0]); i++)
			if (blocks_find(a->heap.blocks, word[i], &block) &&
			    block.address != word[i])
				error = add_held(&a->roots, &(struct root_word){
					.value = block.address, .class = ROOT_GLOBALS });
	}
	return error;
}

/* ld.so's writable segment, and the anonymous rest of it. */
static int hold_by_loader(struct analysis *a)
{
	const struct procmaps *maps = &a->input.picture->maps;
	uint64_t end = 0;
	int error = 0;

	for (size_t i = 0; !error && i < maps->count; i++) {
		const struct procmap *map = &maps->map[i];
		bool rest = !map->inode && end && map->start == end;

		if (!is_loader(map->path) && !rest)
			continue;
		end = map->end;
		if (map->prot & PROCMAP_W)
			error = hold_from(a, map);
		if (rest)
			end = 0;
	}
	return error;
}

/* What threads inside of an allocator have in hand, by names that only the allocator knows. */
static int hold_in_hand(struct analysis *a)
{
	const struct heap *heap = &a->heap;
	struct block block;
	int error = 0;

	for (size_t i = 0; !error && i < heap->held_count; i++)
		if (blocks_find(heap->blocks, heap->held[i].address, &block) &&
		    block.address == heap->held[i].address)
			error = add_held(&a->roots, &(struct root_word){
				.value = block.address, .class = ROOT_REGISTERS,
				.tid = heap->held[i].tid, .number = ROOT_IN_HAND });
	return error;
}

static uint64_t asked(void *context, uint64_t address)
{
	const struct analysis *a = context;
	struct analysis_known known;

	return a->input.known(a->input.context, address, &known) ? known.bytes : 0;
}

static int mark(struct analysis *a, struct mark_sums *sums)
{
	struct roots_input roots = { .picture = a->input.picture,
				     .heap = blocks_segments(a->heap.blocks),
				     .excluded = &a->excluded, .blocks = a->heap.blocks,
				     .classes = a->input.roots };
	struct mark_input input = { .picture = a->input.picture, .blocks = a->heap.blocks,
				    .roots = &a->roots, .heuristics = a->input.heuristics,
				    .workers = a->input.workers,
				    .asked = a->input.known ? asked : NULL, .context = a };
	int error = roots.heap ? exclude(a) : -ENOMEM;

	if (!error)
		error = roots_collect(&roots, &a->roots);
	if (error)
		return error;
	drop_shared(a);
	error = a->input.roots & ROOT_GLOBALS ? hold_by_loader(a) : 0;
	if (!error && (a->input.roots & ROOT_REGISTERS))
		error = hold_in_hand(a);
	return error ? error : mark_run(&input, sums);
}

static void tell_reachable(void *context, const struct analysis_known *block)
{
	struct analysis *a = context;
	struct block found;

	if (blocks_find(a->heap.blocks, block->address, &found) &&
	    found.address == block->address &&
	    mark_kind(a->heap.blocks, found.address) == BLOCK_REACHABLE)
		a->input.reachable(a->input.context, block);
}

static int trace(struct analysis *a)
{
	struct leak_report *report = a->report;
	struct holders_input input = { .picture = a->input.picture,
				       .modules = a->input.modules,
				       .blocks = a->heap.blocks, .roots = &a->roots };
	struct holder_texts texts = { .count = 0 };
	int error = 0;

	report->traced = true;
	if (blocks_find(a->heap.blocks, a->input.trace_to, &report->trace_block)) {
		report->trace_kind = mark_kind(a->heap.blocks, report->trace_block.address);
		error = holder_texts_trace(&input, a->input.trace_to, &texts);
	}
	report->trace = calloc(texts.count + 1, sizeof(*report->trace));
	for (size_t i = 0; report->trace && i < texts.count; i++) {
		if (texts.text[i])
			report->trace[report->trace_count++] = texts.text[i];
		texts.text[i] = NULL;
	}
	report->trace_cut = texts.cut;
	holder_texts_done(&texts);
	return error;
}

static void note_protected(struct leak_report *report, const struct block *block)
{
	if (report->protected.count < LEAK_MAX_PROTECTED)
		report->protected_address[report->protected.count] = block->address;
	report->protected.count++;
	report->protected.bytes += block->bytes;
}

/* Notes the blocks in [low, high), part of a segment. last: the end of the block noted last. */
static void find_protected(struct analysis *a, uint64_t low, uint64_t high, uint64_t *last)
{
	struct block block;

	for (uint64_t at = low > *last ? low : *last; at < high; at += 16) {
		at = picture_skip_hole(a->input.picture, at);
		if (at >= high || !blocks_find(a->heap.blocks, at, &block))
			continue;
		note_protected(a->report, &block);
		*last = block.address + block.bytes;
		at = ((*last + 15) & ~15ull) - 16;
	}
}

/* Its owner may have made a block unreadable: that is said, as it is read all the same. */
static void note_all_protected(struct analysis *a)
{
	const struct procmaps *maps = &a->input.picture->maps;
	const struct ranges *segments = blocks_segments(a->heap.blocks);
	uint64_t last = 0;

	for (size_t i = 0; segments && i < maps->count; i++) {
		const struct procmap *map = &maps->map[i];
		const struct range *r = ranges_at_or_above(segments, map->start);

		if (!picture_is_protected(map))
			continue;
		for (; r && r < segments->range + segments->count && r->low < map->end; r++)
			find_protected(a, r->low > map->start ? r->low : map->start,
				       r->high < map->end ? r->high : map->end, &last);
	}
}

static int make_groups(struct analysis *a)
{
	struct groups_input input = {
		.picture = a->input.picture, .modules = a->input.modules,
		.blocks = a->heap.blocks, .roots = &a->roots, .excluded = &a->excluded,
		.classes = a->input.roots, .known = a->input.known,
		.each_known = a->input.each_known, .context = a->input.context,
		.heuristics = a->input.heuristics, .show_bytes = a->input.show_bytes,
	};

	return groups_make(&input, a->report);
}

static int search(struct analysis *a)
{
	struct mark_sums sums = { .seconds = 0 };
	int error = add_known(a);

	if (!error)
		error = mark(a, &sums);
	if (error)
		return error;
	note_all_protected(a);
	for (int i = 0; i < BLOCK_KINDS; i++)
		a->report->kind[i] = (struct leak_sum){ sums.count[i], sums.bytes[i] };
	a->report->scanned_bytes = sums.scanned_bytes;
	a->report->pause_us = a->input.picture->pause_us;
	if (a->input.each_known && a->input.reachable)
		a->input.each_known(a->input.context, tell_reachable, a);
	if (a->input.trace_to)
		error = trace(a);
	return error ? error : make_groups(a);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int analysis_begin(const struct analysis_input *input, struct analysis **ret)
{
	struct analysis *a = calloc(1, sizeof(*a));
	double begin = now();
	int error;

	if (!a)
		return -ENOMEM;
	a->input = *input;
	error = leak_report_new(&a->report);
	if (!error)
		error = blocks_new(&a->heap.blocks);
	a->heap.salvage = input->salvage;
	a->heap.figures = input->figures;
	a->heap.residency.present = input->present;
	if (a->heap.figures)
		heap_figures_clear(a->heap.figures);
	if (!error)
		error = walk_heaps(a);
	a->seconds = now() - begin;
	if (error) {
		analysis_free(a);
		return error;
	}
	*ret = a;
	return 0;
}

int analysis_search(struct analysis *a, struct leak_report **ret)
{
	double begin = now();
	int error = search(a);

	if (error)
		return error;
	a->report->seconds = a->seconds + now() - begin;
	leak_report_sort(a->report);
	*ret = a->report;
	a->report = NULL;
	return 0;
}

int analysis_add_books(struct analysis *a, struct ranges *ret)
{
	heap_totals_books(&a->heap, &a->input);
	a->heap.figures->pause_us = a->input.picture->pause_us;
	a->heap.figures->resident_known = a->input.present != NULL;
	return heap_totals_memory(&a->heap, ret);
}

int analysis_take_older(struct analysis *a, struct older **ret)
{
	return older_new(a->heap.blocks, a->covered, a->covered_count, ret);
}

const struct leak_heap *analysis_heaps(const struct analysis *a, uint32_t *ret_count)
{
	*ret_count = a->report->heap_count;
	return a->report->heap;
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	roots_done(&a->roots);
	ranges_done(&a->known);
	ranges_done(&a->excluded);
	blocks_free(a->heap.blocks);
	heap_done(&a->heap);
	leak_report_free(a->report);
	free(a);
}
