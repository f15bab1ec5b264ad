/* SPDX-License-Identifier: MIT */
/* test_reader.c - a simulated writer, wrap, lies and garbage. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "tests/unit/reader_fixture.h"

static void merges_rings_by_time(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 0, 10, 1);
	put(fixture, 1, 20, 2);
	put(fixture, 0, 30, 3);
	put(fixture, 1, 25, 4);
	put(fixture, 1, 40, 5);
	assert_int_equal(drain(fixture), 5);
	assert_order(fixture, 5, (uint64_t[]){ 10, 20, 25, 30, 40 });
	assert_int_equal(fixture->writer.control->ring[0].tail, 2);
	assert_int_equal(fixture->writer.control->ring[1].tail, 3);
	assert_int_equal(drain(fixture), 0);
}

/* A slot order inside a ring that differs from stamps: what came later may depend on it. */
static void keeps_slot_order(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 0, 10, 1);
	put(fixture, 0, 5, 2);
	put(fixture, 1, 7, 3);
	assert_int_equal(drain(fixture), 3);
	assert_order(fixture, 3, (uint64_t[]){ 7, 10, 5 });
}

static void leaves_what_is_younger(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 0, 10, 1);
	put(fixture, 0, 1500, 2);
	put(fixture, 0, 20, 3);
	assert_int_equal(drain(fixture), 1);
	assert_int_equal(fixture->writer.control->ring[0].tail, 1);
	clock_value = 2000;
	assert_int_equal(drain(fixture), 2);
	assert_order(fixture, 3, (uint64_t[]){ 10, 1500, 20 });
}

/* A stamp in the future is a lie as soon as the record lay there at an earlier look. */
static void corrects_lies_about_time(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 0, UINT64_MAX, 1);
	put(fixture, 0, 20, 2);
	assert_int_equal(drain(fixture), 0);
	clock_value = 2000;
	assert_int_equal(drain(fixture), 2);
	assert_order(fixture, 2, (uint64_t[]){ 1999, 20 });
	clock_value = 3000;
	put(fixture, 0, 2500, 3);
	assert_int_equal(drain(fixture), 1);
}

static void wraps_with_pads(void **state)
{
	struct fixture *fixture = *state;
	struct ring_record record = { .kind = RING_ALLOC, .flags = RING_F_STACK,
				      .stack_bytes = 24, .size = 5 };
	struct ring_stack stack = { .rsp = 0x7000, .interval = 4096 };
	uint8_t bytes[192];
	size_t total = 0;

	for (uint64_t round = 1; round < 500; round++) {
		uint64_t position = ring_writer_reserve(&fixture->writer, 0, 5);

		assert_true(position != UINT64_MAX);
		memset(bytes, (int)round, sizeof(bytes));
		record.time = round;
		record.address = round * 16;
		ring_writer_commit(&fixture->writer, 0, position, &record, &stack, bytes);
		clock_value = 1000 + round;
		if (round % 7 == 0)
			total += (size_t)drain(fixture);
	}
	total += (size_t)drain(fixture);
	assert_int_equal(total, 499);
	assert_int_equal(fixture->seen.stack[191], (uint8_t)499);
	for (size_t i = 0; i < 499; i++)
		assert_int_equal(fixture->seen.address[i], (i + 1) * 16);
}

