/* SPDX-License-Identifier: MIT */
/* test_trace_queue.c - the order of a log of calls, when they overlap, never end, are too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/trace/queue.h"

#define PATIENCE 1000u
#define NOW 100u

static struct trace_queue *queue;

static int set_up(void **state)
{
	(void)state;
	return trace_queue_new(64, PATIENCE, &queue);
}

static int tear_down(void **state)
{
	(void)state;
	trace_queue_free(queue);
	return 0;
}

static struct trace_line call_of(enum ring_shape shape, uint64_t thread, uint64_t time)
{
	return (struct trace_line){ .shape = (uint16_t)shape, .thread = thread, .time = time };
}

static void announce(enum ring_shape shape, uint64_t thread, uint64_t block, uint64_t time)
{
	struct trace_line call = call_of(shape, thread, time);

	call.argument[0] = block;
	trace_queue_announce(queue, &call);
}

static bool returned(enum ring_shape shape, uint64_t thread, uint64_t argument, uint64_t result,
		     uint64_t time)
{
	struct trace_line call = call_of(shape, thread, time);
	bool old = (shape == RING_SHAPE_FREE || shape == RING_SHAPE_REALLOC ||
		    shape == RING_SHAPE_MUNMAP) && argument;

	call.argument[0] = argument;
	call.argument[1] = 8;
	call.result = result;
	call.begin = time - 2;
	call.end = time - 1;
	return trace_queue_return(queue, &call, old);
}

/* The next line is of that shape, thread and time; end: its end is known. */
static void next_is(uint64_t now, enum ring_shape shape, uint64_t thread, uint64_t time, bool end)
{
	const struct trace_line *line = trace_queue_first(queue, now);

	assert_non_null(line);
	assert_int_equal(line->shape, shape);
	assert_int_equal(line->thread, thread);
	assert_int_equal(line->time, time);
	assert_int_equal(line->end != 0, end);
	trace_queue_shift(queue);
}

static void none_is_next(uint64_t now)
{
	assert_null(trace_queue_first(queue, now));
}

static void puts_frees_where_they_were_called(void **state)
{
	(void)state;
	announce(RING_SHAPE_FREE, 1, 0xa, 10);
	assert_true(returned(RING_SHAPE_MALLOC, 2, 8, 0xa, 20));
	none_is_next(NOW);
	assert_true(returned(RING_SHAPE_FREE, 1, 0xa, 0, 30));
	next_is(NOW, RING_SHAPE_FREE, 1, 10, true);
	next_is(NOW, RING_SHAPE_MALLOC, 2, 20, true);
	none_is_next(NOW);
}

static void puts_free_of_nothing_where_it_returned(void **state)
{
	(void)state;
	assert_true(returned(RING_SHAPE_FREE, 1, 0, 0, 30));
	next_is(NOW, RING_SHAPE_FREE, 1, 30, true);
}

static void puts_a_realloc_before_who_got_its_old_block(void **state)
{
	(void)state;
	announce(RING_SHAPE_REALLOC, 1, 0xa, 10);
	assert_true(returned(RING_SHAPE_MALLOC, 2, 8, 0xb, 15));
	next_is(NOW, RING_SHAPE_MALLOC, 2, 15, true);
	assert_true(returned(RING_SHAPE_MALLOC, 2, 8, 0xa, 20));
	none_is_next(NOW);
	assert_true(returned(RING_SHAPE_MALLOC, 3, 8, 0xc, 25));
	assert_true(returned(RING_SHAPE_REALLOC, 1, 0xa, 0xd, 30));
	next_is(NOW, RING_SHAPE_REALLOC, 1, 20, true);
	next_is(NOW, RING_SHAPE_MALLOC, 2, 20, true);
	next_is(NOW, RING_SHAPE_MALLOC, 3, 25, true);
}

static void puts_other_reallocs_where_they_returned(void **state)
{
	(void)state;
	announce(RING_SHAPE_REALLOC, 1, 0xa, 10);
	assert_true(returned(RING_SHAPE_MALLOC, 2, 8, 0xb, 20));
	assert_true(returned(RING_SHAPE_REALLOC, 1, 0xa, 0xd, 30));
	next_is(NOW, RING_SHAPE_MALLOC, 2, 20, true);
	next_is(NOW, RING_SHAPE_REALLOC, 1, 30, true);
}

