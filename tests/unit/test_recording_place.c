/* SPDX-License-Identifier: MIT */
/*
 * test_recording_place.c - where recordings go, and whom they share the file with: names that
 * SQLite would not take for files, links, our own output; others that read, write, or have mapped
 * nothing; folders in which nothing can be made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/recording/recording.h"
#include "tests/unit/sample_session.h"

struct bench {
	char folder[64];
	struct sample sample;
	struct recording *recording;
	uint64_t blocks;
};

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	strcpy(b->folder, "/tmp/memattach-place.XXXXXX");
	if (!mkdtemp(b->folder) || chdir(b->folder) < 0)
		return -1;
	sample_init(&b->sample, true);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const name[] = { "r", "other", "link", ":memory:", "file:x?mode=ro" };
	static const char *const suffix[] = { "", "-wal", "-shm", "-journal" };
	struct bench *b = *state;
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(name); i++)
		for (size_t k = 0; k < ARRAY_SIZE(suffix); k++) {
			snprintf(path, sizeof(path), "%s%s", name[i], suffix[k]);
			unlink(path);
		}
	if (chdir("/") < 0 || rmdir(b->folder) < 0)
		return -1;
	sample_done(&b->sample);
	free(b);
	return 0;
}

/* One interval more. */
static int add(struct bench *b, enum snapshot_detached detached)
{
	struct snapshot *snapshot;
	int err;

	sample_alloc(&b->sample, 0x1000 + ++b->blocks * 16, 10, 0, b->sample.stack[0]);
	sample_tick(&b->sample);
	snapshot = sample_take(&b->sample, false, detached);
	err = recording_add(b->recording, snapshot, b->sample.stacks, NULL);
	snapshot_free(snapshot);
	return err;
}

static void begin(struct bench *b, const char *path)
{
	assert_int_equal(recording_open(path, &b->recording), 0);
	assert_int_equal(add(b, SNAPSHOT_ATTACHED), 0);
}

static void end(struct bench *b)
{
	assert_int_equal(add(b, SNAPSHOT_PRISTINE), 0);
	assert_int_equal(recording_close(b->recording), 0);
}

/* How many blocks live according to what is read there; -errno. */
static int read_count(const char *path)
{
	struct recording_content content;
	int err = recording_read(path, &content), count;

	if (err < 0)
		return err;
	count = (int)content.snapshot->totals.live_count;
	recording_content_done(&content);
	return count;
}

static void names_are_those_of_files(void **state)
{
	static const char *const name[] = { ":memory:", "file:x?mode=ro" };
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
		begin(b, name[i]);
		end(b);
		assert_int_equal(access(name[i], F_OK), 0);
		assert_int_equal(read_count(name[i]), (int)b->blocks);
	}
	assert_int_equal(recording_open("", &b->recording), -ENOENT);
	assert_int_equal(read_count(""), -ENOENT);
	assert_int_equal(read_count("."), -EISDIR);
	assert_int_equal(read_count("/dev/zero"), -EBADMSG);
}

/* What it leads to is replaced, twice; the link stays. */
static void links_stay(void **state)
{
	struct bench *b = *state;
	struct stat file;

	assert_int_equal(symlink("other", "link"), 0);
	for (int i = 0; i < 2; i++) {
		begin(b, "link");
		end(b);
		assert_int_equal(lstat("link", &file), 0);
		assert_true(S_ISLNK(file.st_mode));
		assert_int_equal(lstat("other", &file), 0);
		assert_true(S_ISREG(file.st_mode));
		assert_int_equal(read_count("link"), (int)b->blocks);
	}
}

