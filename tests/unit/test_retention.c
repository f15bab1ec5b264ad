/* SPDX-License-Identifier: MIT */
/* test_retention.c - which recordings go. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/daemon/retention.h"

#define NOW		1000000
#define MANY		1000
#define BLOCK		4096u

static char folder[] = "/tmp/memattach-retention.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[200];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* So many blocks, last written so many seconds before NOW. */
static void put(const char *name, unsigned int blocks, long age)
{
	const struct timespec time[2] = { { NOW - age, 0 }, { NOW - age, 0 } };
	static const char bytes[BLOCK] = "x";
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	for (unsigned int i = 0; i < blocks; i++)
		assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(futimens(fd, time), 0);
	(void)close(fd);
}

static bool is_there(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

static bool is_in_use(void *context, const char *name)
{
	return context && strcmp(context, name) == 0;
}

static int apply(double keep_for, uint64_t count, uint64_t bytes, const char *in_use)
{
	const struct watch_settings watch = { .keep_for = keep_for, .keep_count = count,
					      .keep_bytes = bytes };

	return retention_apply(folder, &watch, NOW, is_in_use, (void *)(uintptr_t)in_use);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int fill_folder(void **state)
{
	(void)state;
	put("a.memattach", 1, 400);
	put("a.memattach-wal", 1, 1);
	put("b.memattach", 1, 300);
	put("c.memattach", 1, 200);
	put("d.memattach", 1, 100);
	put("notes.txt", 1, 9999);
	return 0;
}

static int remove_folder(void **state)
{
	char command[100];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static void remove_what_is_old(void **state)
{
	(void)state;
	assert_int_equal(apply(400, MANY, UINT64_MAX, NULL), 0);
	assert_int_equal(apply(250, MANY, UINT64_MAX, NULL), 2);
	assert_false(is_there("a.memattach") || is_there("a.memattach-wal") ||
		     is_there("b.memattach"));
	assert_true(is_there("c.memattach") && is_there("d.memattach") && is_there("notes.txt"));
}

static void remove_what_is_too_many(void **state)
{
	(void)state;
	assert_int_equal(apply(1e6, 4, UINT64_MAX, NULL), 0);
	assert_int_equal(apply(1e6, 2, UINT64_MAX, "b.memattach"), 2);
	assert_true(is_there("b.memattach") && is_there("d.memattach"));
}

static void remove_what_is_too_large(void **state)
{
	(void)state;
	assert_int_equal(apply(1e6, MANY, 4 * BLOCK, NULL), 0);
	assert_int_equal(apply(1e6, MANY, 3 * BLOCK, NULL), 1);
	assert_false(is_there("a.memattach"));
	assert_int_equal(apply(1e6, MANY, 0, "c.memattach"), 2);
	assert_true(is_there("c.memattach") && is_there("notes.txt"));
	assert_int_equal(apply(1e6, MANY, 0, "c.memattach"), 0);
}

static void leave_others_alone(void **state)
{
	const struct watch_settings watch = { .keep_count = 1 };

	(void)state;
	assert_int_equal(symlink("notes.txt", path_of("link.memattach")), 0);
	assert_int_equal(mkdir(path_of("folder.memattach"), 0700), 0);
	assert_int_equal(apply(0, 1, 0, NULL), 4);
	assert_true(is_there("link.memattach") && is_there("folder.memattach"));
	assert_int_equal(retention_apply("/nonexistent", &watch, NOW, is_in_use, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(remove_what_is_old, fill_folder),
		cmocka_unit_test_setup(remove_what_is_too_many, fill_folder),
		cmocka_unit_test_setup(remove_what_is_too_large, fill_folder),
		cmocka_unit_test_setup(leave_others_alone, fill_folder),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