static void keeps_an_unmapping_inside_a_free_apart(void **state)
{
	(void)state;
	announce(RING_SHAPE_FREE, 1, 0xa, 10);
	announce(RING_SHAPE_MUNMAP, 1, 0xa000, 12);
	assert_true(returned(RING_SHAPE_MUNMAP, 1, 0xa000, 0, 14));
	assert_true(returned(RING_SHAPE_FREE, 1, 0xa, 0, 16));
	next_is(NOW, RING_SHAPE_FREE, 1, 10, true);
	next_is(NOW, RING_SHAPE_MUNMAP, 1, 12, true);
}

static void lets_go_what_never_returns(void **state)
{
	(void)state;
	announce(RING_SHAPE_FREE, 1, 0xa, 10);
	assert_true(returned(RING_SHAPE_MALLOC, 2, 8, 0xb, 20));
	none_is_next(10 + PATIENCE);
	next_is(11 + PATIENCE, RING_SHAPE_FREE, 1, 10, false);
	next_is(11 + PATIENCE, RING_SHAPE_MALLOC, 2, 20, true);
	/* it does after all: it stands there already */
	assert_true(returned(RING_SHAPE_FREE, 1, 0xa, 0, 3000));
	none_is_next(UINT64_MAX);
	/* the next one of its thread makes an end of it, too */
	announce(RING_SHAPE_FREE, 1, 0xb, 3010);
	announce(RING_SHAPE_FREE, 1, 0xc, 3020);
	next_is(3030, RING_SHAPE_FREE, 1, 3010, false);
	none_is_next(3030);
}

static void never_goes_back_in_time(void **state)
{
	(void)state;
	assert_true(returned(RING_SHAPE_MALLOC, 1, 8, 0xa, 20));
	assert_true(returned(RING_SHAPE_MALLOC, 2, 8, 0xb, 19));
	next_is(NOW, RING_SHAPE_MALLOC, 1, 20, true);
	next_is(NOW, RING_SHAPE_MALLOC, 2, 20, true);
}

static void refuses_what_it_has_no_room_for(void **state)
{
	struct trace_line late = { .kind = TRACE_LATE };
	uint64_t put = 0;

	(void)state;
	announce(RING_SHAPE_FREE, 7, 0xa, 5);
	while (returned(RING_SHAPE_MALLOC, 1, 8, 0x100 + put, 20 + put))
		put++;
	assert_int_equal(put, 64 - TRACE_QUEUE_SPARE);
	announce(RING_SHAPE_FREE, 2, 0xb, 90);
	assert_false(returned(RING_SHAPE_FREE, 2, 0xb, 0, 91));
	assert_true(trace_queue_remark(queue, &late));
	/* full: nothing is waited for; what has its place is filled all the same */
	assert_true(returned(RING_SHAPE_FREE, 7, 0xa, 0, 95));
	next_is(NOW, RING_SHAPE_FREE, 7, 5, true);
	for (uint64_t i = 0; i < put; i++)
		next_is(NOW, RING_SHAPE_MALLOC, 1, 20 + i, true);
	assert_int_equal(trace_queue_first(queue, NOW)->kind, TRACE_LATE);
	trace_queue_shift(queue);
	none_is_next(NOW);
}

/* More threads inside a call than are remembered: their calls stand there without an end. */
static void survives_any_number_of_threads(void **state)
{
	const struct trace_line *line;
	uint64_t lines = 0;

	(void)state;
	for (uint64_t thread = 1; thread <= 5000; thread++) {
		announce(thread % 3 ? RING_SHAPE_FREE : RING_SHAPE_REALLOC, thread, thread,
			       thread);
		if (thread % 7 == 0)
			(void)returned(RING_SHAPE_MALLOC, thread + 1, 8, thread - 4, thread);
		while ((line = trace_queue_first(queue, thread)) != NULL) {
			lines++;
			trace_queue_shift(queue);
		}
	}
	assert_true(lines > 2000);
}

int main(void)
{
#define QUEUE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		QUEUE(puts_frees_where_they_were_called),
		QUEUE(puts_free_of_nothing_where_it_returned),
		QUEUE(puts_a_realloc_before_who_got_its_old_block),
		QUEUE(puts_other_reallocs_where_they_returned),
		QUEUE(keeps_an_unmapping_inside_a_free_apart),
		QUEUE(lets_go_what_never_returns),
		QUEUE(never_goes_back_in_time),
		QUEUE(refuses_what_it_has_no_room_for),
		QUEUE(survives_any_number_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
