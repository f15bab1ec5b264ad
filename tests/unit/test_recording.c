/* SPDX-License-Identifier: MIT */
/*
 * test_recording.c - what is read back prints the same; a SIGKILL, a full disk, a
 * damaged or foreign file: what was written stays, and the rest is refused in words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "src/recording/recording.h"
#include "tests/unit/sample_session.h"

static char directory[64], path[96];

static int set_up(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/memattach-recording.XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/r.db", directory);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const suffix[] = { "", "-wal", "-shm", "-journal" };
	char name[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(suffix); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffix[i]);
		unlink(name);
	}
	return rmdir(directory);
}

static const struct report_names sample_names = { .frame = sample_frame };

/* A session of 40 intervals; the snapshot of the last is returned. */
static struct snapshot *record(struct sample *sample, bool exact, bool symbolize)
{
	struct recording *recording;
	struct snapshot *snapshot = NULL;

	sample_init(sample, exact);
	assert_int_equal(recording_open(path, &recording), 0);
	for (int i = 0; i < 40; i++) {
		if (i == 0 || i == 20)
			sample_fill(sample, exact ? 0 : 4096);
		else
			sample_tick(sample);
		if (i == 20)
			sample_alloc(sample, 0x5000000, 7777, 0, sample->stack[0]);
		sample->now += 1000000000;
		snapshot_free(snapshot);
		snapshot = sample_take(sample, true, i < 39 ? SNAPSHOT_ATTACHED :
							      SNAPSHOT_PRISTINE);
		assert_int_equal(recording_add(recording, snapshot, sample->stacks, NULL), 0);
	}
	if (symbolize)
		assert_int_equal(recording_symbolize(recording, &sample_names), 0);
	assert_string_equal(recording_error(recording), "");
	assert_int_equal(recording_close(recording), 0);
	return snapshot;
}

static void assert_prints_the_same(const struct sample *sample, const struct snapshot *snapshot,
				   const struct recording_content *content, const char *report)
{
	struct report_input before = sample_input(sample, snapshot), after = before;
	char *first, *second;

	after.snapshot = content->snapshot;
	after.stacks = content->stacks;
	after.names = content->names;
	first = sample_print(report, &before);
	second = sample_print(report, &after);
	assert_string_equal(first, second);
	free(first);
	free(second);
}

static void prints_the_same(void **state)
{
	(void)state;
	for (int exact = 0; exact < 2; exact++) {
		struct sample sample;
		struct snapshot *snapshot = record(&sample, exact, true);
		struct recording_content content;

		assert_int_equal(access(path, R_OK), 0);
		assert_int_equal(recording_read(path, &content), 0);
		assert_prints_the_same(&sample, snapshot, &content, "text");
		assert_prints_the_same(&sample, snapshot, &content, "json");
		assert_prints_the_same(&sample, snapshot, &content, "live");
		recording_content_done(&content);
		snapshot_free(snapshot);
		sample_done(&sample);
	}
}

static char *copy(const char *text)
{
	char *made = strdup(text);

	assert_non_null(made);
	return made;
}

/* Everything that a leak report can say, and everything that it can leave out. */
static struct leak_report *make_leaks(void)
{
	struct leak_report *leaks = NULL;
	struct leak_group full = {
		.verdict = LEAK_DEFINITELY_LOST, .site = 1, .count = 3, .bytes = 300,
		.indirect_count = 1, .indirect_bytes = 8, .size = 100, .growth = -1.5,
		.oldest = 2.25, .type = copy("ns::\"T\""), .variable = copy("v"),
		.address_count = 2, .address = { 0x1000, UINT64_MAX - 7 }, .content_count = 1,
		.content = calloc(1, sizeof(struct leak_content)),
	};
	struct leak_group old = {
		.verdict = LEAK_POSSIBLY_LOST, .count = 2, .bytes = 100, .size_class = 56,
		.growth = NAN, .oldest = NAN, .held_by = copy("g->x"), .last_held_by = copy("it"),
		.last_held_count = 1, .likely_site = 2,
	};
	struct leak_group stuck = { .verdict = LEAK_STUCK, .site = 2, .count = 1, .growth = 0,
				    .oldest = 1e9, .by_history = true };
	const struct leak_early early[] = { { 1, 3, 300, 0, 750 }, { 2, 1, 64, 2.5, 9.375 } };