static void hands_over_all_fields(void **state)
{
	struct fixture *fixture = *state;
	struct ring_record record = { .time = 5, .address = 0x1000, .size = 77,
				      .old_address = 0x900, .thread = 3, .caller = 0x401234,
				      .kind = RING_ALLOC,
				      .flags = RING_F_STACK | RING_F_REALLOC, .entry = 9,
				      .stack_bytes = 2, .align_log2 = 6 };
	struct ring_stack stack = { .rsp = 0x7ffe00, .rbp = 1, .rbx = 2, .r12 = 3, .r13 = 4,
				    .r14 = 5, .r15 = 6, .interval = 65536 };
	uint64_t words[2] = { 0x401234, 42 };
	struct event *event = &fixture->seen.last;

	ring_writer_commit(&fixture->writer, 0, ring_writer_reserve(&fixture->writer, 0, 3),
			   &record, &stack, words);
	assert_int_equal(drain(fixture), 1);
	assert_int_equal(event->kind, RING_ALLOC);
	assert_int_equal(event->flags, record.flags);
	assert_int_equal(event->entry, 9);
	assert_int_equal(event->size, 77);
	assert_int_equal(event->old_address, 0x900);
	assert_int_equal(event->alignment, 64);
	assert_int_equal(event->interval, 65536);
	assert_int_equal(event->registers.rip, 0x401234);
	assert_int_equal(event->registers.rsp, 0x7ffe08);
	assert_int_equal(event->registers.r15, 6);
	assert_int_equal(event->stack_address, 0x7ffe00);
	assert_int_equal(event->stack_bytes, 16);
	assert_memory_equal(fixture->seen.stack, words, 16);
}

/* Bytes of a stack that look like a commit word must not survive as one into the next lap. */
static void wipes_forged_headers(void **state)
{
	struct fixture *fixture = *state;
	struct ring_record record = { .time = 1, .kind = RING_ALLOC, .flags = RING_F_STACK,
				      .stack_bytes = 8 };
	struct ring_stack stack = { 0 };
	uint64_t forged[8] = { ring_commit_word(LINES + 2, 1, RING_DONE), [7] = RING_ALLOC };

	ring_writer_commit(&fixture->writer, 0, ring_writer_reserve(&fixture->writer, 0, 3),
			   &record, &stack, forged);
	for (uint64_t i = 3; i < LINES + 2; i++) {
		assert_int_equal(drain(fixture), 1);
		assert_int_equal(put(fixture, 0, i, i), i);
	}
	assert_int_equal(drain(fixture), 1);
	assert_int_equal(ring_writer_reserve(&fixture->writer, 0, 1), LINES + 2);
	assert_int_equal(drain(fixture), 0);
	assert_int_equal(fixture->writer.control->ring[0].tail, LINES + 2);
}

/* A pad is its kind and its commit word: whatever else lay there before, it is no record. */
static void passes_over_pads(void **state)
{
	struct fixture *fixture = *state;
	struct ring_record record = { .time = 1, .kind = RING_ALLOC, .flags = RING_F_STACK };
	struct ring_stack stack = { 0 };

	for (uint64_t i = 0; i < LINES; i++)
		put(fixture, 0, i, i);
	assert_int_equal(drain(fixture), LINES);
	for (uint64_t i = 0; i < 12; i++)
		ring_writer_reserve(&fixture->writer, 0, 5);
	for (uint64_t i = 0; i < 12; i++) {
		record.stack_bytes = 24;
		ring_writer_commit(&fixture->writer, 0, LINES + i * 5, &record, &stack, NULL);
	}
	assert_int_equal(drain(fixture), 12);
	assert_int_equal(ring_writer_reserve(&fixture->writer, 0, 5), 2 * LINES);
	assert_int_equal(drain(fixture), 0);
	assert_int_equal(fixture->writer.control->ring[0].tail, 2 * LINES);
}

static void finish_gives_up_on_the_dead(void **state)
{
	struct fixture *fixture = *state;
	struct reader_losses losses;
	uint64_t hole;

	put(fixture, 0, 10, 1);
	hole = ring_writer_reserve(&fixture->writer, 0, 1);
	ring_writer_busy(&fixture->writer, 0, hole, 1);
	put(fixture, 0, 30, 2);
	ring_writer_reserve(&fixture->writer, 0, 1);
	put(fixture, 0, 50, 3);
	put(fixture, 1, 40, 4);
	assert_int_equal(reader_finish(fixture->reader, see, &fixture->seen), 3);
	assert_order(fixture, 3, (uint64_t[]){ 10, 30, 40 });
	reader_losses(fixture->reader, &losses);
	assert_int_equal(losses.abandoned, 2);
	assert_int_equal(losses.corrupt, 0);
	assert_int_equal(fixture->writer.control->ring[0].tail, 5);
}

