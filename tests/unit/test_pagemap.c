/* SPDX-License-Identifier: MIT */
/*
 * test_pagemap.c - pages that were written, only read, or never touched, of a child that stands
 * still: by range and by entry, against what is known. Nothing can be made to be swapped here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "src/base/pagemap.h"
#include "tests/unit/leak_picture.h"
#include "tests/unit/roll.h"

#define PAGE	4096ull
#define PAGES	3000u
#define FAR	(1ull << 40)	/* of the mapping: a last page is written there */

enum page { UNTOUCHED, READ, WRITTEN };

struct world {
	char *memory;
	enum page page[PAGES];
	pid_t child;
	struct pagemap by_range, by_entry;
};

/* In runs of one kind, short and long. */
static void touch(struct world *w)
{
	unsigned int left = 0;
	enum page kind = UNTOUCHED;

	for (size_t i = 0; i < PAGES; i++) {
		if (!left) {
			left = 1 + (unsigned int)roll(roll(3) ? 3 : 200);
			kind = (enum page)roll(3);
		}
		left--;
		w->page[i] = kind;
		if (kind == READ)
			assert_int_equal(((volatile char *)w->memory)[i * PAGE], 0);
		if (kind == WRITTEN)
			w->memory[i * PAGE] = 1;
	}
	w->memory[FAR - PAGE] = 1;
}

static void begin(struct world *w)
{
	int fd;

	w->memory = mmap(NULL, FAR, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (w->memory == MAP_FAILED)	/* vm.overcommit_memory=2 */
		skip();
	/* one that was read must not bring its neighbours */
	(void)madvise(w->memory, FAR, MADV_NOHUGEPAGE);
	touch(w);
	w->child = fork();
	if (w->child == 0)
		leak_picture_stand(getppid());
	fd = leak_picture_open_file(w->child, "pagemap");
	assert_true(fd >= 0);
	pagemap_init(&w->by_range, fd);
	assert_int_not_equal(w->by_range.way, PAGEMAP_UNKNOWN);
	w->by_entry = (struct pagemap){ .fd = fd, .way = PAGEMAP_BY_ENTRY };
}

static void end(struct world *w)
{
	kill(w->child, SIGKILL);
	waitpid(w->child, NULL, 0);
	close(w->by_range.fd);
	munmap(w->memory, FAR);
}

/* What the kernel counts as memory of its own in the mapping at address, in KiB. */
static unsigned long own_kib(const void *address)
{
	unsigned long start, end, kib = 0;
	FILE *smaps = fopen("/proc/self/smaps", "re");
	bool inside = false;
	char line[512];

	assert_non_null(smaps);
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = start == (uintptr_t)address;
		if (inside)
			(void)sscanf(line, "Anonymous: %lu", &kib);
	}
	fclose(smaps);
	return kib;
}

