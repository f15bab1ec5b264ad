/* SPDX-License-Identifier: MIT */
/*
 * pristine.c - the pristine check for test scripts.
 *
 *	pristine take PID >FILE
 *	pristine compare PID FILE [--quiet|--own=ADDRESS]
 *
 * --own: the page at ADDRESS (hexadecimal) the process has written to itself since.
 * Exit status: 0 as before, 1 differences (printed, one line), 2 usage, 3 the
 * process or the file could not be read. Notes are printed, too, and don't count.
 */
#include <errno.h>
#include <string.h>

#include "inject/attach/pristine.h"

static int fail(const char *what, int error)
{
	fprintf(stderr, "pristine: %s: %s\n", what, strerror(-error));
	return 3;
}

/* own: the address of a page that is left out, 0: none is. */
static int take(const char *pid, uint64_t own, struct pristine **ret)
{
	_cleanup_(pidref_done) struct pidref target = PIDREF_NONE;
	int r = pidref_open(atoi(pid), &target);

	return r < 0 ? r : pristine_take_without(&target, &own, own ? 1 : 0, ret);
}

static int run_take(const char *pid)
{
	struct pristine *now = NULL;
	int r = take(pid, 0, &now);

	if (r == 0)
		r = pristine_write(now, stdout);
	pristine_free(now);
	return r < 0 ? fail(pid, r) : 0;
}

static int load(const char *path, struct pristine **ret)
{
	_cleanup_file_ FILE *file = fopen(path, "re");

	return file ? pristine_read(file, ret) : -errno;
}

static int print(const struct pristine_diff *diff)
{
	if (diff->notes)
		printf("%u notes: %s\n", diff->notes, diff->note_text);
	if (diff->differences)
		printf("%u differences: %s\n", diff->differences, diff->text);
	return diff->differences > 0;
}

static int run_compare(const char *pid, const char *path, bool quiet, uint64_t own)
{
	struct pristine *before = NULL, *after = NULL;
	struct pristine_diff diff;
	int r = load(path, &before), status;

	if (r < 0)
		return fail(path, r);
	r = take(pid, own, &after);
	if (r < 0) {
		status = fail(pid, r);
	} else {
		(void)!pristine_compare(before, after, quiet ? PRISTINE_QUIET : PRISTINE_BUSY,
					&diff);
		status = print(&diff);
	}
	pristine_free(before);
	pristine_free(after);
	return status;
}

int main(int argc, char **argv)
{
	bool quiet = argc == 5 && strcmp(argv[4], "--quiet") == 0;
	bool own = argc == 5 && strncmp(argv[4], "--own=", 6) == 0;

	if (argc == 3 && strcmp(argv[1], "take") == 0)
		return run_take(argv[2]);
	if ((argc == 4 || quiet || own) && strcmp(argv[1], "compare") == 0)
		return run_compare(argv[2], argv[3], quiet,
				   own ? strtoull(argv[4] + 6, NULL, 16) : 0);
	fputs("usage: pristine take PID >FILE | pristine compare PID FILE "
	      "[--quiet|--own=ADDRESS]\n", stderr);
	return 2;
}