	assert_non_null(full.content);
	full.content[0] = (struct leak_content){ .address = 0x1000, .size = 100, .count = 3,
						 .byte = (uint8_t *)copy("\xff" "a"),
						 .kind = LEAK_TEXT_C, .text = copy("a\tb") };
	assert_int_equal(leak_report_new(&leaks), 0);
	assert_int_equal(leak_report_add(leaks, &full), 0);
	assert_int_equal(leak_report_add(leaks, &old), 0);
	assert_int_equal(leak_report_add(leaks, &stuck), 0);
	leaks->covers_older_blocks = true;
	leaks->pause_us = 3600;
	leaks->scanned_bytes = 1ull << 40;
	leaks->unread_shared_bytes = 4096;
	leaks->seconds = 0.5;
	for (uint64_t i = 0; i < BLOCK_KINDS; i++)
		leaks->kind[i] = (struct leak_sum){ i + 1, i + 10 };
	leaks->suppressed = (struct leak_sum){ 7, 70 };
	leaks->watched = 10.5;
	leaks->history = 3600;
	leaks->history_sites = 2;
	for (size_t i = 0; i < ARRAY_SIZE(early); i++)
		assert_int_equal(leak_report_add_early(leaks, &early[i]), 0);
	leaks->heap_count = 2;
	leaks->heap[0] = (struct leak_heap){ .allocator = "glibc", .version = "2.36",
					     .covered = true, .live_count = 5, .live_bytes = 50 };
	leaks->heap[1] = (struct leak_heap){ .allocator = "other", .why = "because" };
	return leaks;
}

/* Without --leaks there is none; with it, it prints the same, contents that were asked for too. */
static void keeps_the_leak_report(void **state)
{
	struct leak_report *leaks = make_leaks();
	struct recording_content content;
	struct recording *recording;
	struct snapshot *snapshot;
	struct sample sample;

	(void)state;
	sample_init(&sample, true);
	sample_fill(&sample, 0);
	snapshot = sample_take(&sample, true, SNAPSHOT_PRISTINE);
	assert_int_equal(recording_open(path, &recording), 0);
	assert_int_equal(recording_add(recording, snapshot, sample.stacks, NULL), 0);
	assert_int_equal(recording_add_leaks(recording, leaks), 0);
	assert_int_equal(recording_add_leaks(recording, leaks), 0);	/* replaces */
	assert_int_equal(recording_symbolize(recording, &sample_names), 0);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(recording_read(path, &content), 0);
	assert_non_null(content.leaks);
	for (int json = 0; json < 2; json++) {
		struct report_input before = sample_input(&sample, snapshot), after = before;
		char *first, *second;

		before.leaks = leaks;
		before.names = after.names = content.names;
		after.leaks = content.leaks;
		first = sample_print(json ? "json" : "text", &before);
		second = sample_print(json ? "json" : "text", &after);
		assert_string_equal(first, second);
		free(first);
		free(second);
	}
	recording_content_done(&content);
	leak_report_free(leaks);
	snapshot_free(snapshot);
	sample_done(&sample);
}

static void has_a_leak_report_only_if_one_was_made(void **state)
{
	struct recording_content content;
	struct sample sample;

	(void)state;
	snapshot_free(record(&sample, true, true));
	assert_int_equal(recording_read(path, &content), 0);
	assert_null(content.leaks);
	recording_content_done(&content);
	sample_done(&sample);
}

static void record_leaks(void)
{
	struct leak_report *leaks = make_leaks();
	struct recording *recording;
	struct snapshot *snapshot;
	struct sample sample;

	sample_init(&sample, true);
	snapshot = sample_take(&sample, true, SNAPSHOT_PRISTINE);
	assert_int_equal(recording_open(path, &recording), 0);
	assert_int_equal(recording_add(recording, snapshot, sample.stacks, NULL), 0);
	assert_int_equal(recording_add_leaks(recording, leaks), 0);
	assert_int_equal(recording_close(recording), 0);
	leak_report_free(leaks);
	snapshot_free(snapshot);
	sample_done(&sample);
}

