/* SPDX-License-Identifier: MIT */
/*
 * mark.c - the phases of the marking, see mark.h and mark_work.h.
 *
 * 1. Roots, then all that start pointers lead to, and interior ones that an idiom explains.
 * 2. What other interior pointers lead to, and all behind that: possibly lost.
 * 3. The rest is lost: first, by all workers, the links between lost blocks are completed; then
 *    one of them finds the leaders (mark_lost.c).
 */
#include "src/leak/mark/mark.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/leak/mark/mark_work.h"

#define HEAP_PART	20u	/* memory: one in that many bytes of the heap, unless told */

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t heap_bytes(const struct blocks *map)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < map->segment_count; i++)
		bytes += map->segment[i].high - map->segment[i].low;
	return bytes;
}

/* ---- the marker ---- */

static size_t fixed_memory(const struct marker *marker)
{
	return marker->workers * sizeof(struct worker) + marker->chunk_count * sizeof(struct chunk);
}

static void make_room(struct marker *marker)
{
	size_t memory = marker->input->memory, fixed = fixed_memory(marker);

	if (!memory)
		memory = heap_bytes(marker->map) / HEAP_PART;
	mark_records_init(marker, memory > fixed ? memory - fixed : 0);
}

static void marker_done(struct marker *marker)
{
	mark_records_done(marker);
	free(marker->chunk);
	free(marker->worker);
	free(marker->large.index);
	pthread_mutex_destroy(&marker->large.lock);
	mark_index_done(&marker->index);
}

static int marker_allocate(struct marker *marker)
{
	struct blocks *map = marker->map;
	int error = mark_index_init(&marker->index, map);

	if (error)
		return error;
	marker->chunk_count = (map->line_count + CHUNK_LINES - 1) / CHUNK_LINES;
	marker->chunk = calloc(marker->chunk_count + 1, sizeof(*marker->chunk));
	marker->worker = calloc(marker->workers, sizeof(*marker->worker));
	cliques_free(map->cliques);
	map->cliques = NULL;
	if (!marker->chunk || !marker->worker)
		return -ENOMEM;
	for (unsigned int i = 0; i < marker->workers; i++)
		marker->worker[i].marker = marker;
	make_room(marker);
	return cliques_new(&map->cliques);
}

static int marker_init(struct marker *marker, const struct mark_input *input)
{
	int error;

	*marker = (struct marker){ .input = input, .map = input->blocks };
	marker->workers = input->workers < MARK_MAX_WORKERS ? input->workers : MARK_MAX_WORKERS;
	pthread_mutex_init(&marker->large.lock, NULL);
	error = marker_allocate(marker);
	if (error)
		marker_done(marker);
	return error;
}

/* ---- phases ---- */

/* The blocks of the next chunk; false: none is left. */
static bool take_blocks(struct worker *worker, struct walk *ret)
{
	uint64_t chunk = mark_take_chunk(worker->marker);

	if (chunk == BLOCK_NONE)
		return false;
	*ret = walk_chunk(worker->marker->map, chunk);
	return true;
}

/* Marks of an earlier run. They are in lines with starts only, once hits have been judged. */
static bool forget_job(struct worker *worker)
{
	const struct blocks *map = worker->marker->map;
	struct walk walk;
	uint64_t index;

	if (!take_blocks(worker, &walk))
		return false;
	while ((index = walk_next(&walk)) != BLOCK_NONE) {
		struct line *line = map_line(map, index);

		line->reach = line->loose = line->hit = line->pending = 0;
		walk.next = (index | (LINE_GRANULES - 1)) + 1;
	}
	return true;
}

/* Everything that phase 1 has found loose and not reached. */
static bool seed_job(struct worker *worker)
{
	const struct blocks *map = worker->marker->map;
	struct walk walk;
	uint64_t index;

	if (!take_blocks(worker, &walk))
		return false;
	while ((index = walk_next(&walk)) != BLOCK_NONE) {
		const struct line *line = map_line(map, index);

		if (!(bits_load(&line->loose) & ~bits_load(&line->reach) & map_bit(index)))
			continue;
		mark_push(worker, index);
		if (worker->stack_count > STACK_ROOM / 2)
			mark_flow(worker);
	}
	mark_flow(worker);
	return true;
}

