/* SPDX-License-Identifier: MIT */
/*
 * test_recording_names.c - frames that are named while the recording is written: what a reader sees
 * meanwhile, what is left to the end, a disk that is full in between, a limit, a busy file; and
 * what is finished is what it would be had all been named at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "src/recording/limit.h"
#include "tests/unit/sample_recording.h"

#define PATHS 40u	/* that are new in a second; five frames each, two of them of module 1 */

/* What is known so far: frames of module 1 below that offset. */
static uint64_t known_to;

static const struct symbol_frame *known(void *context, const struct frame *frame, size_t *ret_count)
{
	if (frame->module == 1 && frame->offset >= known_to)
		return NULL;
	return sample_frame(context, frame, ret_count);
}

static const struct report_names some = { .frame = known }, all = { .frame = sample_frame };

static int set_up(void **state)
{
	known_to = UINT64_MAX;
	return sample_recording_begin(state);
}

static int64_t named(void)
{
	return sample_ask("SELECT count(DISTINCT frame) FROM symbols");
}

static int64_t with_functions(void)
{
	return sample_ask("SELECT count(DISTINCT frame) FROM symbols WHERE function NOT NULL");
}

static void add_paths(struct recording *recording, struct sample *sample, uint32_t second,
		      enum snapshot_detached detached)
{
	struct snapshot *snapshot;

	for (uint32_t i = 0; i < PATHS; i++)
		sample_alloc(sample, 0x100000 + (second * PATHS + i) * 64, 48, 0,
			     sample_stack(sample, 8 + (second * PATHS + i) * 8, 5, 0));
	sample->now = 1000 + (second + 1) * 1000000000ull;
	sample_tick(sample);
	snapshot = sample_take(sample, false, detached);
	sample_must(recording_add(recording, snapshot, sample->stacks, NULL));
	snapshot_free(snapshot);
}

/* Of all rows of all tables, in a number. */
static int64_t sum_of_rows(void)
{
	static const char tables[] = "SELECT 'SELECT * FROM ' || name || ' ORDER BY 1, 2, 3' "
		"FROM sqlite_schema AS s WHERE type = 'table' AND (SELECT count(*) "
		"FROM pragma_table_info(s.name)) > 2 ORDER BY name";
	sqlite3_stmt *table = NULL, *row = NULL;
	uint64_t sum = 14695981039346656037ull;
	sqlite3 *db = NULL;

	sample_must(sqlite3_open(sample_path, &db) == SQLITE_OK ? 0 : -1);
	sample_must(sqlite3_prepare_v2(db, tables, -1, &table, NULL) == SQLITE_OK ? 0 : -1);
	while (sqlite3_step(table) == SQLITE_ROW) {
		sample_must(sqlite3_prepare_v2(db, (const char *)sqlite3_column_text(table, 0), -1,
					       &row, NULL) == SQLITE_OK ? 0 : -1);
		while (sqlite3_step(row) == SQLITE_ROW)
			for (int i = 0; i < sqlite3_column_count(row); i++) {
				const unsigned char *at = sqlite3_column_text(row, i);

				for (; at && *at; at++)
					sum = (sum ^ *at) * 1099511628211ull;
				sum = (sum ^ (at ? 256u : 257u)) * 1099511628211ull;
			}
		sqlite3_finalize(row);
	}
	sqlite3_finalize(table);
	sqlite3_close(db);
	return (int64_t)sum;
}

/* As each test does, but that nobody reads meanwhile. */
static int64_t sum_without_readers(uint32_t seconds)
{
	struct recording *recording = NULL;
	struct sample sample;
	int64_t sum;

	sample_init(&sample, true);
	sample_must(recording_open(sample_path, &recording));
	for (uint32_t second = 0; second < seconds; second++)
		add_paths(recording, &sample, second, second + 1 == seconds ? SNAPSHOT_PRISTINE :
									      SNAPSHOT_ATTACHED);
	assert_int_equal(sample_ask("SELECT count(*) FROM symbols"), 0);
	assert_int_equal(recording_symbolize(recording, &all), 0);
	assert_int_equal(recording_close(recording), 0);
	sample_done(&sample);
	sum = sum_of_rows();
	sample_must(unlink(sample_path));
	return sum;
}

