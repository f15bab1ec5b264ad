/* SPDX-License-Identifier: MIT */
/*
 * test_recording_unnamed.c - recordings without a name: nothing is ever in their folder, what is
 * read is what was written, also when the writer is killed in the midst of an interval; one at a
 * time; a disk that is full.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "src/recording/db.h"
#include "src/recording/unnamed.h"
#include "tests/unit/sample_recording.h"

struct bench {
	struct recording_unnamed unnamed;
	struct sample sample;
	struct recording *recording;
	uint64_t seconds;
};

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	*state = b;
	(void)signal(SIGXFSZ, SIG_IGN);
	if (!b || sample_recording_begin(state) < 0)
		return -1;
	*state = b;
	sample_init(&b->sample, true);
	return recording_unnamed_new(sample_folder, &b->unnamed);
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	recording_unnamed_done(&b->unnamed);
	sample_done(&b->sample);
	free(b);
	return rmdir(sample_folder);
}

static void begin(struct bench *b)
{
	assert_int_equal(recording_open_unnamed(&b->unnamed, "it", &b->recording), 0);
}

static void add(struct bench *b)
{
	sample_second(&b->sample, b->seconds++, 0);
	sample_add(b->recording, &b->sample);
}

/* Blocks that live according to what is read; -errno. */
static int read_count(const struct bench *b)
{
	struct recording_content content;
	int err = recording_read_unnamed(&b->unnamed, "it", &content), count;

	if (err < 0)
		return err;
	assert_string_equal(content.path, "it");
	count = (int)content.snapshot->totals.live_count;
	recording_content_done(&content);
	return count;
}

static bool folder_is_empty(void)
{
	DIR *dir = opendir(sample_folder);
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count == 2;	/* . and .. */
}

/* Live blocks of the sample's first seconds, ten of each of three kinds each. */
static int live_after(uint64_t seconds)
{
	return (int)seconds * 30;
}

static void what_is_read_was_written(void **state)
{
	struct bench *b = *state;

	assert_int_equal(read_count(b), -ENODATA);
	begin(b);
	add(b);
	add(b);
	assert_true(folder_is_empty());
	assert_int_equal(recording_close(b->recording), 0);
	assert_int_equal(read_count(b), live_after(2));
	assert_int_equal(read_count(b), live_after(2));
	assert_true(folder_is_empty());
}

#define LONG 10000	/* seconds */
/* What is read has limits by its size, what is written has none. */
static void a_long_session_is_written(void **state)
{
	struct bench *b = *state;

	begin(b);
	for (int i = 0; i < LONG; i++)
		add(b);
	assert_int_equal(recording_close(b->recording), 0);
	assert_int_equal(read_count(b), LONG * 10 + (int)SAMPLE_CACHE + (int)SAMPLE_TABLE * 10);
}

static void a_second_try_begins_anew(void **state)
{
	struct bench *b = *state;

	begin(b);
	assert_int_equal(recording_close(b->recording), 0);
	assert_int_equal(read_count(b), -ENODATA);
	begin(b);
	add(b);
	assert_int_equal(recording_close(b->recording), 0);
	assert_int_equal(read_count(b), live_after(1));
}

/* In a process of its own, until it is killed. */
static void write_and_hang(struct bench *b, int ready)
{
	sqlite3 *db = NULL;

	begin(b);
	add(b);
	assert_int_equal(recording_close(b->recording), 0);
	assert_int_equal(recording_unnamed_open(&b->unnamed, &db), 0);
	/* so little cache that an interval is in the file before it is complete */
	assert_int_equal(recording_db_run(db, "PRAGMA journal_mode=TRUNCATE; PRAGMA cache_size=1;"
		"PRAGMA cache_spill=1; BEGIN IMMEDIATE; DELETE FROM stack_frames;"
		"DELETE FROM sites; DELETE FROM timeline; DELETE FROM session;"
		"CREATE TABLE filler(x); WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL "
		"SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO filler SELECT randomblob(500) "
		"FROM n"), 0);
	assert_int_equal(write(ready, "r", 1), 1);
	pause();
}

static void a_killed_writer_leaves_what_was_whole(void **state)
{
	struct bench *b = *state;
	char byte;
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		write_and_hang(b, ready[1]);
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_int_equal(read_count(b), -EBUSY);	/* it has it alone */
	assert_int_equal(recording_unnamed_clear(&b->unnamed), -EBUSY);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(read_count(b), live_after(1));
	assert_int_equal(recording_unnamed_clear(&b->unnamed), 0);
	assert_int_equal(read_count(b), -ENODATA);
	assert_true(folder_is_empty());
}

/* A limit of file sizes is a full disk at a place of our choice. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_ends_it_in_words(void **state)
{
	struct bench *b = *state;
	struct snapshot *snapshot;
	int err;

	limit_files(1 << 14);
	assert_int_equal(recording_open_unnamed(&b->unnamed, "it", &b->recording), -EFBIG);
	limit_files(RLIM_INFINITY);
	begin(b);
	add(b);
	limit_files(1 << 14);
	sample_second(&b->sample, b->seconds++, 0);
	snapshot = sample_take(&b->sample, false, SNAPSHOT_PRISTINE);
	err = recording_add(b->recording, snapshot, b->sample.stacks, NULL);
	limit_files(RLIM_INFINITY);
	snapshot_free(snapshot);
	assert_int_equal(err, -EFBIG);
	assert_non_null(strstr(recording_error(b->recording), "it: the limit on the size of files "
			       "(ulimit -f) is reached; what was"));
	assert_int_equal(recording_close(b->recording), -EFBIG);
	assert_int_equal(read_count(b), live_after(1));
}

/* A forged journal can name a file that SQLite is to take away with it. */
static void there_are_no_other_files(void **state)
{
	static const char *const other[] = { "/proc/self/exe", "2,2", "recording-wal", "" };
	struct bench *b = *state;
	char name[64];
	sqlite3_vfs *vfs;
	int there;

	begin(b);
	assert_int_equal(recording_close(b->recording), 0);
	snprintf(name, sizeof(name), "memattach-unnamed-%d-%d", b->unnamed.file,
		 b->unnamed.journal);
	vfs = sqlite3_vfs_find(name);
	assert_non_null(vfs);
	for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
		assert_int_equal(vfs->xAccess(vfs, other[i], SQLITE_ACCESS_EXISTS, &there), 0);
		assert_false(there);
		assert_int_not_equal(vfs->xDelete(vfs, other[i], 0), SQLITE_OK);
	}
}

static void no_folder_is_said(void **state)
{
	struct recording_unnamed none = RECORDING_UNNAMED_NONE;

	(void)state;
	assert_int_equal(recording_unnamed_new("/nonexistent/folder", &none), -ENOENT);
	assert_int_equal(recording_unnamed_new("/proc/self/exe", &none), -ENOTDIR);
	assert_int_equal(none.file, -1);
	recording_unnamed_done(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_read_was_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_long_session_is_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_second_try_begins_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_killed_writer_leaves_what_was_whole, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_full_disk_ends_it_in_words, set_up, tear_down),
		cmocka_unit_test_setup_teardown(there_are_no_other_files, set_up, tear_down),
		cmocka_unit_test(no_folder_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
