/* SPDX-License-Identifier: MIT */
/*
 * mark_pending.c - blocks that are marked and still to be followed: a bit each.
 *
 * They are those that had to be read again, as there was no memory for their records, and those
 * that a full stack left behind. The chunk with the most of them is taken first; it is read as
 * a whole if there are many, as a call costs as much as reading several pages, and what is
 * marked in it meanwhile is followed with the rest.
 */
#include "src/leak/mark/mark_work.h"

#include "src/leak/mark/mark_records.h"

#define MANY	16u	/* pending in a chunk: reading all of it is cheaper */
#define WINDOW	1024u	/* chunks that are compared */
#define ROUNDS	16u	/* through one chunk before others have their turn */

void mark_pending_add(struct marker *marker, uint64_t start)
{
	if (!bits_set(&map_line(marker->map, start)->pending, map_bit(start)))
		return;
	__atomic_fetch_add(&mark_chunk(marker, start)->pending, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&marker->pending, 1, __ATOMIC_SEQ_CST);
}

static uint64_t most_of(const struct marker *marker, uint64_t from, uint64_t end)
{
	uint64_t best = BLOCK_NONE;
	uint32_t most = 0;

	for (uint64_t i = from; i < end; i++) {
		uint32_t pending = __atomic_load_n(&marker->chunk[i].pending, __ATOMIC_RELAXED);

		if (pending > most) {
			most = pending;
			best = i;
		}
	}
	return best;
}

/* A chunk with work in it, the best of the first window that has any; BLOCK_NONE. */
static uint64_t find_chunk(struct worker *worker)
{
	const struct marker *marker = worker->marker;
	uint64_t windows = (marker->chunk_count + WINDOW - 1) / WINDOW, best = BLOCK_NONE;

	if (!__atomic_load_n(&marker->pending, __ATOMIC_SEQ_CST))
		return BLOCK_NONE;
	for (uint64_t i = 0; best == BLOCK_NONE && i < windows; i++) {
		uint64_t from = worker->search * WINDOW, end = from + WINDOW;

		best = most_of(marker, from, end < marker->chunk_count ? end : marker->chunk_count);
		worker->search = (worker->search + 1) % windows;
	}
	return best;
}

/* Reads as much of the chunk from start on as the buffer holds, and its segment has. */
static void read_ahead(struct worker *worker, const struct segment *segment, uint64_t start,
		       uint64_t chunk)
{
	uint64_t low = map_address(segment, start), high = segment->high;
	uint64_t end = map_address(segment, (chunk + 1) * CHUNK_GRANULES) + SMALL_BYTES;

	if (high > end)
		high = end;
	if (high > low + BUFFER_BYTES)
		high = low + BUFFER_BYTES;
	mark_read(worker->marker->input->picture, low, worker->buffer, high - low);
	worker->buffer_low = low;
	worker->buffer_high = high;
}

static void scan_small(struct worker *worker, uint64_t start, bool many)
{
	const struct blocks *map = worker->marker->map;
	const struct segment *segment = map_segment_of(map, start);
	struct block block = map_block(map, segment, start);
	uint64_t low = block.address, high = low + (block.bytes & ~7ull);

	if (low < worker->buffer_low || high > worker->buffer_high) {
		if (!many) {
			mark_scan_range(worker, low, high, start);
			return;
		}
		read_ahead(worker, segment, start, start / CHUNK_GRANULES);
	}
	mark_scan_words(worker, worker->buffer + (low - worker->buffer_low), high - low, start);
}

static void follow(struct worker *worker, uint64_t start, bool many)
{
	const struct marker *marker = worker->marker;
	const struct blocks *map = marker->map;
	const uint8_t *record;

	if (mark_is_large(map, start)) {
		const struct segment *segment = map_segment_of(map, start);
		struct block block = map_block(map, segment, start);

		mark_scan_range(worker, block.address, block.address + block.bytes, start);
		return;
	}
	record = mark_record(marker, start);
	if (record && *record != RECORD_UNREAD)
		mark_push(worker, start);
	else
		scan_small(worker, start, many);
}

static void follow_line(struct worker *worker, uint64_t number, bool many)
{
	struct marker *marker = worker->marker;
	struct line *line = &marker->map->line[number];
	uint64_t bits = bits_load(&line->pending) ?
				__atomic_exchange_n(&line->pending, 0, __ATOMIC_SEQ_CST) :
				0;
	unsigned int count = (unsigned int)__builtin_popcountll(bits);

	if (!bits)
		return;
	__atomic_fetch_sub(&marker->chunk[number / CHUNK_LINES].pending, count, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&marker->pending, count, __ATOMIC_SEQ_CST);
	for (; bits; bits &= bits - 1) {
		follow(worker, number * LINE_GRANULES + bit_lowest(bits), many);
		if (worker->stack_count > STACK_ROOM / 2)
			mark_flow(worker);
	}
}

bool mark_pending_job(struct worker *worker)
{
	struct marker *marker = worker->marker;
	uint64_t chunk = find_chunk(worker), last;

	if (chunk == BLOCK_NONE)
		return false;
	last = (chunk + 1) * CHUNK_LINES - 1;
	if (last >= marker->map->line_count)
		last = marker->map->line_count - 1;
	worker->buffer_low = worker->buffer_high = 0;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint32_t pending = __atomic_load_n(&marker->chunk[chunk].pending, __ATOMIC_RELAXED);

		if (!pending)
			break;
		for (uint64_t line = map_line_from(marker->map, chunk * CHUNK_LINES, last);
		     line != BLOCK_NONE;
		     line = line < last ? map_line_from(marker->map, line + 1, last) : BLOCK_NONE)
			follow_line(worker, line, pending >= MANY);
		mark_scan_flush(worker);
		mark_flow(worker);
	}
	return true;
}
