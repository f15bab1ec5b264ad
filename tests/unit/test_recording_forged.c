/* SPDX-License-Identifier: MIT */
/*
 * test_recording_forged.c - any value in any column of a recording: everything that reads it ends
 * with an error that names the cause, or with output that is what it should be (forged_use.c).
 *
 * FORGED_STEP=1 tries all values in all columns, some 60,000, which takes minutes; else each column
 * has one of them or so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/recording/recording.h"
#include "tests/unit/forged_recording.h"

#define STEP 509u
#define MISSING_STEP 17u
#define NO_EXPORTS (FORGED_REPORTS | FORGED_VIEWS | FORGED_COMPARED)

static size_t step(void)
{
	const char *given = getenv("FORGED_STEP");

	return given && atoi(given) > 0 ? (size_t)atoi(given) : STEP;
}

/* What is refused is so as damaged, in words that say where. */
static void use(const struct forged_change *change, const char *moment, unsigned int what)
{
	char words[512];
	int err;

	forged_open();
	forged_apply(change);
	forged_close();
	err = forged_use(moment, what);
	if (err == 0 || err == -ENODATA)
		return;
	if (err != -EBADMSG)
		fail_msg("%s, way %d, value %zu: error %d", forged_column(change->column),
			 (int)change->way, change->value, err);
	recording_explain("F", err, words, sizeof(words));
	if (!strstr(words, "F is not a recording, or is damaged (") || !strstr(words, "table"))
		fail_msg("%s, way %d, value %zu: %s", forged_column(change->column),
			 (int)change->way, change->value, words);
}

static void any_value_in_any_column(void **state)
{
	static const char *const moment[] = { "@0s", "@5s", "@50%", "@peak", "@end" };
	size_t number = 0;

	(void)state;
	for (size_t column = 0; column < forged_columns(); column++)
		for (size_t value = 0; value < forged_values(); value++)
			for (int way = FORGED_SET; way <= FORGED_COPY_MANY; way++) {
				struct forged_change change = {
					.column = column, .way = (enum forged_way)way,
					.row = (uint32_t)value, .value = value,
				};

				if (number++ % step() == 0)
					use(&change, moment[number % 5],
					    number % 4 ? NO_EXPORTS : FORGED_EXPORTS);
			}
}

static void any_row_column_or_table_missing(void **state)
{
	size_t number = 0;

	(void)state;
	for (size_t column = 0; column < forged_columns(); column++)
		for (int way = FORGED_DELETE; way < FORGED_WAYS; way++)
			if (number++ % (step() < STEP ? 1 : MISSING_STEP) == 0)
				use(&(struct forged_change){ .column = column,
							     .way = (enum forged_way)way },
				    "@5s", column % 4 ? NO_EXPORTS : FORGED_EXPORTS);
}

static void a_good_one_is_read(void **state)
{
	(void)state;
	forged_open();
	forged_close();
	assert_int_equal(forged_use("@5s", FORGED_ALL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_one_is_read),
		cmocka_unit_test(any_value_in_any_column),
		cmocka_unit_test(any_row_column_or_table_missing),
	};

	forged_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
