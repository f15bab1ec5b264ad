/* SPDX-License-Identifier: MIT */
/* reader_fixture.h - a reader of two small rings, whose writer and whose clock are the test's. */
#ifndef MEMATTACH_TESTS_READER_FIXTURE_H
#define MEMATTACH_TESTS_READER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/ring/reader.h"
#include "tests/unit/ring_writer.h"

#define LINES		64u
#define SEEN_MAX	8192

static uint64_t clock_value;

static inline uint64_t clock_read(void)
{
	return clock_value;
}

struct seen {
	size_t count;
	uint64_t time[SEEN_MAX], address[SEEN_MAX];
	struct event last;
	uint8_t stack[256];
};

static inline void see(void *context, const struct event *event)
{
	struct seen *seen = context;

	if (seen->count < SEEN_MAX) {
		seen->time[seen->count] = event->time;
		seen->address[seen->count] = event->address;
	}
	seen->count++;
	seen->last = *event;
	if (event->stack_bytes && event->stack_bytes <= sizeof(seen->stack))
		memcpy(seen->stack, event->stack, event->stack_bytes);
}

struct fixture {
	struct ring_writer writer;
	struct reader *reader;
	struct seen seen;
};

static inline int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct reader_source source = { .clock = clock_read };

	ring_writer_init(&fixture->writer, 2, LINES);
	source.mapping = fixture->writer.mapping;
	source.bytes = fixture->writer.bytes;
	clock_value = 1000;
	assert_int_equal(reader_new(&source, &fixture->reader), 0);
	*state = fixture;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	reader_free(fixture->reader);
	ring_writer_done(&fixture->writer);
	free(fixture);
	return 0;
}

static inline uint64_t put(struct fixture *fixture, uint32_t ring, uint64_t time, uint64_t address)
{
	struct ring_record record = { .time = time, .address = address, .kind = RING_ALLOC,
				      .size = 16, .thread = 7, .caller = 0x1234 };

	return ring_writer_put(&fixture->writer, ring, &record);
}

static inline void commit(struct fixture *fixture, uint32_t ring, uint64_t position, uint64_t time)
{
	struct ring_record record = { .time = time, .address = time, .kind = RING_ALLOC };

	ring_writer_commit(&fixture->writer, ring, position, &record, NULL, NULL);
}

static inline int drain(struct fixture *fixture)
{
	return reader_drain(fixture->reader, see, &fixture->seen);
}

static inline void assert_order(const struct fixture *fixture, size_t count, const uint64_t *time)
{
	assert_int_equal(fixture->seen.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(fixture->seen.time[i], time[i]);
}

#define WITH_RINGS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
