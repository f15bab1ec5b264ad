/* SPDX-License-Identifier: MIT */
/* test_spare_pages.c - as memset and memcpy at each border; zeros are not written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "src/base/spare_pages.h"

#define PAGE  4096u
#define PAGES 32u

/* Pages of zeros, in a mapping that the kernel joins to no other. */
static uint8_t *mapped(void)
{
	const size_t bytes = (size_t)PAGES * PAGE;
	uint8_t *start =
		mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(start != MAP_FAILED);
	assert_int_equal(mprotect(start + PAGE, bytes, PROT_READ | PROT_WRITE), 0);
	(void)madvise(start + PAGE, bytes, MADV_NOHUGEPAGE);
	return start + PAGE;
}

/* Pages that were written to, of an own mapping. */
static unsigned int written(const uint8_t *start)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	char line[300];
	unsigned int dirty = 0;
	bool here = false;

	assert_non_null(smaps);
	while (fgets(line, sizeof(line), smaps)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = from <= (uintptr_t)start && (uintptr_t)start < to;
		else if (here && sscanf(line, "Private_Dirty: %u kB", &dirty) == 1)
			break;
	}
	(void)fclose(smaps);
	return dirty / (PAGE / 1024);
}

static const struct {
	size_t offset, bytes;
} piece[] = {
	{ 0, 0 },
	{ 0, 1 },
	{ 1, 1 },
	{ PAGE - 1, 2 },
	{ 7, PAGE },
	{ PAGE, PAGE },
	{ PAGE - 3, 2 * PAGE + 5 },
	{ 0, 3 * PAGE },
	{ 100, 50 },
};

static void fill(uint8_t *start, size_t bytes, uint8_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		start[i] = (uint8_t)(i * 7 + seed);
}

static void test_as_the_others(void **state)
{
	static uint8_t ours[4 * PAGE], theirs[4 * PAGE], from[4 * PAGE];

	(void)state;
	fill(from, sizeof(from), 3);
	for (size_t i = 0; i < sizeof(piece) / sizeof(piece[0]); i++) {
		fill(ours, sizeof(ours), 1);
		memcpy(theirs, ours, sizeof(ours));
		spare_clear(ours + piece[i].offset, piece[i].bytes);
		memset(theirs + piece[i].offset, 0, piece[i].bytes);
		assert_memory_equal(ours, theirs, sizeof(ours));
		spare_copy(ours + piece[i].offset, from + 5, piece[i].bytes);
		memcpy(theirs + piece[i].offset, from + 5, piece[i].bytes);
		assert_memory_equal(ours, theirs, sizeof(ours));
	}
}

/* A write to a page of zeros ends this test: those pages may only be read. */
static void test_zeros_are_not_written(void **state)
{
	const size_t bytes = (size_t)PAGES * PAGE;
	uint8_t *one = mapped(), *other = mapped();

	(void)state;
	assert_int_equal(mprotect(one, bytes, PROT_READ), 0);
	spare_clear(one, bytes);
	other[5 * PAGE + 9] = 1;
	assert_int_equal(mprotect(one + 5 * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	spare_copy(one, other, bytes);
	assert_memory_equal(one, other, bytes);
}

/* A kernel without a shared page of zeros gives a page of its own to each one that is read. */
static bool has_shared_zeros(void)
{
	const volatile uint8_t *page = mapped();

	return page[0] == 0 && written((const uint8_t *)page) == 0;
}

static void test_zeros_take_nothing(void **state)
{
	const size_t bytes = (size_t)PAGES * PAGE;
	uint8_t *one = mapped(), *other = mapped();

	(void)state;
	if (!has_shared_zeros()) {
		print_message("skipped: this kernel has no shared page of zeros\n");
		skip();
	}
	other[5 * PAGE + 9] = 1;
	other[9 * PAGE] = 1;
	spare_clear(one, bytes);
	assert_int_equal(written(one), 0);
	spare_copy(one, other, bytes);
	assert_int_equal(one[5 * PAGE + 9], 1);
	assert_memory_equal(one, other, bytes);
	assert_int_equal(written(one), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_the_others),
		cmocka_unit_test(test_zeros_are_not_written),
		cmocka_unit_test(test_zeros_take_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