static void counts_losses_since_the_start(void **state)
{
	struct fixture *fixture = *state;
	struct reader_source source = { fixture->writer.mapping, fixture->writer.bytes,
					clock_read };
	struct reader_losses losses;

	reader_free(fixture->reader);
	fixture->writer.control->ring[0].lost_alloc = 10;
	assert_int_equal(reader_new(&source, &fixture->reader), 0);
	fixture->writer.control->ring[0].lost_alloc = 13;
	fixture->writer.control->ring[1].lost_alloc = 1;
	fixture->writer.control->ring[1].blocked_cycles = 99;
	fixture->writer.control->lost_table = 2;
	reader_losses(fixture->reader, &losses);
	assert_int_equal(losses.alloc, 4);
	assert_int_equal(losses.blocked_ticks, 99);
	assert_int_equal(losses.table, 2);
	assert_int_equal(reader_lost_records(fixture->reader), 4);
}

static void wakes_those_who_wait(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 0, 1, 1);
	drain(fixture);
	assert_int_equal(fixture->writer.control->wake, 0);
	fixture->writer.control->overflow = RING_OVERFLOW_BLOCK;
	fixture->writer.control->may_wait = 1;
	put(fixture, 0, 2, 1);
	drain(fixture);
	assert_int_equal(fixture->writer.control->wake, 1);
	drain(fixture);
	assert_int_equal(fixture->writer.control->wake, 1);
}

static void *put_half_a_ring(void *context)
{
	struct fixture *fixture = context;
	uint32_t *asleep = &fixture->writer.control->reader_asleep;

	while (__atomic_load_n(asleep, __ATOMIC_SEQ_CST) == 0)
		sched_yield();
	for (uint64_t i = 0; i < LINES / 2; i++)
		put(fixture, 0, i, i);
	__atomic_store_n(asleep, 0, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

static void sleeps_until_half_full(void **state)
{
	struct fixture *fixture = *state;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, put_half_a_ring, fixture), 0);
	/* Far longer than the test may take: only the wake-up ends it in time. */
	reader_wait(fixture->reader, 3600 * 1000000000ull);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(drain(fixture), LINES / 2);
	for (uint64_t i = 0; i < LINES / 2; i++)
		put(fixture, 0, i, i);
	reader_wait(fixture->reader, 3600 * 1000000000ull);	/* half full already */
	assert_int_equal(fixture->writer.control->reader_asleep, 0);
}

static bool says_yes(void *context)
{
	(void)context;
	return true;
}

/* Somebody who tells something just before the sleep begins, and then wakes who sleeps not yet. */
static bool is_told_and_woken(void *context)
{
	struct fixture *fixture = context;

	assert_int_equal(fixture->writer.control->reader_asleep, 1);
	__atomic_store_n(&fixture->writer.control->reader_asleep, 0, __ATOMIC_SEQ_CST);
	return false;
}

static void sleeps_unless_something_came(void **state)
{
	struct fixture *fixture = *state;

	reader_wait_unless(fixture->reader, 3600 * 1000000000ull, says_yes, NULL);
	reader_wait_unless(fixture->reader, 3600 * 1000000000ull, is_told_and_woken, fixture);
	assert_int_equal(fixture->writer.control->reader_asleep, 0);
}