/* Empty as it is yet: it is where the report goes. */
static void our_output_is_not_replaced(void **state)
{
	struct bench *b = *state;
	int fd = open("r", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), status;
	pid_t child;
	struct stat before, after;

	assert_int_equal(fstat(fd, &before), 0);
	child = fork();
	if (child == 0)
		_exit(dup2(fd, STDOUT_FILENO) != STDOUT_FILENO ||
		      recording_open("/proc/self/fd/1", &b->recording) != -EEXIST ||
		      recording_open("r", &b->recording) != -EEXIST);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(stat("r", &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	close(fd);
}

static sqlite3 *other(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open("r", &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	return db;
}

/* An interval is left out while somebody else writes, and the next one has all of it. */
static void others_may_write(void **state)
{
	struct bench *b = *state;
	sqlite3 *db;

	begin(b, "r");
	db = other("BEGIN IMMEDIATE");
	assert_int_equal(add(b, SNAPSHOT_ATTACHED), 0);
	assert_int_equal(add(b, SNAPSHOT_ATTACHED), 0);
	assert_int_equal(read_count("r"), 1);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(add(b, SNAPSHOT_ATTACHED), 0);
	assert_int_equal(read_count("r"), 4);
	end(b);
	assert_int_equal(read_count("r"), 5);
}

/* Somebody who reads on keeps the log, and that is no failure. */
static void others_may_read_at_the_end(void **state)
{
	struct bench *b = *state;
	sqlite3 *db;

	begin(b, "r");
	db = other("BEGIN; SELECT * FROM sites");
	end(b);
	assert_int_equal(read_count("r"), 2);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(read_count("r"), 2);
}

static void one_in_use_is_not_replaced(void **state)
{
	struct bench *b = *state;
	struct recording *second;
	pid_t child;
	int status;

	begin(b, "r");
	child = fork();		/* locks are between processes */
	if (child == 0)
		_exit(recording_open("r", &second) != -EBUSY);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	end(b);
	begin(b, "r");		/* and afterwards it is */
	end(b);
}

static void record_and_die(struct bench *b)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		bool good = recording_open("r", &b->recording) == 0;

		for (int i = 0; good && i < 5; i++)
			good = add(b, SNAPSHOT_ATTACHED) == 0;
		(void)kill(getpid(), good ? SIGKILL : SIGABRT);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* As nobody if we may do anything. */
static int read_in_vain(const char *folder)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		bool other_user = geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);

		_exit(!other_user || access(folder, W_OK) == 0 ? 99 : read_count("r"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A killed session's file and log, copied to where no file can be made: nothing is missing. */
static void a_log_is_read_where_nothing_can_be_written(void **state)
{
	struct bench *b = *state;

	record_and_die(b);
	(void)unlink("r-shm");
	assert_int_equal(chmod(b->folder, 0555), 0);
	assert_int_equal(read_in_vain(b->folder), 5);
	assert_int_equal(chmod(b->folder, 0755), 0);
	assert_int_equal(read_count("r"), 5);
}

static void *cant_map(void *address, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	(void)address;
	(void)bytes;
	(void)prot;
	(void)flags;
	(void)fd;
	(void)offset;
	errno = ENODEV;
	return MAP_FAILED;
}

static void set_mmap(sqlite3_syscall_ptr call)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	assert_int_equal(vfs->xSetSystemCall(vfs, "mmap", call), SQLITE_OK);
}

/* Some file systems have no mappings that processes share. */
static void file_systems_without_mappings_do(void **state)
{
	struct bench *b = *state;

	set_mmap((sqlite3_syscall_ptr)cant_map);
	begin(b, "r");
	end(b);
	assert_int_equal(read_count("r"), 2);
	assert_int_equal(access("r-wal", F_OK), -1);
	record_and_die(b);
	assert_int_equal(read_count("r"), 2 + 5);
	set_mmap(NULL);
	assert_int_equal(read_count("r"), 2 + 5);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		IN_FOLDER(names_are_those_of_files),
		IN_FOLDER(links_stay),
		IN_FOLDER(our_output_is_not_replaced),
		IN_FOLDER(others_may_write),
		IN_FOLDER(others_may_read_at_the_end),
		IN_FOLDER(one_in_use_is_not_replaced),
		IN_FOLDER(a_log_is_read_where_nothing_can_be_written),
		IN_FOLDER(file_systems_without_mappings_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
