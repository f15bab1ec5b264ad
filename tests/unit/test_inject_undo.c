/* SPDX-License-Identifier: MIT */
/* test_inject_undo.c - the rows of inject.c: what was not undone is undone again, or said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "inject/inject.h"

/* Is there nothing of ours left? As long as that can't be looked at, no try says so. */
static void not_looked_at_is_not_pristine(void **state)
{
	struct inject in = { .at.target = TARGET_NONE, .lock = -1, .done = INJECT_RECORD + 1 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_true(inject_leave(&in, INJECT_RECORD) < 0);
		assert_false(in.pristine);
		assert_int_equal(in.done, INJECT_RECORD + 1);
	}
	in.at.target.maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	assert_int_equal(inject_leave(&in, INJECT_RECORD), 0);
	assert_true(in.pristine);
	assert_int_equal(in.done, INJECT_RECORD);
	(void)close(in.at.target.maps);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_looked_at_is_not_pristine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