/* Under pressure: until the rings are half empty, whether all that is done or a part. */
static void relieves_what_is_pressed(void **state)
{
	struct fixture *fixture = *state;
	struct ring_control *control = fixture->writer.control;

	control->pressed = RING_PRESSED | RING_WAS_PRESSED;
	for (uint64_t i = 0; i < LINES - 4; i++)
		put(fixture, 0, 100 + i, i);
	reader_hold(fixture->reader, 100 + LINES / 4);
	assert_int_equal(drain(fixture), LINES / 4);
	assert_int_equal(control->pressed, RING_PRESSED | RING_WAS_PRESSED);
	reader_wait(fixture->reader, 3600 * 1000000000ull);	/* does not sleep */
	reader_hold(fixture->reader, 100 + LINES / 2);
	assert_int_equal(drain(fixture), LINES / 4);
	assert_int_equal(control->pressed, RING_WAS_PRESSED);
	/* Nothing to release, and it was pressed a moment after the last look. */
	reader_hold(fixture->reader, 0);
	drain(fixture);
	control->pressed = RING_PRESSED | RING_WAS_PRESSED;
	reader_wait(fixture->reader, 3600 * 1000000000ull);
	assert_int_equal(drain(fixture), 0);
	assert_int_equal(control->pressed, RING_WAS_PRESSED);
}

static void tells_the_backlog(void **state)
{
	struct fixture *fixture = *state;

	assert_true(reader_backlog(fixture->reader) <= 0);
	for (uint64_t i = 0; i < LINES / 2; i++)
		put(fixture, 1, i, i);
	assert_true(reader_backlog(fixture->reader) >= 0.5 &&
		    reader_backlog(fixture->reader) < 0.51);
	fixture->writer.control->ring[0].head = UINT64_MAX / 2;
	assert_true(reader_backlog(fixture->reader) >= 1.0);
}

static void refuses_bad_control(void **state)
{
	struct fixture *fixture = *state;
	struct ring_control good = *fixture->writer.control, *control = fixture->writer.control;
	struct reader_source source = { fixture->writer.mapping, fixture->writer.bytes, NULL };
	struct reader *reader;

#define REFUSED(change) do { \
	change; \
	assert_int_equal(reader_new(&source, &reader), -EBADMSG); \
	*control = good; \
} while (0)
	REFUSED(control->magic++);
	REFUSED(control->version++);
	REFUSED(control->ring_lines = 63);
	REFUSED(control->ring_lines = LINES * 2);
	REFUSED(control->ring_lines = 1ull << 58);
	REFUSED(control->ring_bytes = UINT64_MAX & ~63ull);
	REFUSED(control->ring_bytes += 64);
	REFUSED(control->ring_count = 3);
	REFUSED(control->ring_count = 0);
	REFUSED(control->ring_count = 257);
	REFUSED(control->rings_offset += 64);
	REFUSED(control->rings_offset = 0);
	REFUSED(control->rings_offset = UINT64_MAX - 63);
	source.bytes = 100;
	REFUSED((void)0);
}

static void empties_nonsense(void **state)
{
	struct fixture *fixture = *state;
	struct ring_head *head = &fixture->writer.control->ring[0];
	struct reader_losses losses;

	/* More lines than were reserved. */
	ring_writer_at(&fixture->writer, 0, ring_writer_reserve(&fixture->writer, 0, 2))->commit =
		ring_commit_word(0, 3, RING_DONE);
	assert_int_equal(drain(fixture), 0);
	assert_int_equal(head->tail, head->head);
	/* A head that runs away, or back. */
	head->head += LINES + 1;
	assert_int_equal(drain(fixture), 0);
	assert_int_equal(head->tail, head->head);
	head->head -= 2;
	assert_int_equal(drain(fixture), 0);
	reader_losses(fixture->reader, &losses);
	assert_int_equal(losses.corrupt, 3);
	/* And it works on from there. */
	assert_true(put(fixture, 0, 900, 1) != UINT64_MAX);
	assert_int_equal(drain(fixture), 1);
}