static void change(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* What older versions did not write is not known. */
static void reads_older_leak_reports(void **state)
{
	struct recording_content content;

	(void)state;
	record_leaks();
	change("ALTER TABLE leak_search DROP COLUMN watched_seconds;"
	       "ALTER TABLE leak_search DROP COLUMN history_seconds;"
	       "ALTER TABLE leak_search DROP COLUMN history_sites;"
	       "ALTER TABLE leak_groups DROP COLUMN by_history; DROP TABLE leak_early");
	assert_int_equal(recording_read(path, &content), 0);
	assert_true(isnan(content.leaks->watched) && content.leaks->history == 0);
	assert_int_equal(content.leaks->early_count, 0);
	assert_int_equal(content.leaks->group_count, 3);
	assert_false(content.leaks->group[2].by_history);
	recording_content_done(&content);
}

/* A finished recording is one file, and an older one is replaced (the loop above did that). */
static void is_one_file(void **state)
{
	struct sample sample;
	char name[128];

	(void)state;
	snapshot_free(record(&sample, true, true));
	sample_done(&sample);
	snprintf(name, sizeof(name), "%s-wal", path);
	assert_int_equal(access(name, F_OK), -1);
	snprintf(name, sizeof(name), "%s-shm", path);
	assert_int_equal(access(name, F_OK), -1);
}

/* Without symbols, as after a crash: frames keep module and offset. */
static void unnamed_frames_have_offsets(void **state)
{
	struct sample sample;
	struct recording_content content;
	struct report_input input;
	char *text;

	(void)state;
	snapshot_free(record(&sample, true, false));
	assert_int_equal(recording_read(path, &content), 0);
	input = (struct report_input){ .snapshot = content.snapshot, .stacks = content.stacks,
				       .names = content.names };
	text = sample_print("text", &input);
	assert_non_null(strstr(text, "      module 1+0x1000\n"));
	free(text);
	recording_content_done(&content);
	sample_done(&sample);
}

/* Adds intervals for ever; a byte to fd for each that is said to be safe. */
static void record_for_ever(int fd)
{
	struct sample sample;
	struct recording *recording;

	sample_init(&sample, true);
	if (recording_open(path, &recording) < 0)
		_exit(1);
	for (uint64_t i = 0;; i++) {
		struct snapshot *snapshot;

		sample_alloc(&sample, 0x1000 + i * 16, 10, 0, sample.stack[0]);
		sample_tick(&sample);
		snapshot = sample_take(&sample, false, SNAPSHOT_ATTACHED);
		if (recording_add(recording, snapshot, sample.stacks, NULL) < 0)
			_exit(2);
		snapshot_free(snapshot);
		if (write(fd, "x", 1) != 1)
			_exit(3);
	}
}

static void survives_sigkill(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 20; round++) {
		struct recording_content content;
		int pipe_fd[2], status;
		uint64_t safe = 0;
		pid_t child;
		char byte;

		assert_int_equal(pipe(pipe_fd), 0);
		child = fork();
		if (child == 0)
			record_for_ever(pipe_fd[1]);
		close(pipe_fd[1]);
		while (safe < 1 + round * 3 && read(pipe_fd[0], &byte, 1) == 1)
			safe++;
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		assert_true(WIFSIGNALED(status));
		while (read(pipe_fd[0], &byte, 1) == 1)
			safe++;
		close(pipe_fd[0]);
		assert_int_equal(recording_read(path, &content), 0);
		/* Every interval that was reported safe, at the most one more. */
		assert_in_range(content.snapshot->totals.alloc_count, safe, safe + 1);
		assert_int_equal(content.snapshot->site[0].alloc_count,
				 content.snapshot->totals.alloc_count);
		recording_content_done(&content);
	}
}

/* One more interval, with a new stack: something to write. */
static int add_new_stack(struct recording *recording, struct sample *sample, uint64_t i,
			 enum snapshot_detached detached)
{
	struct snapshot *snapshot;
	int err;

