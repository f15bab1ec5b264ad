/* SPDX-License-Identifier: MIT */
/*
 * test_recording_sites.c - sites over the time of a recording: their figures at each snapshot, the
 * lifetimes and births of their blocks. Round trips, bounds, verdicts, and tables that lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <sqlite3.h>

#include "src/recording/recorded_candidates.h"
#include "src/recording/recording.h"
#include "src/recording/series.h"
#include "tests/unit/sample_recording.h"

static void put_lives(struct recording *recording, const struct sample *sample, uint64_t since)
{
	struct site_lives *lives = NULL;

	assert_int_equal(site_lives_take(sample->sites, sample->live, &sample->ticks, since,
					 sample->now, &lives), 0);
	assert_int_equal(recording_add_lives(recording, lives), 0);
	site_lives_free(lives);
}

/* What is read back is what was taken: births to the part, lifetimes to the step. */
static void lives_come_back(void **state)
{
	struct recording *recording;
	struct recording_content content;
	struct site_lives *taken = NULL;
	struct sample sample;

	(void)state;
	recording = sample_recording(&sample, 40, SAMPLE_LEAK);
	assert_int_equal(site_lives_take(sample.sites, sample.live, &sample.ticks, 0, sample.now,
					 &taken), 0);
	put_lives(recording, &sample, 0);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(recording_read(sample_path, &content), 0);
	assert_int_equal(content.lives->count, taken->count);
	assert_int_equal(taken->count, 3);
	assert_true(fabs(content.lives->seconds - taken->seconds) < 1e-9);
	for (size_t i = 0; i < taken->count; i++) {
		const struct site_life *a = &taken->life[i], *b = &content.lives->life[i];

		assert_int_equal(a->site, b->site);
		assert_memory_equal(a->born, b->born, sizeof(a->born));
		assert_true((isnan(a->oldest) && isnan(b->oldest)) || a->oldest == b->oldest);
		assert_true(fabs((double)a->freed.max - (double)b->freed.max) < 2);
		assert_true(fabs(a->freed.total - b->freed.total) < 1e-3 * a->freed.total + 1e-9);
		for (double f = 0.1; f < 1; f += 0.2)
			assert_true(fabs(lifetimes_quantile(&a->freed, f) -
					 lifetimes_quantile(&b->freed, f)) < 2);
	}
	assert_ptr_equal(site_lives_find(taken, taken->life[1].site), &taken->life[1]);
	assert_null(site_lives_find(taken, 77));
	site_lives_free(taken);
	recording_content_done(&content);
	sample_done(&sample);
}

/* Only sites with events are written again; the time of all goes on. */
static void quiet_sites_stay_as_they_are(void **state)
{
	struct recording *recording;
	struct recording_content content;
	struct sample sample;
	uint64_t since;

	(void)state;
	recording = sample_recording(&sample, 20, SAMPLE_LEAK);
	put_lives(recording, &sample, 0);
	since = sample.now + 1;
	sample.now += 20000000000ull;
	sample_alloc(&sample, 0x9000000, 64, 0, sample.stack[1]);
	put_lives(recording, &sample, since);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(recording_read(sample_path, &content), 0);
	assert_true(content.lives->life[0].seconds < 21);
	assert_true(content.lives->life[1].seconds > 39);
	assert_true(content.lives->seconds > 39);
	recording_content_done(&content);
	sample_done(&sample);
}

/* The leak is called by its name, the cache is not, once it is full; nor what stopped growing. */
static void judged_as_a_watch_would(void **state)
{
	struct recording *recording;
	struct recording_content content;
	struct leak_report *report = NULL;
	struct sample sample;
	size_t growing = 0;

	(void)state;
	recording = sample_recording(&sample, 40, SAMPLE_LEAK);
	put_lives(recording, &sample, 0);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(recording_read(sample_path, &content), 0);
	assert_int_equal(content.looks, 40);
	assert_int_equal(recording_suspects(&content, &report), 0);
	assert_true(report->unsearched);
	assert_true(fabs(report->watched - 40) < 1);
	for (size_t i = 0; i < report->group_count; i++)
		growing += report->group[i].verdict == LEAK_GROWING;
	assert_int_equal(report->group_count, 1);
	assert_int_equal(growing, 1);
	assert_int_equal(report->group[0].site, 1);
	assert_true(report->group[0].count > 300 && report->group[0].bytes > 30000);
	/* the table that stopped growing: nothing was freed, so nobody knows */
	assert_int_equal(report->early_count, 1);
	assert_int_equal(report->early[0].site, 3);
	assert_true(report->early[0].longest == 0 && fabs(report->early[0].needs - 750) < 1);
	leak_report_free(report);
	recording_content_done(&content);
	sample_done(&sample);
}

