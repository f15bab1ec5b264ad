/* SPDX-License-Identifier: MIT */
/*
 * reader_ahead.c - what will be handed over soon.
 *
 * Without this, exact mode would mostly wait for memory: a record that another CPU wrote, the
 * place of its address in a large table, the block that it leads to. Each wait can be over
 * before its turn comes, as the addresses of the next records are known. Lines that are not a
 * record's first are not told from it with certainty; foresee() takes anything.
 */
#include "src/ring/reader_private.h"

#define LINE_AHEAD	36u	/* records, if each has one line */

static const uint32_t stage_ahead[READER_STAGES] = { 28, 20, 12, 6 };

/* The first look at what may be a record. */
static bool note(const struct reader *reader, const struct reader_ring *ring, uint64_t position,
		 struct reader_hint *ret)
{
	const struct ring_record *record =
		(const void *)ring_line(reader, ring, position);
	uint64_t commit = ring_load(&record->commit);

	if ((int64_t)(position - ring->limit) >= 0 ||
	    ring_commit_position(commit) != (position & POSITION_MASK) ||
	    ring_commit_state(commit) != RING_DONE ||
	    (record->kind != RING_ALLOC && record->kind != RING_FREE))
		return false;
	*ret = (struct reader_hint){
		.address = ring_load(&record->address),
		.path = record->flags & RING_F_PATH ? ring_load(&record->caller) : 0,
	};
	return true;
}

void reader_look_ahead(const struct reader *reader, struct reader_ring *ring)
{
	uint64_t first = ring->parsed + stage_ahead[0];
	struct reader_ahead *ahead = &ring->ahead[first % AHEAD];
	struct reader_hint *hint[READER_STAGES];

	if (ring->limit - ring->parsed > LINE_AHEAD)
		__builtin_prefetch(ring_line(reader, ring, ring->parsed + LINE_AHEAD));
	ahead->position = note(reader, ring, first, &ahead->hint) ? first : 0;
#pragma GCC unroll 4
	for (unsigned int stage = 0; stage < READER_STAGES; stage++) {
		uint64_t position = ring->parsed + stage_ahead[stage];

		ahead = &ring->ahead[position % AHEAD];
		hint[stage] = ahead->position == position ? &ahead->hint : NULL;
	}
	reader->foresee(reader->foresee_context, hint);
}
