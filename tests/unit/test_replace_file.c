/* SPDX-License-Identifier: MIT */
/* test_replace_file.c - a file is replaced whole, whatever has the name of the new one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <unistd.h>

#include "src/base/replace_file.h"

static char folder[40], path[60], fresh[64];

static int set_up(void **state)
{
	(void)state;
	(void)strcpy(folder, "/tmp/memattach-replace.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/file", folder);
	(void)snprintf(fresh, sizeof(fresh), "%s.new", path);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(path);
	(void)unlink(fresh);
	(void)rmdir(fresh);
	return rmdir(folder);
}

static int write_text(FILE *out, const void *context)
{
	return fputs(context, out) < 0 ? -EIO : 0;
}

static int write_nothing(FILE *out, const void *context)
{
	(void)out;
	(void)context;
	return -ENODATA;
}

static void assert_holds(const char *text)
{
	char got[64] = "";
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	assert_true(fread(got, 1, sizeof(got) - 1, file) < sizeof(got) - 1);
	(void)fclose(file);
	assert_string_equal(got, text);
	assert_int_not_equal(access(fresh, F_OK), 0);
}

static void replaces_it_whole(void **state)
{
	struct stat status;
	mode_t before = umask(0077);

	(void)state;
	assert_int_equal(replace_file(path, 0644, write_text, "first"), 0);
	assert_holds("first");
	assert_int_equal(replace_file(path, 0644, write_text, "second"), 0);
	assert_holds("second");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0644);
	assert_int_equal(replace_file(path, 0644, write_nothing, NULL), -ENODATA);
	assert_holds("second");
	(void)umask(before);
}

/* A FIFO that nobody reads would be waited for, for ever; a link would be written through. */
static void opens_nothing_that_is_there(void **state)
{
	char elsewhere[64];
	struct stat status;

	(void)state;
	(void)alarm(20);
	assert_int_equal(mkfifo(fresh, 0666), 0);
	assert_int_equal(replace_file(path, 0644, write_text, "past a FIFO"), 0);
	assert_holds("past a FIFO");
	(void)snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", folder);
	assert_int_equal(symlink(elsewhere, fresh), 0);
	assert_int_equal(replace_file(path, 0644, write_text, "past a link"), 0);
	assert_holds("past a link");
	assert_int_not_equal(stat(elsewhere, &status), 0);
	assert_int_equal(mkdir(fresh, 0700), 0);
	assert_int_equal(replace_file(path, 0644, write_text, "never"), -EISDIR);
	assert_int_equal(rmdir(fresh), 0);
	assert_holds("past a link");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(replaces_it_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(opens_nothing_that_is_there, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