/* Among requests that end, what stays is stuck. */
static void stuck_among_requests(void **state)
{
	struct recording *recording;
	struct recording_content content;
	struct leak_report *report = NULL;
	struct sample sample;

	(void)state;
	recording = sample_recording(&sample, 40, SAMPLE_LEAK | SAMPLE_REQUESTS);
	put_lives(recording, &sample, 0);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(recording_read(sample_path, &content), 0);
	assert_int_equal(recording_suspects(&content, &report), 0);
	assert_int_equal(report->group[0].verdict, LEAK_STUCK);
	assert_int_equal(report->group[0].site, 1);
	assert_true(report->group[0].oldest > 38);
	leak_report_free(report);
	recording_content_done(&content);
	sample_done(&sample);
}

/* --- the series ------------------------------------------------------------------ */

static void only_what_changed_is_written(void **state)
{
	struct recording *recording;
	struct sample sample;

	(void)state;
	recording = sample_recording(&sample, 40, SAMPLE_LEAK);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(sample_ask("SELECT count(*) FROM snapshots"), 40);
	assert_int_equal(sample_ask("SELECT count(*) FROM snapshot_sites WHERE site = 1"), 40);
	/* the table took something in the first 22 intervals */
	assert_int_equal(sample_ask("SELECT count(*) FROM snapshot_sites WHERE site = 3"), 22);
	assert_int_equal(sample_ask("SELECT live_bytes = (SELECT live_bytes FROM sites "
				    "WHERE id = 3) FROM snapshot_sites WHERE site = 3 "
				    "ORDER BY snapshot DESC LIMIT 1"), 1);
	assert_int_equal(sample_ask("SELECT sum(alloc_count) FROM snapshot_sites "
				    "WHERE snapshot = 40"),
			 sample_ask("SELECT sum(alloc_count) FROM sites WHERE id < 3"));
	sample_done(&sample);
}

/* Snapshots are given up, the old ones first, and no level is wrong by it. */
static void is_bounded(void **state)
{
	struct recording *recording;
	struct recording_content content;
	struct sample sample;

	(void)state;
	recording = sample_recording(&sample, 3000, SAMPLE_LEAK);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(sample_ask("SELECT count(*) FROM snapshots"), 3000);
	assert_in_range(sample_ask("SELECT count(DISTINCT snapshot) FROM snapshot_sites"),
			RECORDING_SERIES_MOST - 8, RECORDING_SERIES_MOST);
	assert_int_equal(sample_ask("SELECT min(snapshot) FROM snapshot_sites"), 1);
	assert_int_equal(sample_ask("SELECT max(snapshot) FROM snapshot_sites"), 3000);
	/* recent ones are nearer to each other than old ones */
	assert_true(sample_ask("SELECT count(DISTINCT snapshot) FROM snapshot_sites "
			"WHERE snapshot > 1500") >
		    2 * sample_ask("SELECT count(DISTINCT snapshot) FROM snapshot_sites "
			    "WHERE snapshot <= 1500"));
	/* the table's last row was moved on, not lost */
	assert_int_equal(sample_ask("SELECT live_bytes = (SELECT live_bytes FROM sites "
				    "WHERE id = 3) FROM snapshot_sites WHERE site = 3 "
				    "ORDER BY snapshot DESC LIMIT 1"), 1);
	assert_int_equal(recording_read(sample_path, &content), 0);
	assert_int_equal(trend_judge(&content.trend[0], content.looks), TREND_RISING);
	recording_content_done(&content);
	sample_done(&sample);
}

/* Many sites that all change: rows are what is bounded, down to so many snapshots. */
static void is_bounded_by_rows(void **state)
{
	struct recording *recording;
	struct sample sample;

	(void)state;
	sample_init(&sample, true);
	assert_int_equal(recording_open(sample_path, &recording), 0);
	for (uint64_t i = 0; i < 60; i++) {
		for (uint32_t site = 0; site < 4000; site++)
			sample_alloc(&sample, 0x10000000 + (i * 4000 + site) * 16, 16, 0,
				     sample_stack(&sample, site * 8 + 10, 5, 0));
		sample_add(recording, &sample);
	}
	assert_int_equal(recording_close(recording), 0);
	assert_in_range(sample_ask("SELECT count(*) FROM snapshot_sites"),
			RECORDING_SERIES_ROWS / 2, RECORDING_SERIES_ROWS);
	assert_int_equal(sample_ask("SELECT count(*) FROM snapshot_sites "
				    "WHERE snapshot = 60"), 4000);
	sample_done(&sample);
}

/* --- older and forged ones --------------------------------------------------------- */

