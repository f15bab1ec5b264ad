/* SPDX-License-Identifier: MIT */
/*
 * test_recording_limit.c - a recording that may become only so large: it is filled, keeps below
 * that, says what it gave up, and what is left is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "src/recording/limit.h"
#include "tests/unit/sample_recording.h"

#define LIMIT	(1u << 20)
#define SITES	150u

static const struct report_names names = { .frame = sample_frame };

static uint64_t size_of(const char *suffix)
{
	struct stat file = { .st_size = 0 };
	char name[128];

	snprintf(name, sizeof(name), "%s%s", sample_path, suffix);
	return stat(name, &file) == 0 ? (uint64_t)file.st_size : 0;
}

/* A second in which every site allocates; second 100 has the peak, 60 was asked for. */
static void add_second(struct recording *recording, struct sample *sample, uint64_t second,
		       const uint32_t *stack)
{
	struct snapshot *snapshot;

	for (uint64_t i = 0; i < SITES; i++)
		sample_alloc(sample, 0x10000000 + (second * SITES + i) * 64, 48, 0, stack[i]);
	if (second == 100)
		sample_alloc(sample, 0x8000, 1 << 30, 0, stack[0]);
	if (second == 101)
		sample_free(sample, 0x8000);
	sample->now = 1000 + (second + 1) * 1000000000ull;
	sample_tick(sample);
	snapshot = sample_take(sample, false, SNAPSHOT_ATTACHED);
	snapshot->reason = second == 60 ? SNAPSHOT_SIGNAL : SNAPSHOT_INTERVAL;
	sample_must(recording_add(recording, snapshot, sample->stacks, NULL));
	snapshot_free(snapshot);
	assert_in_range(size_of(""), 0, LIMIT);
	assert_in_range(size_of("") + size_of("-wal"), 0, LIMIT + LIMIT / 2);
}

static void keeps_below(void **state)
{
	struct recording *recording = NULL;
	struct recording_content content;
	struct report_input input;
	uint32_t stack[SITES];
	struct sample sample;
	char name[128], *text;

	(void)state;
	sample_init(&sample, true);
	for (uint32_t i = 0; i < SITES; i++)
		stack[i] = sample_stack(&sample, 100 + i * 8, 5, 0);
	sample_must(recording_open(sample_path, &recording));
	assert_int_equal(recording_set_limit(recording, LIMIT), 0);
	for (uint64_t second = 0; second < 1500; second++)
		add_second(recording, &sample, second, stack);
	assert_int_equal(recording_symbolize(recording, &names), 0);
	assert_int_equal(recording_close(recording), 0);
	assert_in_range(size_of(""), LIMIT / 4, LIMIT);
	assert_int_equal(recording_read(sample_path, &content), 0);
	assert_int_equal(content.snapshot->totals.alloc_count, 1500 * SITES + 1);
	assert_int_equal(content.snapshot->site_count, SITES);
	assert_int_equal(content.snapshot->session.given_up +
			 (uint64_t)sample_ask("SELECT count(*) FROM snapshots"), 1500);
	assert_true(content.snapshot->session.given_up > 1000);
	input = (struct report_input){ .snapshot = content.snapshot, .stacks = content.stacks,
				       .names = content.names };
	text = sample_print("text", &input);
	assert_non_null(strstr(text, "snapshots, older ones first, so that the recording stays "
			       "below 1.00 MiB"));
	free(text);
	recording_content_done(&content);
	/* newer ones are nearer to each other; the first, the peak and what was asked for stay */
	assert_true(sample_ask("SELECT count(*) FROM snapshots WHERE time > 750") >
		    sample_ask("SELECT count(*) FROM snapshots WHERE time <= 750"));
	assert_int_equal(sample_ask("SELECT count(*) FROM snapshots "
				    "WHERE id IN (1, 61, 101, 1500)"), 4);
	snprintf(name, sizeof(name), "%s@peak", sample_path);
	assert_int_equal(recording_read_at(name, &content), 0);
	assert_int_equal(content.snapshot->site[0].live_bytes, (1 << 30) + 101 * 48);
	recording_content_done(&content);
	sample_done(&sample);
}

