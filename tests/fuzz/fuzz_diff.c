/* SPDX-License-Identifier: MIT */
/*
 * fuzz_diff.c - any text as the older and as the newer document of a comparison: what is read
 * must compare and print, and a document must not differ from itself.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "src/report/diff_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_as(struct diff *diff, enum diff_side side, const char *path)
{
	char problem[DIFF_PROBLEM_BYTES] = "";
	int error = diff_read(diff, side, path, problem);

	if (error && (!problem[0] || strchr(problem, '\033')))
		abort();
	return error;
}

static void print(const struct diff *diff, FILE *out)
{
	struct report_options options = { .top = 3 };

	if (diff_write_text(out, diff, &options) || diff_write_json(out, diff, &options))
		abort();
}

static void cleanup_diff(struct diff **diff)
{
	diff_free(*diff);
}

static void check_itself(const char *path, FILE *out)
{
	_cleanup_(cleanup_diff) struct diff *diff = NULL;

	if (diff_new(&diff))
		abort();
	for (int side = 0; side < DIFF_SIDES; side++)
		if (read_as(diff, (enum diff_side)side, path))
			return;
	if (diff_compare(diff))
		abort();
	for (int part = 0; part < DIFF_PARTS; part++)
		if (diff->part[part].count)
			abort();
	if (diff->lost_grew || isfinite(diff->hours))
		abort();
	print(diff, out);
}

/* Alone: all that it has is new. */
static void check_alone(const char *path, FILE *out)
{
	_cleanup_(cleanup_diff) struct diff *diff = NULL;

	if (diff_new(&diff))
		abort();
	if (read_as(diff, DIFF_NEW, path))
		return;
	diff->document[DIFF_OLD] = diff->document[DIFF_NEW];
	if (diff_compare(diff))
		abort();
	print(diff, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_fd_ int fd = memfd_create("document", MFD_CLOEXEC);
	_cleanup_file_ FILE *out = fopen("/dev/null", "w");
	char path[40];

	if (fd < 0 || !out || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check_itself(path, out);
	check_alone(path, out);
	return 0;
}