	sample_alloc(sample, 0x1000 + i * 16, i, 0,
		     sample_stack(sample, (uint32_t)i * 8 + 10, 5, 0));
	sample_tick(sample);
	snapshot = sample_take(sample, false, detached);
	err = recording_add(recording, snapshot, sample->stacks, NULL);
	if (err < 0 && recording_add(recording, snapshot, sample->stacks, NULL) != err)
		err = -EINVAL;	/* errors stick */
	snapshot_free(snapshot);
	return err;
}

/* In a child: records until the disk (or the limit on a file's size) ends it. */
static int fill_disk(void)
{
	struct sample sample;
	struct recording *recording;
	uint64_t i = 0;
	int err = 0;

	sample_init(&sample, true);
	if (recording_open(path, &recording) < 0)
		return 1;
	while (i < 3000 && err == 0 && !recording_is_full(recording))
		err = add_new_stack(recording, &sample, i++, SNAPSHOT_ATTACHED);
	if (err == 0 && i < 3000)	/* it waits for room until the end */
		err = add_new_stack(recording, &sample, i, SNAPSHOT_PRISTINE);
	if (!strstr(recording_error(recording), path) ||
	    !strstr(recording_error(recording), "; what was recorded until "))
		return 3;
	if (recording_close(recording) != err)
		return 4;
	sample_done(&sample);
	return err == -ENOSPC ? 50 : err == -EFBIG ? 51 : 5;
}