/* A target that does nothing for days: totals alone must not fill it. */
static void quiet_ones_too(void **state)
{
	struct recording *recording = NULL;
	struct recording_content content;
	struct sample sample;

	(void)state;
	sample_init(&sample, true);
	sample_must(recording_open(sample_path, &recording));
	assert_int_equal(recording_set_limit(recording, RECORDING_LIMIT_LEAST), 0);
	sample_alloc(&sample, 0x1000, 100, 0, sample.stack[0]);
	for (uint64_t second = 0; second < 8000; second++) {
		sample.now += 1000000000;
		sample_add(recording, &sample);
		assert_in_range(size_of(""), 0, RECORDING_LIMIT_LEAST);
	}
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(recording_read(sample_path, &content), 0);
	assert_true(content.snapshot->session.given_up > 1000);
	assert_true(content.snapshot->session.duration > 7999);
	recording_content_done(&content);
	sample_done(&sample);
}

/* A second in which 100 new call paths allocate a block each. */
static void add_new_paths(struct recording *recording, struct sample *sample, uint32_t second,
			  enum snapshot_detached detached, int expected)
{
	struct snapshot *snapshot;

	for (uint32_t i = 0; i < 100; i++)
		sample_alloc(sample, 0x100000 + (second * 100 + i) * 64, 48, 0,
			     sample_stack(sample, (second * 100 + i) * 8, 5, 0));
	sample->now = 1000 + (second + 1) * 1000000000ull;
	sample_tick(sample);
	snapshot = sample_take(sample, false, detached);
	assert_int_equal(recording_add(recording, snapshot, sample->stacks, NULL), expected);
	snapshot_free(snapshot);
}

/* Until what can't be given up does not fit any more. Returns the second. */
static uint32_t fill(struct recording *recording, struct sample *sample)
{
	uint32_t second = 0;

	for (; !recording_is_full(recording); second++) {
		assert_in_range(second, 0, 99);
		add_new_paths(recording, sample, second, SNAPSHOT_ATTACHED, 0);
	}
	assert_string_equal(recording_error(recording), "");
	return second;
}

/* Nothing goes: it ends there, in words, and what is there is read. */
static void ends_where_nothing_can_go(void **state)
{
	struct recording *recording = NULL;
	struct recording_content content;
	struct sample sample;
	uint32_t second;

	(void)state;
	sample_init(&sample, true);
	sample_must(recording_open(sample_path, &recording));
	assert_int_equal(recording_set_limit(recording, RECORDING_LIMIT_LEAST), 0);
	second = fill(recording, &sample);
	add_new_paths(recording, &sample, second, SNAPSHOT_PRISTINE, -ENOSPC);
	assert_non_null(strstr(recording_error(recording), "--max-recording is too little"));
	assert_int_equal(recording_close(recording), -ENOSPC);
	assert_in_range(size_of(""), 0, RECORDING_LIMIT_LEAST);
	assert_int_equal(recording_read(sample_path, &content), 0);
	assert_true(content.snapshot->site_count >= 100);
	recording_content_done(&content);
	sample_done(&sample);
}

/*
 * There is room again: what was not written is written, nothing twice, nothing of what was undone;
 * and the pauses between two tries get longer.
 */
static void goes_on_when_there_is_room(void **state)
{
	enum { SECONDS = 200 };
	struct recording *recording = NULL;
	struct recording_content content;
	struct sample sample;
	uint32_t second, full_at, tries;
	char name[128];

	(void)state;
	sample_init(&sample, true);
	sample_must(recording_open(sample_path, &recording));
	assert_int_equal(recording_set_limit(recording, RECORDING_LIMIT_LEAST), 0);
	second = fill(recording, &sample);
	full_at = second;
	for (tries = 0; tries < 40; tries++)	/* 1, 2, 4, 8, 16 seconds later: all in vain */
		add_new_paths(recording, &sample, second++, SNAPSHOT_ATTACHED, 0);
	assert_true(recording_is_full(recording));
	assert_int_equal(recording_set_limit(recording, 64u << 20), 0);
	add_new_paths(recording, &sample, second++, SNAPSHOT_ATTACHED, 0);
	assert_true(recording_is_full(recording));	/* not tried yet */
	while (recording_is_full(recording))
		add_new_paths(recording, &sample, second++, SNAPSHOT_ATTACHED, 0);
	assert_in_range(second, full_at + 41, full_at + 80);
	for (; second < SECONDS; second++)
		add_new_paths(recording, &sample, second, SNAPSHOT_ATTACHED, 0);
	add_new_paths(recording, &sample, second, SNAPSHOT_PRISTINE, 0);
	assert_int_equal(recording_symbolize(recording, &names), 0);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(recording_read(sample_path, &content), 0);
	assert_int_equal(content.snapshot->site_count, (SECONDS + 1) * 100);
	assert_int_equal(content.snapshot->totals.alloc_count, (SECONDS + 1) * 100);
	for (uint32_t i = 0; i < content.snapshot->site_count; i++) {
		struct stack stack = stacks_get(content.stacks, content.snapshot->site[i].stack);

		assert_int_equal(stack.frame_count, 5);
	}
	recording_content_done(&content);
	/* each path's one level stands there once, in the interval in which it was written */
	assert_int_equal(sample_ask("SELECT count(*) FROM snapshot_sites"), (SECONDS + 1) * 100);
	assert_int_equal(sample_ask("SELECT count(*) - count(DISTINCT offset || '.' || module) "
				    "FROM frames"), 0);
	assert_int_equal(sample_ask("SELECT max(id) - count(*) FROM frames"), 0);
	assert_int_equal(sample_ask("SELECT max(id) - count(*) - (SELECT given_up FROM session) "
				    "FROM snapshots"), 0);
	snprintf(name, sizeof(name), "%s@150s", sample_path);
	assert_int_equal(recording_read_at(name, &content), 0);
	assert_int_equal(content.snapshot->totals.alloc_count, 15000);
	assert_int_equal(content.snapshot->site_count, 15000);
	recording_content_done(&content);
	sample_done(&sample);
}