/* What a reader makes of a frame: its function and one that is inlined there; or "". */
static void assert_read(uint32_t module, uint64_t offset, const char *function)
{
	const struct frame frame = { .module = module, .flags = FRAME_RETURN, .offset = offset };
	const struct symbol_frame *symbol;
	struct recording_content content;
	size_t count;

	assert_int_equal(recording_read(sample_path, &content), 0);
	symbol = content.names.frame(content.names.context, &frame, &count);
	assert_string_equal(symbol->function ? symbol->function : "", function);
	assert_int_equal(count, function[0] ? 2 : 1);
	recording_content_done(&content);
}

static void some_early_and_the_rest_at_the_end(void **state)
{
	struct recording *recording = NULL;
	int64_t expected = sum_without_readers(4);
	struct sample sample;

	(void)state;
	sample_init(&sample, true);
	sample_must(recording_open(sample_path, &recording));
	assert_int_equal(recording_name_some(recording, &some, 100), 0);	/* no frames yet */
	add_paths(recording, &sample, 0, SNAPSHOT_ATTACHED);
	assert_int_equal(named(), 0);
	known_to = 0x1000 * 100;
	assert_int_equal(recording_name_some(recording, &some, 7), 7);
	assert_int_equal(named(), 7);
	assert_int_equal(recording_name_some(recording, &some, 0), 0);
	assert_int_equal(recording_name_some(recording, &some, 1000),
			 sample_ask("SELECT count(*) FROM frames WHERE module = 1 AND "
				    "offset < 0x1000 * 100") - 7);
	assert_int_equal(recording_name_some(recording, &some, 1000), 0);
	assert_int_equal(sample_ask("SELECT count(*) FROM symbols WHERE function IS NULL"), 0);
	assert_read(1, 0x8000, "inner<T>::\"f\"");
	assert_read(1, 0x1000 * 104, "");
	assert_read(2, 0x9000, "");
	add_paths(recording, &sample, 1, SNAPSHOT_ATTACHED);
	known_to = UINT64_MAX;
	while (recording_name_some(recording, &some, 7) > 0)
		;
	assert_int_equal(named(), sample_ask("SELECT count(*) FROM frames WHERE module = 1"));
	add_paths(recording, &sample, 2, SNAPSHOT_ATTACHED);
	add_paths(recording, &sample, 3, SNAPSHOT_PRISTINE);
	assert_int_equal(recording_symbolize(recording, &all), 0);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(named(), sample_ask("SELECT count(*) FROM frames"));
	assert_int_equal(sum_of_rows(), expected);
	sample_done(&sample);
}

/* More than one look at them takes. */
static void many_frames_take_several_calls(void **state)
{
	enum { SECONDS = 200 };
	struct recording *recording = NULL;
	uint32_t calls = 0, count;
	struct sample sample;

	(void)state;
	sample_init(&sample, true);
	sample_must(recording_open(sample_path, &recording));
	for (uint32_t second = 0; second < SECONDS; second++)
		add_paths(recording, &sample, second, SNAPSHOT_ATTACHED);
	do {
		count = recording_name_some(recording, &some, UINT32_MAX);
		assert_in_range(count, 0, RECORDING_NAMED_AT_ONCE);
	} while (++calls < 20);
	assert_int_equal(named(), sample_ask("SELECT count(*) FROM frames WHERE module = 1"));
	assert_in_range(named(), 4 * RECORDING_NAMED_AT_ONCE, 10 * RECORDING_NAMED_AT_ONCE);
	assert_int_equal(recording_close(recording), 0);
	sample_done(&sample);
}

/* Frames that were undone lose nothing, frames before keep their names. */
static void a_full_disk_in_between(void **state)
{
	struct recording *recording = NULL;
	struct sample sample;
	uint32_t second = 0;
	int64_t before;

	(void)state;
	sample_init(&sample, true);
	sample_must(recording_open(sample_path, &recording));
	assert_int_equal(recording_set_limit(recording, RECORDING_LIMIT_LEAST), 0);
	add_paths(recording, &sample, second++, SNAPSHOT_ATTACHED);
	assert_int_equal(recording_name_some(recording, &some, 10), 10);
	while (!recording_is_full(recording))
		add_paths(recording, &sample, second++, SNAPSHOT_ATTACHED);
	assert_int_equal(recording_name_some(recording, &some, 1000), 0);
	assert_int_equal(named(), 10);
	before = sample_ask("SELECT count(*) FROM frames");
	assert_int_equal(recording_set_limit(recording, 64u << 20), 0);
	while (recording_is_full(recording))
		add_paths(recording, &sample, second++, SNAPSHOT_ATTACHED);
	assert_true(sample_ask("SELECT count(*) FROM frames") > before);
	assert_true(recording_name_some(recording, &some, 1000) > 0);
	add_paths(recording, &sample, second, SNAPSHOT_PRISTINE);
	assert_int_equal(recording_symbolize(recording, &all), 0);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(named(), sample_ask("SELECT count(*) FROM frames"));
	assert_int_equal(with_functions(), sample_ask("SELECT count(*) FROM frames "
						      "WHERE module = 1"));
	assert_int_equal(sample_ask("SELECT count(*) FROM symbols"),
			 sample_ask("SELECT sum(1 + (module = 1)) FROM frames"));
	sample_done(&sample);
}