static int run_in_child(int (*function)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(function());
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int fill_limited_file(void)
{
	struct rlimit limit = { 800 * 1024, 800 * 1024 };

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	return fill_disk();
}

/* Reads back what fill_disk left, in the same mount namespace. */
static int fill_small_disk(void)
{
	struct recording_content content;
	int status;

	if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", directory, "tmpfs", 0, "size=1500k") < 0)
		return 77;
	status = fill_disk();
	if (status != 50)
		return status;
	if (recording_read(path, &content) < 0)
		return 60;
	status = content.snapshot->totals.alloc_count > 10 &&
		 content.snapshot->site_count == content.snapshot->totals.alloc_count ? 50 : 61;
	recording_content_done(&content);
	return status;
}

static void a_full_disk_is_said(void **state)
{
	int status = run_in_child(fill_small_disk);

	(void)state;
	if (status == 77)
		skip();
	assert_int_equal(status, 50);
}

static void a_full_disk_keeps_what_is_there(void **state)
{
	struct recording_content content;

	(void)state;
	assert_in_range(run_in_child(fill_limited_file), 50, 51);
	assert_int_equal(recording_read(path, &content), 0);
	assert_true(content.snapshot->totals.alloc_count > 10);
	assert_int_equal(content.snapshot->site_count, content.snapshot->totals.alloc_count);
	recording_content_done(&content);
}

/* In a child: everything was recorded, but there is no room to fold the log in. */
static int close_without_room(void)
{
	const struct rlimit limit = { 8192, RLIM_INFINITY };
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	struct recording_content content;
	struct recording *recording;
	struct snapshot *snapshot;
	struct sample sample;
	char words[800];
	int err;

	signal(SIGXFSZ, SIG_IGN);
	sample_init(&sample, true);
	sample_fill(&sample, 0);
	snapshot = sample_take(&sample, false, SNAPSHOT_PRISTINE);
	if (recording_open(path, &recording) < 0 ||
	    recording_add(recording, snapshot, sample.stacks, NULL) < 0)
		return 1;
	setrlimit(RLIMIT_FSIZE, &limit);
	err = recording_close(recording);
	setrlimit(RLIMIT_FSIZE, &none);
	recording_explain_close(path, err, words, sizeof(words));
	if (err != -EFBIG || !strstr(words, "ulimit -f") || !strstr(words, "nothing is lost") ||
	    recording_read(path, &content) < 0)
		return 2;
	err = content.snapshot->totals.alloc_count == snapshot->totals.alloc_count ? 50 : 3;
	recording_content_done(&content);
	snapshot_free(snapshot);
	sample_done(&sample);
	return err;
}

static void a_log_without_room_is_kept(void **state)
{
	(void)state;
	assert_int_equal(run_in_child(close_without_room), 50);
}

static void write_file(const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void refuses_other_files(void **state)
{
	struct recording *recording;
	struct recording_content content;
	sqlite3 *db;

	(void)state;
	assert_int_equal(recording_read(path, &content), -ENOENT);
	write_file("precious\n");
	assert_int_equal(recording_open(path, &recording), -EEXIST);
	assert_int_equal(recording_read(path, &content), -EBADMSG);
	unlink(path);
	/* Somebody else's database. */
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "CREATE TABLE precious(x)", NULL, NULL, NULL);
	sqlite3_close(db);
	assert_int_equal(recording_open(path, &recording), -EEXIST);
	assert_int_equal(recording_read(path, &content), -EBADMSG);
	assert_int_equal(recording_open("/nonexistent/r.db", &recording), -ENOENT);
	assert_int_equal(recording_open("/dev", &recording), -EEXIST);
}

static void refuses_newer_and_tampered_ones(void **state)
{
	struct recording_content content;
	struct recording *recording;
	struct sample sample;

	(void)state;
	assert_int_equal(recording_open(path, &recording), 0);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(recording_read(path, &content), -ENODATA);
	snapshot_free(record(&sample, true, true));
	sample_done(&sample);
	change("PRAGMA user_version=2");
	assert_int_equal(recording_read(path, &content), -EPROTONOSUPPORT);
	change("PRAGMA user_version=1; DROP TABLE histogram;"
	       "CREATE VIEW histogram(size, count) AS WITH RECURSIVE x(a, b) AS "
	       "(SELECT 1, 1 UNION ALL SELECT a + 1, 1 FROM x) SELECT * FROM x");
	assert_int_equal(recording_read(path, &content), -EBADMSG);
	change("DROP VIEW histogram");
	assert_int_equal(recording_read(path, &content), -EBADMSG);
}

/* Rows that lie: numbers out of range, references to nothing. Nothing breaks. */
static void bounds_what_rows_say(void **state)
{
	struct recording_content content;
	struct report_input input;
	struct sample sample;

	(void)state;
	snapshot_free(record(&sample, true, true));
	sample_done(&sample);
	change("UPDATE session SET mode = 99, loader = -1, detached = 7;"
	       "UPDATE sites SET kind = 77, verdict = -5, stack = 1000000, skip_frames = 65535 "
	       "WHERE id = 1;"
	       "UPDATE stack_frames SET frame = 4000000000 WHERE stack = 2;"
	       "UPDATE target SET pid = -1, exe = NULL, cmdline = x'ff00ff';"
	       "INSERT INTO symbols(frame, depth, function) VALUES(999999, 0, 'x');"
	       "INSERT INTO symbols(frame, depth, function) WITH RECURSIVE n(i) AS (SELECT 100 "
	       "UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT 1, i, 'x' FROM n;"
	       "INSERT INTO entry_points VALUES(55, 'x', 0), (-1, 'y', 1);"
	       "INSERT INTO leak_addresses VALUES(77777, 0, 1);"
	       "UPDATE snapshots SET live_bytes = 'many';");
	assert_int_equal(recording_read(path, &content), 0);
	input = (struct report_input){ .snapshot = content.snapshot, .stacks = content.stacks,
				       .names = content.names };
	free(sample_print("text", &input));
	free(sample_print("json", &input));
	for (uint32_t id = 1; id <= stacks_count(content.stacks); id++) {
		struct stack stack = stacks_get(content.stacks, id);

		for (uint32_t i = 0; i < stack.frame_count; i++) {
			size_t count = 0;

			(void)input.names.frame(input.names.context, &stack.frame[i], &count);
			assert_true(count <= SYMBOLIZER_MAX_FRAMES);
		}
	}
	recording_content_done(&content);
}

static void bounds_what_rows_of_leaks_say(void **state)
{
	struct recording_content content;
	struct report_input input;

	(void)state;
	record_leaks();
	change("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
	       "INSERT INTO leak_group_addresses SELECT 0, i + 10, -i FROM n;"
	       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
	       "INSERT INTO leak_contents SELECT 1, i + 10, -i, -1, hex(zeroblob(9000)), 77, "
	       "x'80ff00', 5 FROM n;"
	       "INSERT INTO leak_contents VALUES(77, 0, 1, 1, 'zz', 0, NULL, 0);"
	       "UPDATE leak_contents SET bytes = 'a' WHERE number = 11;"
	       "UPDATE leak_contents SET bytes = '61zz' WHERE number = 12;"
	       "UPDATE leak_contents SET bytes = NULL WHERE number = 13;"
	       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)"
	       "INSERT INTO leak_heaps SELECT i + 10, hex(zeroblob(500)), NULL, 9, "
	       "hex(zeroblob(500)), -1, -1 FROM n;"
	       "UPDATE leak_groups SET site = -5, type = x'ff', growth_per_hour = 'much' "
	       "WHERE id = 1");
	assert_int_equal(recording_read(path, &content), 0);
	assert_int_equal(content.leaks->heap_count, LEAK_MAX_HEAPS);
	assert_int_equal(content.leaks->group[0].address_count, LEAK_MAX_ADDRESSES);
	assert_int_equal(content.leaks->group[1].content_count, LEAK_MAX_ADDRESSES);
	assert_int_equal(content.leaks->group[1].content[0].count, 0);
	assert_int_equal(content.leaks->group[1].content[1].count, 1);
	assert_int_equal(content.leaks->group[1].content[3].count, 4096);
	input = (struct report_input){ .snapshot = content.snapshot, .stacks = content.stacks,
				       .names = content.names, .leaks = content.leaks };
	free(sample_print("text", &input));
	free(sample_print("json", &input));
	recording_content_done(&content);
	change("UPDATE leak_groups SET verdict = 'lost at sea' WHERE id = 1");
	assert_int_equal(recording_read(path, &content), -EBADMSG);
	change("UPDATE leak_groups SET verdict = 'old', id = 9 WHERE id = 1");
	assert_int_equal(recording_read(path, &content), -EBADMSG);
	change("UPDATE leak_groups SET id = 1 WHERE id = 9; DROP TABLE leak_contents");
	assert_int_equal(recording_read(path, &content), -EBADMSG);
}