/* Threads take an eighth of it at the most, and never the room of what comes later. */
static void threads_have_their_share(void **state)
{
	struct thread_row row[THREAD_TABLE_ROWS] = { { .number = 1 } };
	struct thread_table table = { .total = 10, .row_count = 10, .row = row };
	struct recording *recording = NULL;
	struct recording_content content;
	struct sample sample;

	(void)state;
	for (uint32_t i = 0; i < THREAD_TABLE_ROWS; i++)
		row[i].number = i + 1;
	recording = sample_recording(&sample, 2, SAMPLE_LEAK);
	assert_int_equal(recording_set_limit(recording, RECORDING_LIMIT_LEAST), 0);
	assert_int_equal(recording_add_threads(recording, &table), 0);
	assert_int_equal(sample_ask("SELECT count(*) FROM threads"), 10);
	table.row_count = table.total = THREAD_TABLE_ROWS;
	assert_int_equal(recording_add_threads(recording, &table), 0);
	sample_add(recording, &sample);
	assert_int_equal(recording_symbolize(recording, &names), 0);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(recording_read(sample_path, &content), 0);
	assert_null(content.threads);	/* none rather than some of a moment before */
	recording_content_done(&content);
	sample_done(&sample);
}

/*
 * An hour of a program with 5,000 sites and twice as many frames, all of which change more often
 * than is kept, without a limit: under 10 MB, as the documentation says.
 */
static void an_hour_is_small(void **state)
{
	enum { MANY = 5000, HOUR = 3600, BUSY = 15 };
	static uint32_t stack[MANY];
	struct recording *recording = NULL;
	struct recording_content content;
	struct sample sample;
	clock_t begin;

	(void)state;
	sample_init(&sample, true);
	for (uint32_t i = 0; i < MANY; i++)
		stack[i] = sample_stack(&sample, 100 + i * 2, 8, 0);
	sample_must(recording_open(sample_path, &recording));
	for (uint64_t second = 0; second < HOUR; second++) {
		bool busy = second < BUSY || second >= HOUR - BUSY;

		for (uint64_t i = 0; i < (busy ? MANY : 3); i++)
			sample_alloc(&sample, 0x10000000 + (second * MANY + i) * 64, 48, 0,
				     stack[i]);
		sample.now = 1000 + (second + 1) * 60000000000ull;
		sample_add(recording, &sample);
	}
	assert_int_equal(recording_symbolize(recording, &names), 0);
	assert_int_equal(recording_close(recording), 0);
	assert_in_range(size_of(""), 1 << 20, 10000000);
	begin = clock();
	assert_int_equal(recording_read(sample_path, &content), 0);
	print_message("an hour, 5,000 sites: %llu bytes, read in %.2f s of processor time\n",
		      (unsigned long long)size_of(""), (double)(clock() - begin) / CLOCKS_PER_SEC);
	assert_int_equal(content.snapshot->site_count, MANY);
	assert_int_equal(content.looks, HOUR);
	recording_content_done(&content);
	sample_done(&sample);
}

int main(void)
{
#define IN_FOLDER(test) \
	cmocka_unit_test_setup_teardown(test, sample_recording_begin, sample_recording_end)
	const struct CMUnitTest tests[] = {
		IN_FOLDER(keeps_below),
		IN_FOLDER(quiet_ones_too),
		IN_FOLDER(ends_where_nothing_can_go),
		IN_FOLDER(goes_on_when_there_is_room),
		IN_FOLDER(threads_have_their_share),
		IN_FOLDER(an_hour_is_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
