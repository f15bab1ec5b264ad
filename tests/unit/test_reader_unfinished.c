/* SPDX-License-Identifier: MIT */
/* test_reader_unfinished.c - records in the making: holes, and slots that say nothing yet. */
#include "tests/unit/reader_fixture.h"

static void passes_over_a_hole(void **state)
{
	struct fixture *fixture = *state;
	uint64_t hole;

	put(fixture, 0, 10, 1);
	hole = ring_writer_reserve(&fixture->writer, 0, 1);
	ring_writer_busy(&fixture->writer, 0, hole, 1);
	put(fixture, 0, 30, 3);
	put(fixture, 1, 40, 4);
	assert_int_equal(drain(fixture), 3);
	/* Nothing beyond the hole is released: its writer still writes. */
	assert_int_equal(fixture->writer.control->ring[0].tail, hole);
	clock_value = 2000;
	commit(fixture, 0, hole, 20);
	put(fixture, 1, 50, 5);
	assert_int_equal(drain(fixture), 2);
	assert_order(fixture, 5, (uint64_t[]){ 10, 30, 40, 20, 50 });
	assert_int_equal(fixture->writer.control->ring[0].tail, 3);
}

static void is_held_up(const struct fixture *fixture, uint64_t first, uint64_t second)
{
	assert_int_equal(fixture->writer.control->ring[0].held_up, first);
	assert_int_equal(fixture->writer.control->ring[1].held_up, second);
}

/* Who waits for room has to know: is it behind a record in the making, or is the reader slow? */
static void says_that_it_is_held_up(void **state)
{
	struct fixture *fixture = *state;
	uint64_t position;

	put(fixture, 0, 10, 1);
	put(fixture, 1, 1500, 1);	/* too young is not unfinished */
	assert_int_equal(drain(fixture), 1);
	is_held_up(fixture, 0, 0);
	position = ring_writer_reserve(&fixture->writer, 1, 1);		/* not even BUSY */
	put(fixture, 0, 1500, 1);
	assert_int_equal(drain(fixture), 1);
	is_held_up(fixture, 1, 1);
	ring_writer_busy(&fixture->writer, 1, position, 1);
	reader_hold(fixture->reader, 1200);	/* it would not go on anyway */
	assert_int_equal(drain(fixture), 1);
	is_held_up(fixture, 1, 1);
	reader_hold(fixture->reader, 0);
	(void)drain(fixture);
	is_held_up(fixture, 1, 2);
	commit(fixture, 1, position, 20);
	assert_int_equal(drain(fixture), 1);
	is_held_up(fixture, 1, 2);
}

static void takes_holes_in_any_order(void **state)
{
	struct fixture *fixture = *state;
	uint64_t hole[3];

	for (size_t i = 0; i < 3; i++) {
		hole[i] = ring_writer_reserve(&fixture->writer, 0, 1);
		ring_writer_busy(&fixture->writer, 0, hole[i], 1);
	}
	put(fixture, 0, 100, 1);
	assert_int_equal(drain(fixture), 1);
	commit(fixture, 0, hole[1], 11);
	assert_int_equal(drain(fixture), 1);
	assert_int_equal(fixture->writer.control->ring[0].tail, 0);
	commit(fixture, 0, hole[0], 10);
	assert_int_equal(drain(fixture), 1);
	assert_int_equal(fixture->writer.control->ring[0].tail, hole[2]);
	commit(fixture, 0, hole[2], 12);
	assert_int_equal(drain(fixture), 1);
	assert_order(fixture, 4, (uint64_t[]){ 100, 11, 10, 12 });
	assert_int_equal(fixture->writer.control->ring[0].tail, 4);
}

/* Behind an unwritten slot may lie what a record of another ring depends on: the batch ends. */
static void stops_all_rings_at_an_unwritten_slot(void **state)
{
	struct fixture *fixture = *state;
	uint64_t slot;

	put(fixture, 1, 1500, 1);
	assert_int_equal(drain(fixture), 0);
	/* Reserved after the look at 1000, so what depends on it is stamped later than that. */
	slot = ring_writer_reserve(&fixture->writer, 0, 1);
	put(fixture, 0, 1600, 2);
	put(fixture, 1, 1700, 3);
	clock_value = 2000;
	assert_int_equal(drain(fixture), 0);
	assert_int_equal(reader_time(fixture->reader), 1000);
	clock_value = 3000;
	assert_int_equal(drain(fixture), 0);
	commit(fixture, 0, slot, 1550);
	clock_value = 4000;
	assert_int_equal(drain(fixture), 4);
	assert_order(fixture, 4, (uint64_t[]){ 1500, 1550, 1600, 1700 });
	assert_int_equal(reader_time(fixture->reader), 4000);
}

