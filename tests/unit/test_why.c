/* SPDX-License-Identifier: MIT */
/* test_why.c - whatever fails, the words for it say what helps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "src/base/why.h"

#define MOST 140	/* no errno of Linux is beyond */

static void assert_helps(const struct why *why, const char *unless)
{
	size_t length = strnlen(why->text, sizeof(why->text));

	assert_true(length > 0 && length + 1 < sizeof(why->text));	/* whole */
	assert_null(strchr(why->text, '\n'));
	if (strcmp(why->text, unless) == 0)
		return;		/* nothing does */
	if (!strchr(why->text, ';') || strchr(why->text, ';')[1] != ' ')
		fail_msg("no remedy: %s", why->text);
}

static void each_has_a_remedy(void **state)
{
	(void)state;
	for (int error = 1; error <= MOST; error++) {
		struct why of_process = why_of(-error), of_file = why_file(-error);

		assert_helps(&of_process, "the process has ended");
		assert_helps(&of_file, "nobody reads it any more");
	}
}

/* What nobody expects keeps the words by which it can be looked up. */
static void the_unexpected_is_named(void **state)
{
	(void)state;
	assert_non_null(strstr(why_of(-EPROTO).text, strerror(EPROTO)));
	assert_non_null(strstr(why_of(-EPROTO).text, "report"));
	assert_non_null(strstr(why_file(-ENOENT).text, strerror(ENOENT)));
	assert_non_null(strstr(why_file(-ENOSPC).text, strerror(ENOSPC)));
	assert_non_null(strstr(why_file(-EXDEV).text, strerror(EXDEV)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_a_remedy),
		cmocka_unit_test(the_unexpected_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