/* Some virtual machines' kernels do without the one page of zeros that all who only read share. */
static bool shares_zeros(void)
{
	char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool shared;

	/* between shared mappings, so that it is merged with no other */
	assert_true(memory != MAP_FAILED);
	memory = mmap(memory, PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_true(memory != MAP_FAILED);
	(void)madvise(memory, PAGE, MADV_NOHUGEPAGE);
	(void)*(volatile char *)memory;
	shared = own_kib(memory) == 0;
	munmap(memory, PAGE);
	return shared;
}

/* Is it populated in that way's eyes? */
static bool counts(const struct pagemap *pagemap, enum page page)
{
	static int zeros = -1;

	if (zeros < 0)
		zeros = shares_zeros();
	return page == WRITTEN || (page == READ && !(pagemap->left_out && zeros));
}

/* The first pages, room ranges at a time. */
static void check_pages(const struct world *w, const struct pagemap *pagemap, size_t room)
{
	struct pagemap_range range[64];
	uint64_t low = (uintptr_t)w->memory, at = low, stop = low + PAGES * PAGE;
	char seen[PAGES] = { 0 };

	while (at < stop) {
		uint64_t before = at, last = at;
		int count = pagemap_next(pagemap, &at, stop, range, room);

		assert_true(count >= 0 && (size_t)count <= room);
		assert_true(at > before && at <= stop);
		for (int i = 0; i < count; i++) {
			assert_true(range[i].low >= last && range[i].high > range[i].low &&
				    range[i].high <= at);
			last = range[i].high;
			memset(&seen[(range[i].low - low) / PAGE], 1,
			       (range[i].high - range[i].low) / PAGE);
		}
	}
	for (size_t i = 0; i < PAGES; i++)
		assert_int_equal(seen[i], counts(pagemap, w->page[i]));
}

static void both_ways_tell_the_truth(void **state)
{
	static const size_t rooms[] = { 1, 2, 7, 64 };
	struct world w;

	(void)state;
	begin(&w);
	for (size_t i = 0; i < ARRAY_SIZE(rooms); i++) {
		check_pages(&w, &w.by_range, rooms[i]);
		check_pages(&w, &w.by_entry, rooms[i]);
	}
	end(&w);
}

/* The last page of a terabyte is found, and by range at once. */
static void the_way_to_it_is_short(void **state)
{
	struct pagemap_range range[8];
	unsigned int calls = 0, found = 0;
	struct world w;
	uint64_t at, stop;

	(void)state;
	begin(&w);
	at = (uintptr_t)w.memory + PAGES * PAGE;
	stop = (uintptr_t)w.memory + FAR;
	if (w.by_range.way != PAGEMAP_BY_RANGE) {
		end(&w);
		skip();
	}
	for (; at < stop; calls++) {
		int count = pagemap_next(&w.by_range, &at, stop, range, ARRAY_SIZE(range));

		assert_true(count >= 0);
		for (int i = 0; i < count; i++, found++) {
			assert_int_equal(range[i].low, stop - PAGE);
			assert_int_equal(range[i].high, stop);
		}
	}
	assert_int_equal(found, 1);
	assert_true(calls < 64);
	end(&w);
}

static void other_files_tell_nothing(void **state)
{
	struct pagemap pagemap;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	pagemap_init(&pagemap, fd);
	assert_int_equal(pagemap.way, PAGEMAP_UNKNOWN);
	close(fd);
	pagemap_init(&pagemap, -1);
	assert_int_equal(pagemap.way, PAGEMAP_UNKNOWN);
}

/* Nothing of it is populated any more, or it is an error. */
static void an_ended_process_has_no_pages(void **state)
{
	struct pagemap_range range[8];
	struct world w;
	uint64_t at;

	(void)state;
	begin(&w);
	kill(w.child, SIGKILL);
	waitpid(w.child, NULL, 0);
	at = (uintptr_t)w.memory;
	assert_true(pagemap_next(&w.by_range, &at, at + PAGES * PAGE, range, 8) <= 0);
	at = (uintptr_t)w.memory;
	assert_int_equal(pagemap_next(&w.by_entry, &at, at + PAGES * PAGE, range, 8), -ESRCH);
	end(&w);
}

/* Whatever was written and lies in [from, to) lies in a stretch; no stretch goes beyond. */
static void stretches_are_right(const struct world *w, const struct pagemap *pagemap, uint64_t from,
				uint64_t to)
{
	uint64_t low = (uint64_t)w->memory, at = low + from, seen = low + from;
	struct pagemap_range range;

	while (pagemap_stretch(pagemap, &at, low + to, &range)) {
		assert_true(range.low >= seen && range.low < range.high);
		assert_true(range.high <= low + to && at >= range.high);
		for (uint64_t page = (seen - low + PAGE - 1) / PAGE;
		     page < (range.low - low) / PAGE; page++)
			assert_int_not_equal(w->page[page], WRITTEN);
		for (uint64_t page = (range.low - low) / PAGE;
		     pagemap->way == PAGEMAP_BY_RANGE && page * PAGE < range.high - low; page++)
			assert_int_not_equal(w->page[page], UNTOUCHED);
		seen = range.high;
	}
	assert_int_equal(at, low + to);
	for (uint64_t page = (seen - low + PAGE - 1) / PAGE; page < to / PAGE; page++)
		assert_int_not_equal(w->page[page], WRITTEN);
}

static void stretches_hold_all_that_was_written(void **state)
{
	const struct pagemap unknown = { .fd = -1 };
	struct pagemap_range range;
	struct world w;
	uint64_t at = 100;

	(void)state;
	begin(&w);
	for (unsigned int i = 0; i < 200; i++) {
		uint64_t from = roll(PAGES * PAGE / 8) * 8, to = from + 8 + roll(PAGES) * PAGE;

		to = to < PAGES * PAGE ? to : PAGES * PAGE;
		stretches_are_right(&w, &w.by_range, from, to);
		stretches_are_right(&w, &w.by_entry, from, to);
	}
	end(&w);
	assert_true(pagemap_stretch(&unknown, &at, 50000, &range));
	assert_true(range.low == 100 && range.high == 50000 && at == 50000);
	assert_false(pagemap_stretch(&unknown, &at, 50000, &range));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ways_tell_the_truth),
		cmocka_unit_test(stretches_hold_all_that_was_written),
		cmocka_unit_test(the_way_to_it_is_short),
		cmocka_unit_test(other_files_tell_nothing),
		cmocka_unit_test(an_ended_process_has_no_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
