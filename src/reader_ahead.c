/* SPDX-License-Identifier: MIT */
/*
 * reader_ahead.c - what will be handed over soon.
 *
 * Most of the time of exact mode is waiting for memory: a record that another CPU wrote, the
 * place of its address in a large table, the block that it leads to. Each wait can be over
 * before its turn comes, as the addresses of the next records are known. Lines that are not a
 * record's first are not told from it with certainty; foresee() takes any address.
 */
#include "src/reader_private.h"

#define LINE_AHEAD	32u	/* records, if each has one line */

static const uint32_t stage_ahead[READER_STAGES] = { 24, 16, 8 };

static void foresee(const struct reader *reader, const struct reader_ring *ring,
		    unsigned int stage)
{
	uint64_t position = ring->parsed + stage_ahead[stage];
	const struct ring_record *record =
		(const void *)ring_line(reader, ring, position);
	uint64_t commit = ring_load(&record->commit);

	if ((int64_t)(position - ring->limit) >= 0 ||
	    ring_commit_position(commit) != (position & POSITION_MASK) ||
	    ring_commit_state(commit) != RING_DONE)
		return;
	if (record->kind == RING_ALLOC || record->kind == RING_FREE)
		reader->foresee(reader->foresee_context, stage, ring_load(&record->address));
}

void reader_look_ahead(const struct reader *reader, const struct reader_ring *ring)
{
	__builtin_prefetch(ring_line(reader, ring, ring->parsed + LINE_AHEAD));
	for (unsigned int stage = 0; stage < READER_STAGES; stage++)
		foresee(reader, ring, stage);
}