static void drops_impossible_records(void **state)
{
	struct fixture *fixture = *state;
	struct ring_record bad[] = {
		{ .kind = RING_KIND_COUNT },
		{ .kind = RING_ALLOC, .entry = RING_MAX_ENTRIES },
		{ .kind = RING_ALLOC, .size = 1ull << 60 },
		{ .kind = RING_ALLOC, .address = UINT64_MAX },
		{ .kind = RING_ALLOC, .flags = RING_F_STACK },
		{ .kind = RING_UNMAP, .address = 1ull << 55, .size = (1ull << 55) + 1 },
		{ .kind = RING_MAP, .address = (1ull << 56) - 1, .size = 2, },
		{ .kind = RING_BRK, .size = 1ull << 63 },
		{ .kind = RING_CALL },	/* its second line is missing */
	};
	struct reader_losses losses;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ring_writer_put(&fixture->writer, 0, &bad[i]);
	put(fixture, 0, 1, 1);
	assert_int_equal(drain(fixture), 1);
	reader_losses(fixture->reader, &losses);
	assert_int_equal(losses.corrupt, ARRAY_SIZE(bad));
}

/* A chain of records of which every part may be wrong. */
static void write_garbage(struct fixture *fixture, uint32_t ring)
{
	uint64_t tail = fixture->writer.control->ring[ring].tail;

	for (uint64_t i = 0, lines; i < LINES; i += lines) {
		struct ring_record *record = ring_writer_at(&fixture->writer, ring, tail + i);

		lines = 1 + (uint64_t)random() % 4;
		for (size_t byte = 0; byte < sizeof(*record); byte++)
			((uint8_t *)record)[byte] = (uint8_t)random();
		record->commit = ring_commit_word(tail + i, (uint32_t)lines - !(random() % 32),
						  random() % 8 ? RING_DONE
							       : (enum ring_state)(random() % 4));
		record->time = (uint64_t)random() % 3000;
		record->address >>= 8;
		record->size >>= 8;
		record->kind = (uint8_t)(random() % (RING_KIND_COUNT + 1));
		record->entry %= RING_MAX_ENTRIES + 1;
		record->stack_bytes = (uint16_t)(random() % 32);
	}
}

/* Anything at all in the rings and heads: every drain ends, with events that are possible. */
static void survives_garbage(void **state)
{
	struct fixture *fixture = *state;
	struct ring_control *control = fixture->writer.control;

	srandom(1);
	for (int round = 0; round < 3000; round++) {
		for (uint32_t ring = 0; ring < 2; ring++) {
			write_garbage(fixture, ring);
			if (random() % 8)
				control->ring[ring].head = control->ring[ring].tail +
							   (uint64_t)random() % (LINES + 1);
			else
				control->ring[ring].head = (uint64_t)random() << 33;
		}
		clock_value += (uint64_t)random() % 100;
		assert_in_range(drain(fixture), 0, 2 * LINES);
	}
	assert_true(fixture->seen.count > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RINGS(merges_rings_by_time),
		WITH_RINGS(keeps_slot_order),
		WITH_RINGS(leaves_what_is_younger),
		WITH_RINGS(corrects_lies_about_time),
		WITH_RINGS(wraps_with_pads),
		WITH_RINGS(hands_over_all_fields),
		WITH_RINGS(wipes_forged_headers),
		WITH_RINGS(passes_over_pads),
		WITH_RINGS(finish_gives_up_on_the_dead),
		WITH_RINGS(counts_losses_since_the_start),
		WITH_RINGS(wakes_those_who_wait),
		WITH_RINGS(sleeps_until_half_full),
		WITH_RINGS(sleeps_unless_something_came),
		WITH_RINGS(relieves_what_is_pressed),
		WITH_RINGS(tells_the_backlog),
		WITH_RINGS(refuses_bad_control),
		WITH_RINGS(empties_nonsense),
		WITH_RINGS(drops_impossible_records),
		WITH_RINGS(survives_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
