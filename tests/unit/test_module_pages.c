/* SPDX-License-Identifier: MIT */
/* A module's file is copied piece by piece, as it is asked for, and each piece once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/modules/image_room.h"
#include "src/modules/module_pages.h"

#define KIB		1024u
#define FILE_BYTES	(300 * KIB + 77)
#define THREADS		4

struct lab {
	FILE *file;
	struct module_segment segment[2];
	struct module_pages *pages;
	struct image_room room;
	const uint8_t *copy;
};

static void fill(struct lab *lab, int byte)
{
	static uint8_t bytes[FILE_BYTES];

	memset(bytes, byte, sizeof(bytes));
	assert_int_equal(pwrite(fileno(lab->file), bytes, sizeof(bytes), 0), sizeof(bytes));
}

static void begin(struct lab *lab)
{
	*lab = (struct lab){
		.room = { .left = 2 * FILE_BYTES },
		.file = tmpfile(),
		.segment = { { .offset = 10 * KIB, .file_bytes = 90 * KIB },
			     { .offset = 128 * KIB + 5,
			       .file_bytes = FILE_BYTES - 128 * KIB - 5 } },
	};
	assert_non_null(lab->file);
	fill(lab, 'a');
	assert_int_equal(module_pages_new(fileno(lab->file), lab->segment, 2, FILE_BYTES,
					  &lab->room, &lab->pages), 0);
	lab->copy = module_pages_start(lab->pages);
}

static void end(struct lab *lab)
{
	module_pages_free(lab->pages);
	assert_int_equal(lab->room.left, 2 * FILE_BYTES);
	assert_int_equal(fclose(lab->file), 0);
}

static void all_are(const struct lab *lab, size_t low, size_t high, int byte)
{
	for (size_t i = low; i < high; i++)
		assert_int_equal(lab->copy[i], byte);
}

static void what_was_read_stays(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab);
	module_pages_have(lab.pages, 20 * KIB, 1);
	fill(&lab, 'b');
	module_pages_have(lab.pages, 16 * KIB, 74 * KIB);
	all_are(&lab, 20 * KIB, 20 * KIB + 1, 'a');
	all_are(&lab, 89 * KIB, 90 * KIB, 'b');
	fill(&lab, 'c');
	module_pages_have(lab.pages, 0, FILE_BYTES);
	all_are(&lab, 20 * KIB, 20 * KIB + 1, 'a');
	all_are(&lab, 89 * KIB, 90 * KIB, 'b');
	all_are(&lab, FILE_BYTES - 100, FILE_BYTES, 'c');
	end(&lab);
}

/* Sections that are not loaded; the headers are in the first page. */
static void what_is_in_no_segment_is_zero(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab);
	module_pages_have(lab.pages, 0, FILE_BYTES);
	all_are(&lab, 0, 4 * KIB, 'a');
	all_are(&lab, 4 * KIB, 10 * KIB, 0);
	all_are(&lab, 10 * KIB, 100 * KIB, 'a');
	all_are(&lab, 100 * KIB, 128 * KIB + 5, 0);
	all_are(&lab, 128 * KIB + 5, FILE_BYTES, 'a');
	end(&lab);
}

static void a_file_that_shrinks_leaves_zeros(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab);
	assert_int_equal(ftruncate(fileno(lab.file), 50 * KIB), 0);
	module_pages_have(lab.pages, 0, FILE_BYTES);
	all_are(&lab, 10 * KIB, 50 * KIB, 'a');
	all_are(&lab, 50 * KIB, FILE_BYTES, 0);
	end(&lab);
}

static void what_is_behind_it_is_not_asked_for(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab);
	module_pages_have(lab.pages, FILE_BYTES, 1);
	module_pages_have(lab.pages, SIZE_MAX, SIZE_MAX);
	module_pages_have(lab.pages, FILE_BYTES - 1, SIZE_MAX);
	module_pages_have(lab.pages, 0, 0);
	all_are(&lab, 0, 4 * KIB, 0);
	all_are(&lab, FILE_BYTES - 1, FILE_BYTES, 'a');
	end(&lab);
}

static void *ask_for_all(void *context)
{
	struct lab *lab = context;

	for (size_t at = 10 * KIB; at < 100 * KIB; at += 100) {
		module_pages_have(lab->pages, at, 8);
		if (lab->copy[at] != 'a')
			return lab;
	}
	return NULL;
}

static void threads_ask_side_by_side(void **state)
{
	(void)state;
	for (int turn = 0; turn < 20; turn++) {
		pthread_t thread[THREADS];
		struct lab lab;
		void *wrong;

		begin(&lab);
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, ask_for_all, &lab), 0);
		for (int i = 0; i < THREADS; i++) {
			assert_int_equal(pthread_join(thread[i], &wrong), 0);
			assert_null(wrong);
		}
		end(&lab);
	}
}

static void what_has_no_room_is_zero(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab);
	module_pages_have(lab.pages, 10 * KIB, 4 * KIB);
	all_are(&lab, 10 * KIB, 14 * KIB, 'a');
	lab.room.left -= FILE_BYTES * 2 - 40 * KIB;
	module_pages_have(lab.pages, 16 * KIB, 80 * KIB);
	all_are(&lab, 16 * KIB, 96 * KIB, 0);
	lab.room.left += FILE_BYTES * 2 - 40 * KIB;
	module_pages_have(lab.pages, 16 * KIB, 80 * KIB);
	all_are(&lab, 16 * KIB, 96 * KIB, 'a');
	end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_read_stays),
		cmocka_unit_test(what_is_in_no_segment_is_zero),
		cmocka_unit_test(a_file_that_shrinks_leaves_zeros),
		cmocka_unit_test(what_is_behind_it_is_not_asked_for),
		cmocka_unit_test(threads_ask_side_by_side),
		cmocka_unit_test(what_has_no_room_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
