/* SPDX-License-Identifier: MIT */
/*
 * mark_scan.c - finds the words that point into blocks.
 *
 * Two compares reject nearly all words; what is left waits in a batch while its line is fetched
 * from memory, since lines are met in no order: one miss at a time would cost more than reading.
 */
#include "src/leak/mark/mark_work.h"

#include <string.h>

uint64_t mark_word_place(const struct marker *marker, uint64_t word)
{
	uint64_t place = mark_index_place(&marker->index, word), start;
	const struct blocks *map = marker->map;
	struct block block;

	if (place == BLOCK_NONE || map->aligned || !block_pointer_near(word))
		return place;
	start = map_start(map, place >> 4);
	if (start == BLOCK_NONE)
		return BLOCK_NONE;
	block = map_block(map, map_segment_of(map, start), start);
	return block_pointer_halved(&block, word) ? BLOCK_NONE : place;
}

uint64_t mark_block_at(const struct blocks *map, uint64_t place)
{
	uint64_t index = place >> 4, start = map_start(map, index);

	if (start == BLOCK_NONE || !(place & 15) || !(map_line(map, index)->end & map_bit(index)))
		return start;
	return (place & 15) < map_tail(map_segment_of(map, index), index) ? start : BLOCK_NONE;
}

static void follow(struct worker *worker, struct candidate candidate)
{
	uint64_t start = mark_block_at(worker->marker->map, candidate.place);

	if (start != BLOCK_NONE && start != candidate.source)
		mark_place(worker, start, candidate.place);
}

void mark_scan_flush(struct worker *worker)
{
	size_t count = worker->batch_count;

	/* Nothing called below scans. */
	worker->batch_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (worker->recording)
			mark_records_add(worker, worker->batch[i]);
		else
			follow(worker, worker->batch[i]);
	}
}

static void mark_scan_take(struct worker *worker, uint64_t word, uint64_t source)
{
	uint64_t place = mark_word_place(worker->marker, word);

	if (place == BLOCK_NONE)
		return;
	__builtin_prefetch(map_line(worker->marker->map, place >> 4), 1);
	worker->batch[worker->batch_count++] = (struct candidate){ place, source };
	if (worker->batch_count == BATCH_ROOM)
		mark_scan_flush(worker);
}

void mark_scan_word(struct worker *worker, uint64_t word, uint64_t source)
{
	if (mark_index_may(&worker->marker->index, word))
		mark_scan_take(worker, word, source);
}

void mark_scan_words(struct worker *worker, const uint8_t *memory, size_t bytes, uint64_t source)
{
	const struct mark_index *index = &worker->marker->index;
	uint64_t word;

	for (size_t i = 0; i < bytes; i += sizeof(word)) {
		memcpy(&word, memory + i, sizeof(word));
		if (__builtin_expect(mark_index_may(index, word), 0))
			mark_scan_take(worker, word, source);
	}
}

void mark_scan_range(struct worker *worker, uint64_t low, uint64_t high, uint64_t source)
{
	worker->buffer_high = worker->buffer_low = 0;
	low = (low + 7) & ~7ull;
	high &= ~7ull;
	while ((low = picture_skip_hole(worker->marker->input->picture, low)) < high) {
		size_t bytes = high - low > BUFFER_BYTES ? BUFFER_BYTES : high - low;

		mark_read(worker->marker->input->picture, low, worker->buffer, bytes);
		mark_scan_words(worker, worker->buffer, bytes, source);
		low += bytes;
	}
	mark_scan_flush(worker);
}