static enum block_kind kind_at(const struct blocks *map, uint64_t index)
{
	const struct line *line = map_line(map, index);

	if (line->reach & map_bit(index))
		return BLOCK_REACHABLE;
	if (line->loose & map_bit(index))
		return BLOCK_POSSIBLY_LOST;
	return line->hit & map_bit(index) ? BLOCK_INDIRECTLY_LOST : BLOCK_DEFINITELY_LOST;
}

static bool sum_job(struct worker *worker)
{
	const struct blocks *map = worker->marker->map;
	struct walk walk;
	uint64_t index;

	if (!take_blocks(worker, &walk))
		return false;
	while ((index = walk_next(&walk)) != BLOCK_NONE) {
		enum block_kind kind = kind_at(map, index);

		worker->sums.count[kind]++;
		worker->sums.bytes[kind] += map_block(map, walk.segment, index).bytes;
	}
	return true;
}

static void root_words(struct worker *worker)
{
	const struct roots *roots = worker->marker->input->roots;

	for (size_t i = 0; i < roots->word_count; i++)
		if (roots->word[i].number != ROOT_VECTOR)
			mark_scan_word(worker, roots->word[i].value, NO_SOURCE);
	mark_scan_flush(worker);
}

/*
 * Vector registers: what a thread is just moving there is not lost, but mostly they hold what is
 * left of earlier work, and hide no leak.
 */
static void vector_words(struct marker *marker)
{
	const struct roots *roots = marker->input->roots;

	for (size_t i = 0; i < roots->word_count; i++) {
		uint64_t word = roots->word[i].value, place, start;

		if (roots->word[i].number != ROOT_VECTOR || !mark_index_may(&marker->index, word))
			continue;
		place = mark_word_place(marker, word);
		start = place == BLOCK_NONE ? place : mark_block_at(marker->map, place);
		if (start != BLOCK_NONE)
			(void)bits_set(&map_line(marker->map, start)->loose, map_bit(start));
	}
}

static size_t records_bytes(const struct marker *marker)
{
	size_t used = marker->records_used;

	return used < marker->records_room ? used : marker->records_room;
}

static void run_phases(struct marker *marker)
{
	static mark_job *const forget[] = { forget_job, NULL };
	static mark_job *const reach[] = { mark_root_job,    mark_large_job, mark_stream_job,
					   mark_pending_job, mark_judge_job, NULL };
	static mark_job *const possible[] = { mark_large_job, seed_job, mark_pending_job, NULL };
	static mark_job *const prune[] = { mark_prune_job, NULL };
	static mark_job *const restream[] = { mark_restream_job, NULL };
	static mark_job *const probe[] = { mark_probe_job, NULL };

	mark_pool_run(marker, forget);
	marker->mode = MARK_REACHABLE;
	root_words(&marker->worker[0]);
	mark_pool_run(marker, reach);
	marker->mode = MARK_POSSIBLE;
	vector_words(marker);
	mark_pool_run(marker, possible);
	mark_pool_run(marker, prune);
	marker->records_peak = records_bytes(marker);
	mark_records_compact(marker);
	mark_pool_run(marker, restream);
	mark_pool_run(marker, probe);
	marker->mode = MARK_LOST;
	mark_lost(&marker->worker[0]);
}

/* Bytes of blocks in [low, high), which is a hole's part of the segment. */
static uint64_t bytes_in(const struct blocks *map, const struct segment *segment, uint64_t low,
			 uint64_t high)
{
	uint64_t first = map_place(segment, low) >> 4, last = map_place(segment, high - 1) >> 4;
	uint64_t at = map_start(map, first), bytes = 0;

	for (at = at == BLOCK_NONE ? map_next_start(map, first, last) : at; at != BLOCK_NONE;
	     at = map_next_start(map, at + 1, last)) {
		struct block block = map_block(map, segment, at);
		uint64_t end = block.address + block.bytes;
		uint64_t from = block.address > low ? block.address : low;

		if (end > low)
			bytes += (end < high ? end : high) - from;
	}
	return bytes;
}

