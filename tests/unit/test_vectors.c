/* SPDX-License-Identifier: MIT */
/*
 * test_vectors.c - which words of an extended state count as pointers. That they come out of a
 * real thread is shown by tests/e2e/leaks-vectors.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "inject/quiesce/vectors.h"

enum { BYTES = 11008, LEGACY = 512, HEADER_END = 576, AVX512_END = 2688 };

static uint8_t state_of[BYTES];

static void put(size_t at, uint64_t value)
{
	memcpy(state_of + at, &value, sizeof(value));
}

static size_t count_of(size_t bytes)
{
	struct vectors vectors = { 0 };
	size_t count;

	assert_int_equal(vectors_add(&vectors, 7, state_of, bytes), 0);
	count = vectors.count;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(vectors.word[i].tid, 7);
	vectors_done(&vectors);
	return count;
}

/* Only in the area that is said to hold registers; each word is tried alone. */
static void registers_alone_count(void **state)
{
	(void)state;
	for (size_t at = 0; at + 8 <= BYTES; at += 8) {
		bool legacy = at >= 32 && at < 416;
		bool extended = at >= HEADER_END && at < AVX512_END;

		memset(state_of, 0, sizeof(state_of));
		put(at, 0x7f0012345678);
		assert_int_equal(count_of(BYTES), legacy || extended);
	}
}

static void what_is_no_address_does_not_count(void **state)
{
	(void)state;
	memset(state_of, 0xff, sizeof(state_of));
	assert_int_equal(count_of(BYTES), 0);
	put(160, 4095);
	put(168, 1ull << 47);
	assert_int_equal(count_of(BYTES), 0);
	put(160, 4096);
	put(168, (1ull << 47) - 1);
	assert_int_equal(count_of(BYTES), 2);
	put(176, 4096);	/* a copy */
	assert_int_equal(count_of(BYTES), 2);
}

/* Processors without AVX, or that give less than whole words. */
static void short_states_are_read_to_their_end(void **state)
{
	(void)state;
	memset(state_of, 0, sizeof(state_of));
	put(408, 0x10000);
	put(HEADER_END, 0x20000);
	assert_int_equal(count_of(BYTES), 2);
	assert_int_equal(count_of(HEADER_END + 8), 2);
	assert_int_equal(count_of(HEADER_END + 7), 1);
	assert_int_equal(count_of(LEGACY), 1);
	assert_int_equal(count_of(415), 0);
	assert_int_equal(count_of(0), 0);
}

/* The same pointer in two threads is told of both. */
static void threads_are_apart(void **state)
{
	struct vectors vectors = { 0 };

	(void)state;
	memset(state_of, 0, sizeof(state_of));
	put(160, 0x10000);
	for (pid_t tid = 1; tid <= 3; tid++)
		assert_int_equal(vectors_add(&vectors, tid, state_of, BYTES), 0);
	assert_int_equal(vectors.count, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(vectors.word[i].tid, i + 1);
	vectors_done(&vectors);
	assert_int_equal(vectors.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_alone_count),
		cmocka_unit_test(what_is_no_address_does_not_count),
		cmocka_unit_test(short_states_are_read_to_their_end),
		cmocka_unit_test(threads_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
