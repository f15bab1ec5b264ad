/* SPDX-License-Identifier: MIT */
/*
 * mark_stream.c - reads the small blocks of a chunk, all at once.
 *
 * The pointers of a block that is reachable by now are followed; of any other a record is kept.
 * Who marks a block of a chunk that is not yet published leaves it to the one who reads it; he
 * publishes first and then looks for marks that came too late, the other sets the mark first
 * and then looks whether the chunk is published: so one of them sees it, or both, which
 * is no harm. (Sequentially consistent, both: see mark_reach.)
 */
#include "src/leak/mark/mark_work.h"

#include "src/leak/mark/mark_records.h"

#define MAX_GAP	8192u	/* reading that much costs as much as another call */

static void scan_extent(struct worker *worker, const struct extent *extent)
{
	const uint8_t *memory = worker->buffer + (extent->address - worker->buffer_low);

	mark_scan_words(worker, memory, extent->bytes & ~7u, extent->index);
}

/* pre: there is one. */
static uint64_t run_end(const struct worker *worker)
{
	const struct extent *last = &worker->run[worker->run_count - 1];

	return last->address + last->bytes;
}

static void finish_run(struct worker *worker)
{
	size_t count = worker->run_count;
	uint64_t low = worker->run[0].address, high;

	if (!count)
		return;
	high = run_end(worker);
	worker->run_count = 0;
	worker->buffer_low = low;
	worker->buffer_high = high;
	mark_read(worker->marker->input->picture, low, worker->buffer, high - low);
	for (size_t i = 0; i < count; i++)
		scan_extent(worker, &worker->run[i]);
}

static void add_to_run(struct worker *worker, uint64_t index, const struct block *block)
{
	uint64_t end = block->address + block->bytes;

	if (worker->run_count == RUN_ROOM ||
	    (worker->run_count && (block->address - run_end(worker) > MAX_GAP ||
				   end - worker->run[0].address > BUFFER_BYTES)))
		finish_run(worker);
	worker->run[worker->run_count++] =
		(struct extent){ index, block->address, (uint32_t)block->bytes };
}

static void add_large(struct worker *worker, uint64_t index)
{
	bool probe = worker->lost_only && mark_large_queue(worker->marker, index);

	finish_run(worker);
	mark_records_add_large(worker, index, probe ? RECORD_EMPTY : RECORD_UNREAD);
}

static void read_chunk(struct worker *worker, uint64_t chunk)
{
	const struct blocks *map = worker->marker->map;
	struct walk walk = walk_chunk(map, chunk);
	uint64_t index;

	mark_records_begin(worker, chunk);
	worker->recording = true;
	while ((index = walk_next(&walk)) != BLOCK_NONE) {
		struct block block = map_block(map, walk.segment, index);

		if (worker->lost_only && !(line_lost(map_line(map, index)) & map_bit(index)))
			continue;
		if (mark_is_large(map, index))
			add_large(worker, index);
		else
			add_to_run(worker, index, &block);
	}
	finish_run(worker);
	mark_scan_flush(worker);
	worker->recording = false;
	mark_records_publish(worker, chunk);
}

/* What was marked too late to be seen while the chunk was read. Large ones are never left to us. */
static void follow_late(struct worker *worker)
{
	const struct records_builder *b = &worker->builder;

	for (size_t i = 0; i < CHUNK_LINES; i++) {
		uint64_t kept = b->keep[i] & ~b->large[i];
		uint64_t late =
			kept ? kept & bits_load(
					      &worker->marker->map->line[b->first_line + i].reach) :
			       0;

		for (; late; late &= late - 1)
			mark_push(worker, (b->first_line + i) * LINE_GRANULES + bit_lowest(late));
	}
}

bool mark_stream_job(struct worker *worker)
{
	uint64_t chunk = mark_take_chunk(worker->marker);

	if (chunk == BLOCK_NONE)
		return false;
	worker->lost_only = false;
	read_chunk(worker, chunk);
	__atomic_store_n(&worker->marker->chunk[chunk].streamed, 1, __ATOMIC_SEQ_CST);
	follow_late(worker);
	mark_flow(worker);
	return true;
}

/* Whether a line has lost blocks to follow, and whether one of them has no record. */
static bool look_at_line(const struct marker *marker, uint64_t number, bool *incomplete)
{
	const struct line *line = &marker->map->line[number];
	uint64_t lost = line_lost(line) & line->unread;

	for (uint64_t left = lost; left && !*incomplete; left &= left - 1) {
		const uint8_t *record =
			mark_record(marker, number * LINE_GRANULES + bit_lowest(left));

		*incomplete = !record || *record == RECORD_UNREAD;
	}
	return lost;
}

bool mark_prune_job(struct worker *worker)
{
	struct marker *marker = worker->marker;
	uint64_t chunk = mark_take_chunk(marker), last = (chunk + 1) * CHUNK_LINES - 1;
	bool lost = false, incomplete = false;

	if (chunk == BLOCK_NONE)
		return false;
	if (last >= marker->map->line_count)
		last = marker->map->line_count - 1;
	for (uint64_t i = map_line_from(marker->map, chunk * CHUNK_LINES, last);
	     i != BLOCK_NONE && !incomplete;
	     i = i < last ? map_line_from(marker->map, i + 1, last) : BLOCK_NONE)
		lost |= look_at_line(marker, i, &incomplete);
	marker->chunk[chunk].incomplete = incomplete;
	if (!lost) {
		marker->chunk[chunk].records = NULL;
		marker->chunk[chunk].bytes = 0;
	}
	return true;
}

bool mark_restream_job(struct worker *worker)
{
	struct marker *marker = worker->marker;
	uint64_t chunk = mark_take_chunk(marker);

	if (chunk == BLOCK_NONE)
		return false;
	worker->lost_only = true;
	if (marker->chunk[chunk].incomplete)
		read_chunk(worker, chunk);
	return true;
}