/* What of the blocks lies in holes of the picture, and was not looked through. */
static uint64_t empty_bytes(const struct marker *marker)
{
	const struct ranges *holes = &marker->input->picture->holes;
	const struct blocks *map = marker->map;
	uint64_t bytes = 0;

	for (size_t i = 0; i < map->segment_count; i++) {
		const struct segment *s = &map->segment[i];
		const struct range *hole = ranges_at_or_above(holes, s->low);

		for (; hole && hole < holes->range + holes->count && hole->low < s->high; hole++)
			bytes += bytes_in(map, s, hole->low > s->low ? hole->low : s->low,
					  hole->high < s->high ? hole->high : s->high);
	}
	return bytes;
}

static void add_up(struct marker *marker, struct mark_sums *sums)
{
	static mark_job *const sum[] = { sum_job, NULL };

	mark_pool_run(marker, sum);
	for (unsigned int i = 0; i < marker->workers; i++) {
		const struct mark_sums *part = &marker->worker[i].sums;

		for (int kind = 0; kind < BLOCK_KINDS; kind++) {
			sums->count[kind] += part->count[kind];
			sums->bytes[kind] += part->bytes[kind];
		}
	}
	sums->scanned_bytes = marker->input->roots->bytes + marker->map->bytes -
			      empty_bytes(marker);
	if (marker->records_peak < records_bytes(marker))
		marker->records_peak = records_bytes(marker);
	sums->memory = fixed_memory(marker) + marker->records_peak +
		       marker->large.room * sizeof(*marker->large.index) +
		       cliques_memory(marker->map->cliques);
}

int mark_run(const struct mark_input *input, struct mark_sums *ret)
{
	struct mark_sums sums = { .seconds = now() };
	struct marker marker;
	int error;

	if (!input->workers)
		return -EINVAL;
	error = marker_init(&marker, input);
	if (error)
		return error;
	run_phases(&marker);
	error = marker.error;
	if (!error) {
		add_up(&marker, &sums);
		sums.seconds = now() - sums.seconds;
		*ret = sums;
	}
	marker_done(&marker);
	return error;
}

/* ---- afterwards ---- */

/* BLOCK_NONE: no block starts there. */
static uint64_t start_at(const struct blocks *map, uint64_t address,
			 const struct segment **ret_segment)
{
	uint64_t place;

	*ret_segment = map_segment(map, address);
	if (!*ret_segment)
		return BLOCK_NONE;
	place = map_place(*ret_segment, address);
	return place & 15 || !(map_line(map, place >> 4)->start & map_bit(place >> 4)) ?
		       BLOCK_NONE :
		       place >> 4;
}

enum block_kind mark_kind(const struct blocks *blocks, uint64_t address)
{
	const struct segment *segment;
	uint64_t index = start_at(blocks, address, &segment);

	return index == BLOCK_NONE ? BLOCK_REACHABLE : kind_at(blocks, index);
}

int mark_each_unreached(const struct blocks *blocks,
			int (*each)(void *context, const struct block *block), void *context)
{
	int result = 0;

	for (size_t i = 0; !result && i < blocks->segment_count; i++) {
		const struct segment *segment = &blocks->segment[blocks->sorted[i]];
		uint64_t granules = (segment->high - 1 - segment->base) >> segment->shift;
		uint64_t last = (segment->first + granules) / LINE_GRANULES;
		uint64_t line = map_line_from(blocks, segment->first / LINE_GRANULES, last);

		while (!result && line != BLOCK_NONE) {
			const struct line *l = &blocks->line[line];

			for (uint64_t left = l->start & ~l->reach; !result && left;
			     left &= left - 1) {
				struct block block = map_block(blocks, segment, line *
							       LINE_GRANULES + bit_lowest(left));

				result = each(context, &block);
			}
			line = line < last ? map_line_from(blocks, line + 1, last) : BLOCK_NONE;
		}
	}
	return result;
}

struct clique mark_of_leader(const struct blocks *blocks, uint64_t leader)
{
	if (!blocks->cliques || mark_kind(blocks, leader) != BLOCK_DEFINITELY_LOST)
		return (struct clique){ 0, 0 };
	return cliques_of(blocks->cliques, leader);
}
