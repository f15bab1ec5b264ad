/* SPDX-License-Identifier: MIT */
/* test_leak_assigned_file.c - source files that are kept for a while: which of them go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/leak/variable/assigned_file.h"

enum { FILES = 6, MIB = 30 };
static char folder[] = "/tmp/memattach-sources.XXXXXX";

static const char *path_of(int number)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/file%d.c", folder, number);
	return path;
}

/* The file has so many MiB of lines that repeat its own number. */
static void write_file(int number, int mib)
{
	static char block[1 << 20];
	int fd = open(path_of(number), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	memset(block, '0' + number, sizeof(block));
	for (size_t i = 63; i < sizeof(block); i += 64)
		block[i] = '\n';
	for (int i = 0; i < mib; i++)
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	close(fd);
}

static int begin(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	for (int i = 0; i < FILES; i++)
		write_file(i, MIB);
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (int i = 0; i < FILES; i++)
		unlink(path_of(i));
	return rmdir(folder);
}

static void assert_is(struct source_file *file, int number)
{
	size_t bytes = 0;
	const char *line = assigned_file_line(file, 100, &bytes);

	assert_non_null(line);
	assert_int_equal(bytes, 63);
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(line[i], '0' + number);
}

/* A file that is kept stays while others are opened for which there is no room beside it. */
static void one_is_kept(void **state)
{
	struct source_files *files;
	struct source_file *own;
	size_t bytes;
	const char *line;

	(void)state;
	assert_int_equal(assigned_files_new(NULL, NULL, &files), 0);
	for (int kept = 0; kept < 2; kept++) {
		own = assigned_file_get(files, path_of(kept));
		assert_non_null(own);
		assigned_files_keep(files, own);
		line = assigned_file_line(own, 7, &bytes);
		for (int round = 0; round < 2; round++)
			for (int i = 2; i < FILES; i++)
				assert_is(assigned_file_get(files, path_of(i)), i);
		assert_int_equal(line[0], '0' + kept);
		assert_int_equal(line[62], '0' + kept);
		assert_is(own, kept);
		assert_ptr_equal(assigned_file_get(files, path_of(kept)), own);
	}
	assigned_files_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_is_kept),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
