/* SPDX-License-Identifier: MIT */
/*
 * mark_large.c - what is read in pieces, by all workers: roots, and large blocks that were reached.
 *
 * A list of starts under a lock: it can't have more than one entry for each 4 KiB of the heap,
 * and a piece takes much longer than the lock. Probing comes before the lost phase, in
 * which one worker alone follows pointers, so that he need not read large blocks without any.
 */
#include "src/leak/mark/mark_work.h"

#include "src/leak/mark/mark_records.h"

#define PIECE	BUFFER_BYTES

bool mark_large_queue(struct marker *marker, uint64_t start)
{
	struct large *large = &marker->large;
	bool done = true;

	pthread_mutex_lock(&large->lock);
	if (large->count == large->room) {
		size_t room = large->room + large->room / 2 + 512;
		uint64_t *grown = reallocarray(large->index, room, sizeof(*grown));

		done = grown;
		if (grown) {
			large->index = grown;
			large->room = room;
		}
	}
	if (done)
		large->index[large->count++] = start;
	pthread_mutex_unlock(&large->lock);
	return done;
}

void mark_large_add(struct worker *worker, uint64_t start)
{
	if (!mark_large_queue(worker->marker, start))
		mark_pending_add(worker->marker, start);
}

/* A stretch to be read and the block that it is of. */
struct piece {
	uint64_t low, high, source;
};

static bool take_block(struct marker *marker)
{
	struct large *large = &marker->large;
	const struct segment *segment;
	struct block block;

	if (!large->count)
		return false;
	large->source = large->index[--large->count];
	segment = map_segment_of(marker->map, large->source);
	block = map_block(marker->map, segment, large->source);
	large->at = block.address;
	large->end = block.address + block.bytes;
	return true;
}

/* Moves on to the next byte that is in no hole, of this block or another; false: there is none. */
static bool find_filled(struct marker *marker)
{
	struct large *large = &marker->large;

	do
		large->at = picture_skip_hole(marker->input->picture, large->at);
	while (large->at >= large->end && take_block(marker));
	return large->at < large->end;
}

static bool take_piece(struct marker *marker, struct piece *ret)
{
	struct large *large = &marker->large;
	bool taken;

	pthread_mutex_lock(&large->lock);
	taken = find_filled(marker);
	if (taken) {
		ret->low = large->at;
		ret->high = large->end - large->at > PIECE ? large->at + PIECE : large->end;
		ret->source = large->source;
		large->at = ret->high;
	}
	pthread_mutex_unlock(&large->lock);
	return taken;
}

bool mark_large_job(struct worker *worker)
{
	struct piece piece;

	if (!take_piece(worker->marker, &piece))
		return false;
	mark_scan_range(worker, piece.low, piece.high, piece.source);
	mark_flow(worker);
	return true;
}

/* Whether a word of the piece leads to another lost block. */
static bool leads_somewhere(struct worker *worker, const struct piece *piece)
{
	struct marker *marker = worker->marker;
	uint64_t low = piece->low, high = piece->high & ~7ull, word;

	if (low >= high)
		return false;
	worker->buffer_low = worker->buffer_high = 0;
	mark_read(marker->input->picture, low, worker->buffer, high - low);
	for (const uint8_t *at = worker->buffer; at < worker->buffer + (high - low); at += 8) {
		uint64_t place = BLOCK_NONE, start = BLOCK_NONE;

		memcpy(&word, at, sizeof(word));
		if (mark_index_may(&marker->index, word))
			place = mark_word_place(marker, word);
		if (place != BLOCK_NONE)
			start = mark_block_at(marker->map, place);
		if (start != BLOCK_NONE && start != piece->source &&
		    (line_lost(map_line(marker->map, start)) & map_bit(start)))
			return true;
	}
	return false;
}

bool mark_probe_job(struct worker *worker)
{
	const uint8_t *record;
	struct piece piece;

	if (!take_piece(worker->marker, &piece))
		return false;
	record = mark_record(worker->marker, piece.source);
	if (record && __atomic_load_n(record, __ATOMIC_RELAXED) == RECORD_EMPTY &&
	    leads_somewhere(worker, &piece))
		__atomic_store_n((uint8_t *)(uintptr_t)record, RECORD_UNREAD, __ATOMIC_RELAXED);
	return true;
}

static bool take_root(struct marker *marker, struct piece *ret)
{
	const struct roots *roots = marker->input->roots;
	struct large *large = &marker->large;
	bool taken;

	pthread_mutex_lock(&large->lock);
	while (large->root_at >= large->root_end && large->root < roots->count) {
		large->root_at = roots->root[large->root].low;
		large->root_end = roots->root[large->root++].high;
	}
	taken = large->root_at < large->root_end;
	if (taken) {
		ret->low = large->root_at;
		ret->high = large->root_end - ret->low > PIECE ? ret->low + PIECE : large->root_end;
		large->root_at = ret->high;
	}
	pthread_mutex_unlock(&large->lock);
	return taken;
}

bool mark_root_job(struct worker *worker)
{
	struct piece piece;

	if (!take_root(worker->marker, &piece))
		return false;
	mark_scan_range(worker, piece.low, piece.high, NO_SOURCE);
	mark_flow(worker);
	return true;
}