/* No error, nothing of the course goes for it, and the end makes the room that it needs. */
static void a_limit_without_room(void **state)
{
	struct recording *recording = NULL;
	struct sample sample;
	uint32_t second = 0;
	int64_t snapshots;

	(void)state;
	sample_init(&sample, true);
	sample_must(recording_open(sample_path, &recording));
	for (; second < 25; second++)
		add_paths(recording, &sample, second, SNAPSHOT_ATTACHED);
	snapshots = sample_ask("SELECT count(*) FROM snapshots");
	assert_int_equal(recording_set_limit(recording, RECORDING_LIMIT_LEAST), 0);
	assert_int_equal(recording_name_some(recording, &some, 2000), 0);
	assert_int_equal(named(), 0);
	assert_false(recording_is_full(recording));
	assert_string_equal(recording_error(recording), "");
	assert_int_equal(sample_ask("SELECT count(*) FROM snapshots"), snapshots);
	assert_int_equal(recording_set_limit(recording, 64u << 20), 0);
	add_paths(recording, &sample, second, SNAPSHOT_PRISTINE);
	assert_true(recording_name_some(recording, &some, 2000) > 0);
	assert_int_equal(recording_symbolize(recording, &all), 0);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(named(), sample_ask("SELECT count(*) FROM frames"));
	sample_done(&sample);
}

/* Snapshots that a session of an hour gives up for its limit. */
static int64_t given_up(bool early)
{
	struct recording *recording = NULL;
	struct sample sample;
	int64_t ret;

	sample_init(&sample, true);
	sample_must(recording_open(sample_path, &recording));
	assert_int_equal(recording_set_limit(recording, 2 * RECORDING_LIMIT_LEAST), 0);
	for (uint32_t second = 0; second < 12; second++)
		add_paths(recording, &sample, second, SNAPSHOT_ATTACHED);
	if (early)
		assert_true(recording_name_some(recording, &some, 2000) > 0);
	for (uint64_t second = 12; second < 900; second++) {
		sample_second(&sample, second, 0);
		sample_add(recording, &sample);
	}
	assert_int_equal(recording_close(recording), 0);
	ret = sample_ask("SELECT given_up FROM session");
	sample_done(&sample);
	sample_must(unlink(sample_path));
	return ret;
}

/* The room of names is that which is kept for them. */
static void names_cost_no_snapshots(void **state)
{
	int64_t without = given_up(false);

	(void)state;
	assert_true(without > 10);
	assert_int_equal(given_up(true), without);
}

static void a_busy_file_is_no_error(void **state)
{
	struct recording *recording = NULL;
	struct sample sample;
	sqlite3 *db = NULL;

	(void)state;
	sample_init(&sample, true);
	sample_must(recording_open(sample_path, &recording));
	add_paths(recording, &sample, 0, SNAPSHOT_ATTACHED);
	assert_int_equal(sqlite3_open(sample_path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(recording_name_some(recording, &some, 100), 0);
	assert_string_equal(recording_error(recording), "");
	sqlite3_close(db);
	while (recording_name_some(recording, &some, 100) > 0)
		;
	assert_int_equal(named(), sample_ask("SELECT count(*) FROM frames WHERE module = 1"));
	assert_int_equal(recording_close(recording), 0);
	sample_done(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(some_early_and_the_rest_at_the_end, set_up,
						sample_recording_end),
		cmocka_unit_test_setup_teardown(many_frames_take_several_calls, set_up,
						sample_recording_end),
		cmocka_unit_test_setup_teardown(a_full_disk_in_between, set_up,
						sample_recording_end),
		cmocka_unit_test_setup_teardown(a_limit_without_room, set_up, sample_recording_end),
		cmocka_unit_test_setup_teardown(names_cost_no_snapshots, set_up,
						sample_recording_end),
		cmocka_unit_test_setup_teardown(a_busy_file_is_no_error, set_up,
						sample_recording_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
