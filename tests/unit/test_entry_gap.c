/* SPDX-License-Identifier: MIT */
/*
 * test_entry_gap.c - gaps in invented text: which padding counts, how far it may
 * be, and that no word is given out twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "src/plan/entry_gap.h"

#define BASE	0x7f0000001000ull
#define ENTRY	(BASE + 0x100)
#define MAPS	"7f0000001000-7f0000002000 r-xp 00001000 08:01 5 /lib\n"

static uint8_t text[4096];
static struct procmaps maps;
static struct entry_gaps gaps;
static struct code_ranges ranges;

static int text_read(void *context, uint64_t address, void *buffer, size_t bytes)
{
	(void)context;
	if (address < BASE || address - BASE > sizeof(text) ||
	    bytes > sizeof(text) - (address - BASE))
		return -EIO;
	memcpy(buffer, text + (address - BASE), bytes);
	return 0;
}

static const struct elf_reader reader = { text_read, NULL };

/* All text is `xor %eax,%eax`, in one function before the entry, the entry's, and one behind. */
static int setup(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "\x31\xc0", 2);
	gaps = (struct entry_gaps){ .reader = &reader, .maps = &maps };
	ranges = (struct code_ranges){ .count = 3, .range = {
		{ ENTRY - 0x80, ENTRY }, { ENTRY, ENTRY + 0x60 }, { ENTRY + 0x60, ENTRY + 0x400 },
	} };
	return procmaps_parse(MAPS, sizeof(MAPS) - 1, &maps);
}

static int teardown(void **state)
{
	(void)state;
	procmaps_done(&maps);
	return 0;
}

static int find(uint64_t *ret)
{
	uint8_t expect[8];
	int r = entry_gap_find(&gaps, &ranges, ENTRY, ret, expect);

	if (r == 0)
		assert_memory_equal(expect, text + (*ret - BASE), 5);
	return r;
}

static void put_nops(uint64_t at, size_t count)
{
	memset(text + (at - BASE), 0x90, count);
}

static void find_nothing_in_code(void **state)
{
	uint64_t gap;

	(void)state;
	assert_int_equal(find(&gap), -ENOENT);
}

static void find_between_functions(void **state)
{
	uint64_t gap;

	(void)state;
	put_nops(ENTRY - 7, 7);
	/* Nops, but part of the function for all we know. */
	assert_int_equal(find(&gap), -ENOENT);
	ranges.range[0].high = ENTRY - 7;
	assert_int_equal(find(&gap), 0);
	assert_int_equal(gap, ENTRY - 7);
	/* What is left is too short, and the word is gone. */
	assert_int_equal(find(&gap), -ENOENT);
}

static void prefer_one_word(void **state)
{
	uint64_t gap;

	(void)state;
	put_nops(ENTRY - 20, 20);
	ranges.range[0].high = ENTRY - 20;
	/* -20..-16 would do, but -16..-12 is one word. */
	assert_int_equal(find(&gap), 0);
	assert_int_equal(gap, ENTRY - 16);
	assert_int_equal(find(&gap), 0);
	assert_int_equal(gap, ENTRY - 8);
	assert_int_equal(find(&gap), -ENOENT);
}

static void leave_reserved_words(void **state)
{
	uint64_t gap;

	(void)state;
	put_nops(ENTRY - 16, 16);
	ranges.range[0].high = ENTRY - 16;
	assert_int_equal(entry_gaps_reserve(&gaps, ENTRY - 16, ENTRY - 11), 0);
	assert_int_equal(find(&gap), 0);
	assert_int_equal(gap, ENTRY - 8);
}

/* Code that no range knows: nops up to the next 16-byte boundary are padding, not those behind. */
static void distrust_unknown_code(void **state)
{
	uint64_t gap;

	(void)state;
	ranges.range[0].high = ENTRY - 0x30;
	put_nops(ENTRY - 0x30, 0x20);
	assert_int_equal(find(&gap), -ENOENT);
	ranges.range[0].high = ENTRY - 0x26;
	assert_int_equal(find(&gap), 0);
	assert_int_equal(gap, ENTRY - 0x26);
}

static void keep_within_reach(void **state)
{
	uint64_t gap;

	(void)state;
	ranges.range[1].high = ENTRY + 126;
	ranges.range[2] = (struct entry_span){ ENTRY + 134, ENTRY + 0x400 };
	put_nops(ENTRY + 126, 8);
	/* 128 starts a word, and 129 is as far as a short jump goes. */
	assert_int_equal(find(&gap), 0);
	assert_int_equal(gap, ENTRY + 128);
	teardown(NULL);
	setup(NULL);
	ranges.range[1].high = ENTRY + 130;
	ranges.range[2] = (struct entry_span){ ENTRY + 142, ENTRY + 0x400 };
	put_nops(ENTRY + 130, 12);
	assert_int_equal(find(&gap), -ENOENT);
}

static void find_dead_padding(void **state)
{
	uint64_t gap;

	(void)state;
	put_nops(ENTRY + 0x20, 8);
	assert_int_equal(find(&gap), -ENOENT);
	/* ret before it */
	text[ENTRY - BASE + 0x1e] = 0x90;
	text[ENTRY - BASE + 0x1f] = 0xc3;
	assert_int_equal(find(&gap), 0);
	assert_int_equal(gap, ENTRY + 0x20);
}

static void stay_in_the_mapping(void **state)
{
	static const char writable[] = "7f0000001000-7f0000002000 rwxp 00001000 08:01 5 /lib\n";
	static const char cut[] = "7f0000001100-7f0000002000 r-xp 00001000 08:01 5 /lib\n";
	uint64_t gap;

	(void)state;
	put_nops(ENTRY - 8, 8);
	ranges.range[0].high = ENTRY - 8;
	procmaps_done(&maps);
	assert_int_equal(procmaps_parse(writable, sizeof(writable) - 1, &maps), 0);
	assert_int_equal(find(&gap), -ENOENT);
	procmaps_done(&maps);
	assert_int_equal(procmaps_parse(cut, sizeof(cut) - 1, &maps), 0);
	assert_int_equal(find(&gap), -ENOENT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(find_nothing_in_code, setup, teardown),
		cmocka_unit_test_setup_teardown(find_between_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(prefer_one_word, setup, teardown),
		cmocka_unit_test_setup_teardown(leave_reserved_words, setup, teardown),
		cmocka_unit_test_setup_teardown(distrust_unknown_code, setup, teardown),
		cmocka_unit_test_setup_teardown(keep_within_reach, setup, teardown),
		cmocka_unit_test_setup_teardown(find_dead_padding, setup, teardown),
		cmocka_unit_test_setup_teardown(stay_in_the_mapping, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