/*
 * A ring that filled since the last look, and whose last slot is unwritten, because its writer was
 * interrupted: who came in between waits for room there, so what lies before must not wait for it.
 */
static void reads_up_to_an_unwritten_slot(void **state)
{
	struct fixture *fixture = *state;
	const struct ring_control *control = fixture->writer.control;
	uint64_t latest = 1100 + LINES - 2;

	assert_int_equal(drain(fixture), 0);
	clock_value = 5000;
	for (uint64_t i = 0; i < LINES - 1; i++)
		put(fixture, 0, 1100 + i, i);
	(void)ring_writer_reserve(&fixture->writer, 0, 1);
	put(fixture, 1, latest - 1, 1);
	put(fixture, 1, latest, 2);	/* it may depend on what is behind the slot */
	assert_int_equal(drain(fixture), LINES - 2 + 1);
	assert_int_equal(reader_time(fixture->reader), latest);
	assert_int_equal(control->ring[0].tail, LINES - 2);
	assert_int_equal(control->ring[1].tail, 1);
	assert_int_equal(drain(fixture), 0);
	commit(fixture, 0, LINES - 1, 4000);
	assert_int_equal(drain(fixture), 3);
	assert_int_equal(reader_time(fixture->reader), 5000);
}

/* What lies where a pad's time would is an older record's; a time that is yet to come is a lie. */
static void knows_what_is_no_bound(void **state)
{
	struct fixture *fixture = *state;
	uint64_t pad;

	assert_int_equal(drain(fixture), 0);
	clock_value = 5000;
	put(fixture, 0, 1500, 1);
	pad = put(fixture, 0, 1900, 2);
	ring_writer_at(&fixture->writer, 0, pad)->kind = RING_PAD;
	(void)ring_writer_reserve(&fixture->writer, 0, 1);
	put(fixture, 1, 1400, 3);
	put(fixture, 1, 1600, 4);
	assert_int_equal(drain(fixture), 1);
	assert_int_equal(reader_time(fixture->reader), 1500);
	commit(fixture, 0, pad + 1, 2000);
	assert_int_equal(drain(fixture), 3);
	clock_value = 6000;
	put(fixture, 0, 7000, 5);
	(void)ring_writer_reserve(&fixture->writer, 0, 1);
	(void)drain(fixture);
	assert_int_equal(reader_time(fixture->reader), 5000);
}

/* What was stamped before the unwritten slot was reserved can't depend on it: let through. */
static void lets_the_past_through(void **state)
{
	struct fixture *fixture = *state;
	uint64_t hole = ring_writer_reserve(&fixture->writer, 1, 1);

	ring_writer_busy(&fixture->writer, 1, hole, 1);
	assert_int_equal(drain(fixture), 0);
	ring_writer_reserve(&fixture->writer, 0, 1);
	commit(fixture, 1, hole, 900);
	clock_value = 2000;
	assert_int_equal(drain(fixture), 1);
}

/* A hole may be younger than what an unwritten slot holds back: committed or not, it waits. */
static void holds_young_holes_back(void **state)
{
	struct fixture *fixture = *state;
	uint64_t hole = ring_writer_reserve(&fixture->writer, 1, 1), slot;

	ring_writer_busy(&fixture->writer, 1, hole, 1);
	assert_int_equal(drain(fixture), 0);
	slot = ring_writer_reserve(&fixture->writer, 0, 1);
	put(fixture, 0, 1100, 1);
	/* Stamped after the look at 1000 began: it may depend on what lies behind the slot. */
	commit(fixture, 1, hole, 1200);
	clock_value = 2000;
	assert_int_equal(drain(fixture), 0);
	assert_int_equal(fixture->writer.control->ring[1].tail, hole);
	commit(fixture, 0, slot, 1050);
	clock_value = 3000;
	assert_int_equal(drain(fixture), 3);
	assert_order(fixture, 3, (uint64_t[]){ 1050, 1100, 1200 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RINGS(passes_over_a_hole),
		WITH_RINGS(says_that_it_is_held_up),
		WITH_RINGS(takes_holes_in_any_order),
		WITH_RINGS(stops_all_rings_at_an_unwritten_slot),
		WITH_RINGS(reads_up_to_an_unwritten_slot),
		WITH_RINGS(knows_what_is_no_bound),
		WITH_RINGS(lets_the_past_through),
		WITH_RINGS(holds_young_holes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