static void make(void)
{
	struct sample sample;
	struct recording *recording = sample_recording(&sample, 40, SAMPLE_LEAK);

	put_lives(recording, &sample, 0);
	assert_int_equal(recording_close(recording), 0);
	sample_done(&sample);
}

/* Judges and prints whatever it says; the verdicts are not the matter here. */
static int use(void)
{
	struct recording_content content;
	struct leak_report *report = NULL;
	int err = recording_read(sample_path, &content);

	if (err < 0)
		return err;
	if (content.lives) {
		struct report_input input = { .snapshot = content.snapshot, .names = content.names,
					      .stacks = content.stacks };

		assert_int_equal(recording_suspects(&content, &report), 0);
		input.leaks = report;
		free(sample_print("leaks", &input));
		free(sample_print("json", &input));
		leak_report_free(report);
	}
	recording_content_done(&content);
	return 0;
}

static void older_ones_have_none(void **state)
{
	struct recording_content content;

	(void)state;
	make();
	sample_change("DROP TABLE site_lives; DROP TABLE snapshot_sites");
	assert_int_equal(recording_read(sample_path, &content), 0);
	assert_null(content.lives);
	assert_null(content.trend);
	recording_content_done(&content);
}

static void rows_that_lie_are_bounded(void **state)
{
	(void)state;
	make();
	assert_int_equal(use(), 0);
	sample_change("UPDATE site_lives SET freed = '{\"-1\":1,\"496\":5,\"x\":2,\"7\":-3,"
		      "\"8\":1e999,\"9\":\"many\",\"10\":null,\"11\":[1,2],\"12\":{\"a\":1}}', "
		      "living = '{\"128\":9,\"-5\":1,\"3\":-1,\"4\":99999999999999999999,"
		      "\"5\":1e30,\"6\":{}}', oldest = 'old' WHERE site = 1;"
		      "INSERT INTO site_lives VALUES(999, 1, '{}', 1, '{\"1\":1}', NULL);"
		      "INSERT INTO snapshot_sites VALUES(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, "
		      "-1), (5, 4000000000, 1, 1, 1, 1, 1, 1, 1, 1, 1), "
		      "(99999, 1, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i');"
		      "UPDATE snapshots SET time = 'never' WHERE id = 3;"
		      "UPDATE snapshots SET time = -1e300 WHERE id = 4;"
		      "UPDATE snapshots SET time = 1e300 WHERE id = 5;");
	assert_int_equal(use(), 0);
	sample_change("UPDATE site_lives SET living = '[1,2,3]', freed = '5' WHERE site = 1");
	assert_int_equal(use(), 0);
	sample_change("UPDATE session SET duration = 9e999");
	assert_int_equal(use(), 0);
}

/* What is left out: 'l' lifetimes, 't' the course of sites. The rest is there, with a warning. */
static void left_out_after(const char *sql, char what)
{
	struct recording_content content;

	make();
	assert_int_equal(use(), 0);
	sample_change(sql);
	assert_int_equal(use(), 0);
	assert_int_equal(recording_read(sample_path, &content), 0);
	assert_true((what == 'l') == !content.lives);
	assert_true((what == 't') == !content.trend);
	assert_non_null(strstr(content.warning, "damaged"));
	assert_int_equal(content.snapshot->site_count, 3);
	recording_content_done(&content);
}

static void damaged_tables_are_left_out(void **state)
{
	(void)state;
	left_out_after("UPDATE site_lives SET freed = '{\"1\":' WHERE site = 1", 'l');
	left_out_after("UPDATE site_lives SET living = x'00ff' WHERE site = 1", 'l');
	left_out_after("UPDATE site_lives SET time = -1 WHERE site = 1", 'l');
	left_out_after("UPDATE site_lives SET time = 1e11 WHERE site = 0", 'l');
	left_out_after("UPDATE site_lives SET time = 100000 WHERE site = 1", 'l');
	left_out_after("UPDATE site_lives SET longest = 9e999 WHERE site = 1", 'l');
	left_out_after("UPDATE site_lives SET site = -7 WHERE site = 1", 'l');
	left_out_after("DELETE FROM site_lives WHERE site = 0", 'l');
	left_out_after("ALTER TABLE site_lives RENAME COLUMN living TO dead", 'l');
	left_out_after("ALTER TABLE snapshot_sites RENAME COLUMN live_bytes TO bytes", 't');
	left_out_after("DROP TABLE site_lives; CREATE TABLE site_lives(site INTEGER, time REAL, "
		       "freed TEXT, longest REAL, living TEXT, oldest REAL);"
		       "INSERT INTO site_lives VALUES(0, 5, '{}', 0, '{}', 0), "
		       "(1, 5, '{}', 0, '{}', 0), (1, 5, '{}', 0, '{}', 0)", 'l');
	/* one value of a gigabyte is not taken in */
	left_out_after("UPDATE site_lives SET freed = '{\"1\":1' || "
		       "replace(hex(zeroblob(10000000)), '0', ' ') || '}' WHERE site = 1", 'l');
}

