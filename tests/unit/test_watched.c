/* SPDX-License-Identifier: MIT */
/* test_watched.c - the file that a restarted memattachd finds: whole, old, forged, torn, locked. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/base/pidref.h"
#include "src/daemon/watched.h"

static char folder[64];
static uint64_t start_time;	/* of this process, and of its parent */
static uint64_t parents;

static const char *path_of(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int begin(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/memattach-watched.XXXXXX");
	if (!mkdtemp(folder) || pidref_read_start_time(getpid(), &start_time) ||
	    pidref_read_start_time(getppid(), &parents))
		return -1;
	return 0;
}

static int end(void **state)
{
	static const char *const name[] = { WATCHED_FILE, WATCHED_LOCK, WATCHED_FILE ".new" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(name); i++)
		(void)unlink(path_of(name[i]));
	return rmdir(folder);
}

static void write_file(const char *text)
{
	FILE *file = fopen(path_of(WATCHED_FILE), "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
}

static const char *boot(void)
{
	static char id[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, id, sizeof(id) - 1);

	assert_true(got > 0);
	id[strcspn(id, "\n")] = '\0';
	(void)close(fd);
	return id;
}

/* How many are taken from a file of this heading (%s: the boot) and these lines. */
static size_t taken(const char *heading, const char *lines)
{
	struct watched watched;
	char text[4096];
	size_t count;
	int used;

	used = snprintf(text, sizeof(text), heading, boot());	/* NOLINT: a test's own */
	(void)snprintf(text + used, sizeof(text) - (size_t)used, "\n%s", lines);
	write_file(text);
	assert_int_equal(watched_open(&watched, folder), 0);
	count = watched.count;
	watched_close(&watched);
	return count;
}

#define HEADING "memattachd-watched 1 %s"

static void remember(void **state)
{
	const struct watched_process *process;
	struct watched watched;

	(void)state;
	assert_int_equal(watched_open(&watched, folder), 0);
	assert_int_equal(watched.count, 0);
	assert_int_equal(watched_add(&watched, getpid(), start_time, "redis", NULL), 0);
	assert_int_equal(watched_add(&watched, getpid(), start_time, "redis",
				     "/a folder/redis/x-1-2.memattach"), 0);
	assert_int_equal(watched_add(&watched, getppid(), parents, "two", NULL), 0);
	assert_int_equal(watched.count, 2);
	watched_close(&watched);
	assert_int_equal(watched_open(&watched, folder), 0);
	assert_int_equal(watched.count, 2);
	process = watched_find(&watched, getpid());
	assert_non_null(process);
	assert_int_equal(process->start_time, start_time);
	assert_string_equal(process->rule, "redis");
	assert_string_equal(process->recording, "x-1-2.memattach");
	assert_string_equal(watched_find(&watched, getppid())->recording, "");
	watched_remove(&watched, getpid());
	assert_null(watched_find(&watched, getpid()));
	watched_close(&watched);
	assert_int_equal(watched_open(&watched, folder), 0);
	assert_int_equal(watched.count, 1);
	watched_close(&watched);
}

/* Another's process number, another boot. */
static void forget_old(void **state)
{
	char lines[128];

	(void)state;
	(void)snprintf(lines, sizeof(lines), "%d %" PRIu64 " rule\n", getpid(), start_time);
	assert_int_equal(taken(HEADING, lines), 1);
	assert_int_equal(taken("memattachd-watched 1 0-0-0-0", lines), 0);
	assert_int_equal(taken("memattachd-watched 2 %s", lines), 0);
	assert_int_equal(taken("", lines), 0);
	(void)snprintf(lines, sizeof(lines), "%d %" PRIu64 " rule\n", getpid(), start_time + 1);
	assert_int_equal(taken(HEADING, lines), 0);
}

static void leave_out_nonsense(void **state)
{
	static const char *const wrong[] = {
		"%d %" PRIu64 " ../rule\n", "%d %" PRIu64 " rule ../x\n", "%d %" PRIu64 " .rule\n",
		"%d %" PRIu64 "\n", "-%d %" PRIu64 " rule\n", "1%d %" PRIu64 " rule\n",
		"%d %" PRIu64 " rule x y\n", "%d 1%" PRIu64 " rule\n", "%d-%" PRIu64 " rule\n",
		"%d %" PRIu64 " ru\033le\n", "%d %" PRIu64 " /rule\n",
	};
	char lines[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		(void)snprintf(lines, sizeof(lines), wrong[i], getpid(), start_time);
		assert_int_equal(taken(HEADING, lines), 0);
	}
	/* what comes after it counts; the same again does not */
	(void)snprintf(lines, sizeof(lines), "\n \nx\n%d %" PRIu64 " a\n%d %" PRIu64 " b\n%d",
		       getpid(), start_time, getpid(), start_time, getppid());
	assert_int_equal(taken(HEADING, lines), 1);
}

/* What is no file of ours is not followed, and not read without an end. */
static void open_files_only(void **state)
{
	struct watched watched;
	int fd;

	(void)state;
	assert_int_equal(symlink("/etc/passwd", path_of(WATCHED_FILE)), 0);
	assert_int_equal(watched_open(&watched, folder), -ELOOP);
	watched_close(&watched);
	assert_int_equal(unlink(path_of(WATCHED_FILE)), 0);
	assert_int_equal(mkfifo(path_of(WATCHED_FILE), 0600), 0);
	assert_int_equal(watched_open(&watched, folder), -EFBIG);
	watched_close(&watched);
	assert_int_equal(unlink(path_of(WATCHED_FILE)), 0);
	fd = open(path_of(WATCHED_FILE), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	(void)close(fd);
	assert_int_equal(watched_open(&watched, folder), -EFBIG);
	assert_int_equal(watched_add(&watched, getpid(), start_time, "rule", NULL), 0);
	watched_close(&watched);
	assert_int_equal(watched_open(&watched, folder), 0);
	assert_int_equal(watched.count, 1);
	watched_close(&watched);
}

/* Locks are a process's: another one has to try. */
static int open_by_another(void)
{
	struct watched watched;
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(-watched_open(&watched, folder));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void belong_to_one(void **state)
{
	struct watched watched;

	(void)state;
	assert_int_equal(watched_open(&watched, folder), 0);
	assert_int_equal(open_by_another(), -EAGAIN);
	watched_close(&watched);
	assert_int_equal(open_by_another(), 0);
}

/* A full disk, say: what is known is known, and the file of before stays. */
static void survive_no_room(void **state)
{
	struct watched watched;

	(void)state;
	assert_int_equal(watched_open(&watched, folder), 0);
	assert_int_equal(watched_add(&watched, getpid(), start_time, "rule", NULL), 0);
	assert_int_equal(mkdir(path_of(WATCHED_FILE ".new"), 0700), 0);
	assert_int_equal(watched_add(&watched, getppid(), parents, "rule", NULL), -EISDIR);
	assert_int_equal(watched.error, -EISDIR);
	assert_non_null(watched_find(&watched, getppid()));
	assert_int_equal(rmdir(path_of(WATCHED_FILE ".new")), 0);
	watched_close(&watched);
	assert_int_equal(watched_open(&watched, folder), 0);
	assert_int_equal(watched.count, 1);
	watched_close(&watched);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(remember, begin, end),
		cmocka_unit_test_setup_teardown(forget_old, begin, end),
		cmocka_unit_test_setup_teardown(leave_out_nonsense, begin, end),
		cmocka_unit_test_setup_teardown(open_files_only, begin, end),
		cmocka_unit_test_setup_teardown(belong_to_one, begin, end),
		cmocka_unit_test_setup_teardown(survive_no_room, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
