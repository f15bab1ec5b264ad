/* SPDX-License-Identifier: MIT */
/*
 * standstill.c - when a wait for room has no end.
 *
 * A reader may wait for a record that somebody is in the middle of: for this very thread's, which
 * a signal handler has interrupted there and which waits for room now. Each would wait for the
 * other for ever. The record may not even have said BUSY yet, as a signal comes most easily just
 * behind the locked instruction that reserves; and it may be in another ring or behind records
 * that are there: those that may depend on it are not handed over.
 *
 * That the tail stands still tells little. The reader may be slow: with a quarter of a ring to
 * unwind it can take seconds on a busy machine. And at any moment some record is in the making. So
 * one has to be unfinished all the time, and the reader itself has to say, of a drain that began
 * after we had seen that, that a record in the making held it up (held_up).
 */
#include "inject/shim/standstill.h"

#define STANDSTILL_CYCLES (1ull << 33)	/* two to four seconds */

static uint64_t commit_at(const struct ring_control *control, uint32_t ring, uint64_t position)
{
	const uint8_t *lines = (const uint8_t *)control + control->rings_offset +
			       ring * control->ring_bytes;
	uint64_t line = position & (control->ring_lines - 1);

	return shim_load((const uint64_t *)(lines + line * RING_LINE));
}

/* position: as in a commit word. */
static bool is_there(uint64_t word, uint64_t position)
{
	return ring_commit_position(word) == position && ring_commit_state(word) == RING_DONE &&
	       ring_commit_lines(word) > 0;
}

/* Behind one that does not even say how long it is nothing can be told. */
static void note_unfinished(const struct ring_control *control, uint32_t ring,
			    struct standstill *still)
{
	uint64_t head = shim_load(&control->ring[ring].head), word;
	uint64_t position = shim_load(&control->ring[ring].tail);

	while (position < head && still->count < STANDSTILL_UNFINISHED) {
		uint64_t low = ring_position_low(position);

		word = commit_at(control, ring, position);
		if (!is_there(word, low))
			still->record[still->count++] = ring_unfinished_pack(ring, position);
		if (ring_commit_position(word) != low || ring_commit_lines(word) == 0)
			return;
		position += ring_commit_lines(word);
	}
}

/* One that was released, or whose ring is not there, is not. */
static bool is_still_unfinished(const struct ring_control *control, uint64_t record)
{
	uint32_t ring = ring_unfinished_ring(record);
	uint64_t position = ring_position_low(record);

	return ring < control->ring_count &&
	       ring_position_low(shim_load(&control->ring[ring].tail)) <= position &&
	       !is_there(commit_at(control, ring, position), position);
}

/*
 * The own ring first: a record that says BUSY holds up its own ring only, and beside it others come
 * and go in all others. One that says nothing stops all of them, and then few come.
 */
static void look(const struct ring_control *control, const struct place *place,
		 struct standstill *still)
{
	uint32_t own = (uint32_t)(place->head - control->ring);

	still->looked = true;
	still->count = 0;
	still->held_up = shim_load(&place->head->held_up);
	note_unfinished(control, own, still);
	for (uint32_t i = 0; i < control->ring_count; i++)
		if (i != own)
			note_unfinished(control, i, still);
}

/* The first of two drains may have begun before we looked. */
static bool reader_is_held_up(const struct place *place, const struct standstill *still)
{
	return shim_load(&place->head->held_up) - still->held_up >= 2;
}

static bool give_up(const struct ring_control *control, const struct place *place,
		    const struct standstill *still)
{
	for (uint32_t i = 0; i < still->count; i++) {
		if (!is_still_unfinished(control, still->record[i]))
			continue;
		shim_store(&place->head->given_up_for, still->record[i]);
		shim_store(&place->head->given_up, still->tail + 1);
		return true;
	}
	return false;
}

static bool was_given_up(const struct ring_control *control, const struct place *place,
			 uint64_t tail)
{
	return shim_load(&place->head->given_up) == tail + 1 &&
	       is_still_unfinished(control, shim_load(&place->head->given_up_for));
}

void standstill_begin(struct standstill *still, const struct place *place)
{
	still->tail = shim_load(&place->head->tail);
	still->since = place->time;
	still->looked = false;
}

bool standstill_is_for_ever(const struct ring_control *control, const struct place *place,
			    struct standstill *still)
{
	uint64_t tail = shim_load(&place->head->tail), waited = place->time - still->since;

	if (tail != still->tail) {
		standstill_begin(still, place);
		return false;
	}
	if (was_given_up(control, place, tail))
		return true;
	if (!still->looked && waited >= STANDSTILL_CYCLES / 2) {
		look(control, place, still);
		/* we may have stood still, too */
		still->since = place->time - STANDSTILL_CYCLES / 2;
		return false;
	}
	if (waited < STANDSTILL_CYCLES || !reader_is_held_up(place, still))
		return false;
	if (give_up(control, place, still))
		return true;
	standstill_begin(still, place);
	return false;
}