/* assert_int_equal names the line; each begins with a good one. */
static void refused_after(const char *sql)
{
	make();
	assert_int_equal(use(), 0);
	sample_change(sql);
	assert_int_equal(use(), -EBADMSG);
}

/* What runs code of the file's own. */
static void tables_that_compute_are_refused(void **state)
{
	(void)state;
	refused_after("DROP TABLE site_lives; CREATE TABLE site_lives(site INTEGER, time REAL AS "
		      "(length(replace(hex(zeroblob(1000000)), '0', 'xxxxxxxxx'))), freed TEXT, "
		      "longest REAL, living TEXT, oldest REAL)");
	refused_after("DROP TABLE histogram; CREATE VIRTUAL TABLE histogram USING "
		      "rtree(size, low, high)");
	refused_after("DROP TABLE site_lives; CREATE VIEW site_lives AS SELECT 0 AS site, 1 AS "
		      "time, '{}' AS freed, 0 AS longest, '{}' AS living, 0 AS oldest");
}

/* A session whose stacks are many: new ones come while others are written. */
struct crowd {
	struct sample sample;
	uint32_t pulses;
};

static void intern_one(struct stacks *stacks, uint32_t number)
{
	struct frame frame[50];
	uint32_t count = number % 50 + 1, id;

	for (uint32_t i = 0; i < count; i++)
		frame[i] = (struct frame){ .module = 1, .flags = FRAME_RETURN,
					   .offset = 0x1000 + (number * 7 + i * i) % 5000 };
	frame[count - 1].offset = 0x10000 + number;
	assert_int_equal(stacks_intern(stacks, frame, count, 0, &id), 0);
}

static void come_meanwhile(void *context)
{
	struct crowd *crowd = context;

	intern_one(crowd->sample.stacks, 100000 + crowd->pulses++);
}

static void many_stacks_come_back(void **state)
{
	struct recording_content content;
	struct recording *recording;
	struct crowd crowd = { .pulses = 0 };
	uint32_t count;

	(void)state;
	recording = sample_recording(&crowd.sample, 3, SAMPLE_LEAK);
	recording_set_pulse(recording, come_meanwhile, &crowd);
	for (uint32_t part = 0; part < 4; part++) {
		struct snapshot *snapshot;

		for (uint32_t i = 0; i < 777 && part < 3; i++)
			intern_one(crowd.sample.stacks, part * 777 + i);
		if (part == 3)	/* all that came meanwhile is written, none comes any more */
			recording_set_pulse(recording, NULL, NULL);
		crowd.sample.now += 1000000000;
		snapshot = sample_take(&crowd.sample, true, SNAPSHOT_ATTACHED);
		assert_int_equal(recording_add(recording, snapshot, crowd.sample.stacks, NULL), 0);
		snapshot_free(snapshot);
	}
	assert_true(crowd.pulses >= 6);
	assert_int_equal(recording_close(recording), 0);
	assert_int_equal(recording_read(sample_path, &content), 0);
	count = stacks_count(crowd.sample.stacks);
	assert_int_equal(stacks_count(content.stacks), count);
	for (uint32_t id = 1; id <= count; id++) {
		struct stack was = stacks_get(crowd.sample.stacks, id);
		struct stack is = stacks_get(content.stacks, id);

		assert_int_equal(is.frame_count, was.frame_count);
		assert_int_equal(is.flags, was.flags);
		assert_memory_equal(is.frame, was.frame, was.frame_count * sizeof(*was.frame));
	}
	recording_content_done(&content);
	sample_done(&crowd.sample);
}

int main(void)
{
#define IN_FOLDER(test) \
	cmocka_unit_test_setup_teardown(test, sample_recording_begin, sample_recording_end)
	const struct CMUnitTest tests[] = {
		IN_FOLDER(lives_come_back),
		IN_FOLDER(quiet_sites_stay_as_they_are),
		IN_FOLDER(judged_as_a_watch_would),
		IN_FOLDER(stuck_among_requests),
		IN_FOLDER(only_what_changed_is_written),
		IN_FOLDER(is_bounded),
		IN_FOLDER(is_bounded_by_rows),
		IN_FOLDER(older_ones_have_none),
		IN_FOLDER(rows_that_lie_are_bounded),
		IN_FOLDER(damaged_tables_are_left_out),
		IN_FOLDER(tables_that_compute_are_refused),
		IN_FOLDER(many_stacks_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