/* Any byte of the file changed: it opens or is refused. */
static void survives_damage(void **state)
{
	struct sample sample;
	struct stat status;
	int fd, opened = 0;

	(void)state;
	snapshot_free(record(&sample, true, true));
	sample_done(&sample);
	fd = open(path, O_RDWR);
	assert_int_equal(fstat(fd, &status), 0);
	srandom(5);
	for (int round = 0; round < 300; round++) {
		off_t at = random() % status.st_size;
		uint8_t old[8], new[8];
		struct recording_content content;

		assert_int_equal(pread(fd, old, 8, at), at + 8 <= status.st_size ? 8 :
				 status.st_size - at);
		if (at + 8 > status.st_size)
			continue;
		for (size_t i = 0; i < 8; i++)
			new[i] = (uint8_t)random();
		assert_int_equal(pwrite(fd, new, 8, at), 8);
		if (recording_read(path, &content) == 0) {
			opened++;
			recording_content_done(&content);
		}
		assert_int_equal(pwrite(fd, old, 8, at), 8);
	}
	close(fd);
	assert_true(opened > 0);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		IN_FOLDER(prints_the_same),
		IN_FOLDER(is_one_file),
		IN_FOLDER(unnamed_frames_have_offsets),
		IN_FOLDER(survives_sigkill),
		IN_FOLDER(a_full_disk_is_said),
		IN_FOLDER(a_full_disk_keeps_what_is_there),
		IN_FOLDER(a_log_without_room_is_kept),
		IN_FOLDER(refuses_other_files),
		IN_FOLDER(refuses_newer_and_tampered_ones),
		IN_FOLDER(keeps_the_leak_report),
		IN_FOLDER(has_a_leak_report_only_if_one_was_made),
		IN_FOLDER(reads_older_leak_reports),
		IN_FOLDER(bounds_what_rows_of_leaks_say),
		IN_FOLDER(bounds_what_rows_say),
		IN_FOLDER(survives_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
