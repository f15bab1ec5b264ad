/* SPDX-License-Identifier: MIT */
/*
 * test_recording_moment.c - a moment of a recording is what was known then: FILE@12s, @50%, @peak;
 * and two moments, or two recordings, compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "src/recording/moment.h"
#include "src/recording/recording_diff.h"
#include "tests/unit/sample_recording.h"

#define SECONDS 40u

static struct snapshot *taken[SECONDS];

/* As sample_recording; every snapshot is kept. In the second half nothing is allocated. */
static void record(struct sample *sample, bool exact, bool quiet)
{
	struct recording *recording = NULL;

	sample_init(sample, exact);
	sample_must(recording_open(sample_path, &recording));
	for (uint64_t second = 0; second < SECONDS; second++) {
		if (!quiet || second < SECONDS / 2)
			sample_second(sample, second, SAMPLE_LEAK | SAMPLE_REQUESTS);
		if (second == 25)	/* the peak */
			sample_alloc(sample, 0x7000000, 1 << 20, 0, sample->stack[1]);
		if (second == 27)
			sample_free(sample, 0x7000000);
		if (!exact)
			for (uint64_t i = 0; i < 50; i++)
				sample_alloc(sample, 0x90000000 + (second * 50 + i) * 4096, 1000,
					     4096, sample->stack[0]);
		sample->now = 1000 + (second + 1) * 1000000000ull;
		sample_tick(sample);
		taken[second] = sample_take(sample, true, second + 1 < SECONDS ?
					    SNAPSHOT_ATTACHED : SNAPSHOT_PRISTINE);
		sample_must(recording_add(recording, taken[second], sample->stacks, NULL));
	}
	assert_int_equal(recording_close(recording), 0);
}

static void forget(struct sample *sample)
{
	for (unsigned int i = 0; i < SECONDS; i++) {
		snapshot_free(taken[i]);
		taken[i] = NULL;
	}
	sample_done(sample);
}

static int read_at(const char *moment, struct recording_content *ret)
{
	char name[160];

	snprintf(name, sizeof(name), "%s%s", sample_path, moment);
	return recording_read_at(name, ret);
}

static void assert_same_site(const struct snapshot_site *a, const struct snapshot_site *b)
{
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->live_count, b->live_count);
	assert_int_equal(a->live_bytes, b->live_bytes);
	assert_int_equal(a->live_bytes_low, b->live_bytes_low);
	assert_int_equal(a->live_bytes_high, b->live_bytes_high);
	assert_int_equal(a->alloc_count, b->alloc_count);
	assert_int_equal(a->alloc_bytes, b->alloc_bytes);
	assert_int_equal(a->free_count, b->free_count);
	assert_int_equal(a->peak_live_bytes, b->peak_live_bytes);
	assert_int_equal(a->temporary_count, b->temporary_count);
}

static void assert_moment_is(const char *moment, unsigned int second)
{
	const struct snapshot *was = taken[second - 1];
	struct recording_content content;

	assert_int_equal(read_at(moment, &content), 0);
	if (fabs(content.snapshot->session.duration - (double)second) > 1e-6)
		fail_msg("%s is at %f s, not at %u", moment,
			 content.snapshot->session.duration, second);
	assert_memory_equal(&content.snapshot->totals, &was->totals, sizeof(was->totals));
	assert_memory_equal(&content.snapshot->map_totals, &was->map_totals,
			    sizeof(was->map_totals));
	assert_int_equal(content.snapshot->site_count, was->site_count);
	for (size_t i = 0; i < was->site_count; i++)
		assert_same_site(&content.snapshot->site[i], &was->site[i]);
	assert_int_equal(content.snapshot->timeline_count, was->timeline_count);
	recording_content_done(&content);
}

static void is_what_was_known(void **state)
{
	(void)state;
	for (int exact = 0; exact < 2; exact++) {
		char moment[16];
		struct sample sample;

		record(&sample, exact, false);
		for (unsigned int second = 1; second <= SECONDS; second++) {
			snprintf(moment, sizeof(moment), "@%us", second);
			assert_moment_is(moment, second);
		}
		assert_moment_is("@12.9", 12);
		assert_moment_is("@0.25m", 15);
		assert_moment_is("@50%", 20);
		assert_moment_is("@100%", 40);
		assert_moment_is("@40.9s", 40);	/* rounded by a reader */
		assert_moment_is("@end", 40);
		assert_moment_is("", 40);
		if (exact)
			assert_moment_is("@peak", 27);
		forget(&sample);
	}
}

/* The end is all of it; a moment is without what only the end knows, and says of what it is one. */
static void knows_what_it_is(void **state)
{
	struct recording_content content;
	struct report_input input;
	struct sample sample;
	char *text;

	(void)state;
	record(&sample, true, false);
	assert_int_equal(read_at("@end", &content), 0);
	assert_true(content.snapshot->has_leaks && content.trend);
	assert_true(content.snapshot->session.recorded_seconds == 0);
	recording_content_done(&content);
	assert_int_equal(read_at("@12s", &content), 0);
	assert_false(content.snapshot->has_leaks);
	assert_null(content.trend);
	assert_int_equal(content.snapshot->histogram_count, 0);
	input = (struct report_input){ .snapshot = content.snapshot, .stacks = content.stacks,
				       .names = content.names };
	text = sample_print("text", &input);
	assert_non_null(strstr(text, "12.0 s, a moment of 40.0 s"));
	free(text);
	text = sample_print("json", &input);
	assert_non_null(strstr(text, "\"recorded_seconds\":40"));
	free(text);
	recording_content_done(&content);
	assert_int_equal(read_at("@0s", &content), 0);	/* nothing had been seen */
	assert_int_equal(content.snapshot->totals.alloc_count, 0);
	assert_int_equal(content.snapshot->site_count, 0);
	recording_content_done(&content);
	forget(&sample);
}

static void assert_verdict_then(const struct snapshot_site *site, bool exact)
{
	bool drawn = !exact && site->live_bytes_low < site->live_bytes_high;

	if (site->live_count == 0)
		assert_int_equal(site->verdict, SNAPSHOT_FREED);
	else
		assert_int_equal(site->verdict, drawn && site->samples < SNAPSHOT_FEWEST_SAMPLES ?
				 SNAPSHOT_TOO_FEW : SNAPSHOT_UNKNOWN);
}

/* A moment has no verdicts, which rest on the whole session; few samples are still told of. */
static void verdicts_are_not_known(void **state)
{
	static const char *const wrong[] = { "steady", "too few samples", "too-few-samples" };

	(void)state;
	for (int exact = 0; exact < 2; exact++) {
		struct recording_content content;
		struct report_input input;
		struct sample sample;

		record(&sample, exact, false);
		assert_int_equal(read_at("@12s", &content), 0);
		assert_true(content.snapshot->site_count > 1);
		for (size_t i = 0; i < content.snapshot->site_count; i++)
			assert_verdict_then(&content.snapshot->site[i], exact);
		input = (struct report_input){ .snapshot = content.snapshot,
					       .stacks = content.stacks, .names = content.names };
		for (int json = 0; json < 2; json++) {
			char *text = sample_print(json ? "json" : "text", &input);

			for (size_t i = 0; exact && i < ARRAY_SIZE(wrong); i++)
				assert_null(strstr(text, wrong[i]));
			assert_true(!exact || !json || strstr(text, "\"verdict\":null"));
			free(text);
		}
		recording_content_done(&content);
		forget(&sample);
	}
}

/* Nothing happened in the second half: each second of it is known, though no row is of it. */
static void quiet_seconds_are_known(void **state)
{
	struct sample sample;

	(void)state;
	record(&sample, true, true);
	assert_moment_is("@24s", 24);
	forget(&sample);
}

/* Whose sites were given up is no moment; the one before is. */
static void given_up_ones_are_not(void **state)
{
	struct recording_content content;
	struct sample sample;

	(void)state;
	record(&sample, true, false);
	sample_change("UPDATE snapshot_sites SET snapshot = 11 WHERE snapshot = 10 AND NOT EXISTS("
		      "SELECT 1 FROM snapshot_sites AS s WHERE s.snapshot = 11 AND "
		      "s.site = snapshot_sites.site);"
		      "DELETE FROM snapshot_sites WHERE snapshot = 10");
	assert_int_equal(read_at("@10s", &content), 0);
	assert_true(content.snapshot->session.duration < 9.5);
	recording_content_done(&content);
	assert_moment_is("@11s", 11);
	forget(&sample);
}

static void other_names_are_refused(void **state)
{
	static const char *const wrong[] = {
		"@", "@x", "@-1s", "@12q", "@101%", "@s", "@ 1s", "@infs", "@nan", "@1s@x",
	};
	struct recording_content content;
	struct sample sample;
	char name[160];

	(void)state;
	record(&sample, true, false);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(read_at(wrong[i], &content), -EINVAL);
	assert_int_equal(read_at("@42s", &content), -ERANGE);
	assert_int_equal(read_at(".none", &content), -ENOENT);
	assert_int_equal(read_at(".none@1s", &content), -ENOENT);
	/* a file that has an '@' in its name is itself */
	snprintf(name, sizeof(name), "%s@12s", sample_path);
	assert_int_equal(rename(sample_path, name), 0);
	assert_int_equal(read_at("@12s", &content), 0);
	assert_true(content.snapshot->session.recorded_seconds == 0);
	recording_content_done(&content);
	assert_int_equal(read_at("@12s@13s", &content), 0);
	assert_true(content.snapshot->session.recorded_seconds > 0);
	recording_content_done(&content);
	assert_int_equal(rename(name, sample_path), 0);
	sample_change("ALTER TABLE snapshot_sites DROP COLUMN temporary_count");
	assert_int_equal(read_at("@12s", &content), -EOPNOTSUPP);
	sample_change("DROP TABLE snapshot_sites");
	assert_int_equal(read_at("@12s", &content), -EOPNOTSUPP);
	forget(&sample);
}

/* Nothing that rows say leads outside; figures are limited. */
static void rows_that_lie_are_bounded(void **state)
{
	static const char *const moment[] = { "@12s", "@peak", "@3%", "@0s" };
	struct recording_content content;
	struct sample sample;

	(void)state;
	record(&sample, true, false);
	sample_change("UPDATE snapshot_sites SET below = -1, above = -1, live_bytes = 5, "
		      "alloc_count = -7 WHERE site = 1;"
		      "INSERT INTO snapshot_sites VALUES(-1, -1, 'a', 'b', 'c', 'd', 'e', 'f', 'g',"
		      "'h', 'i'), (3, 4000000000, 1, 1, 1, 1, 1, 1, 1, 1, 1);"
		      "UPDATE snapshots SET time = 'never' WHERE id = 3;"
		      "UPDATE snapshots SET time = -1e300 WHERE id = 4;"
		      "UPDATE snapshots SET time = 9e999 WHERE id = 5;"
		      "UPDATE snapshots SET live_bytes = -1 WHERE id = 6;");
	for (size_t i = 0; i < ARRAY_SIZE(moment); i++) {
		assert_int_equal(read_at(moment[i], &content), 0);
		for (size_t n = 0; n < content.snapshot->site_count; n++) {
			const struct snapshot_site *s = &content.snapshot->site[n];

			assert_true(s->live_bytes_low <= s->live_bytes_high);
		}
		recording_content_done(&content);
	}
	forget(&sample);
}

/* --- compared ---------------------------------------------------------------------- */

static struct diff *compare(const char *old, const char *new)
{
	struct recording_content content[DIFF_SIDES];
	struct diff *diff;

	assert_int_equal(diff_new(&diff), 0);
	assert_int_equal(read_at(old, &content[0]), 0);
	assert_int_equal(read_at(new, &content[1]), 0);
	for (int i = 0; i < DIFF_SIDES; i++)
		assert_int_equal(recording_diff_add(diff, (enum diff_side)i, &content[i],
						    &content[!i]), 0);
	recording_content_done(&content[0]);
	recording_content_done(&content[1]);
	assert_int_equal(diff_compare(diff), 0);
	return diff;
}

static void moments_are_compared(void **state)
{
	struct sample sample;
	struct diff *diff;

	(void)state;
	record(&sample, true, false);
	diff = compare("@10s", "@30s");
	assert_true(diff->same_process);
	assert_true(fabs(diff->hours * 3600 - 20) < 1e-6);
	assert_false(diff->leaks_compared);
	assert_int_equal(diff->document[0].sum[0].bytes, taken[9]->totals.live_bytes);
	assert_int_equal(diff->document[1].sum[0].bytes, taken[29]->totals.live_bytes);
	/* the table grew until 22 s, site 1 loses 1000 bytes a second, the cache is full */
	assert_int_equal(diff->part[DIFF_SITES].count, 2);
	assert_int_equal(diff->part[DIFF_SITES].entry[0]->growth, 12 * 10 * 200);
	assert_int_equal(diff->part[DIFF_SITES].entry[0]->change, DIFF_GREW);
	assert_int_equal(diff->part[DIFF_SITES].entry[1]->growth, 20 * 10 * 100);
	diff_free(diff);
	diff = compare("@20s", "@20s");
	assert_int_equal(diff->part[DIFF_SITES].count, 0);
	diff_free(diff);
	diff = compare("@0s", "@end");
	assert_int_equal(diff->part[DIFF_SITES].entry[0]->change, DIFF_ADDED);
	diff_free(diff);
	forget(&sample);
}

/* One of them has names, the other none: of the same file it is the same site, by its code. */
static void matched_by_code(void **state)
{
	static const struct report_names names = { .frame = sample_frame };
	struct recording_content content[DIFF_SIDES];
	struct recording *recording;
	struct diff *diff;

	(void)state;
	for (int side = 0; side < DIFF_SIDES; side++) {
		struct sample sample;

		recording = sample_recording(&sample, side ? 20 : 10, SAMPLE_LEAK);
		if (side == 0)
			sample_must(recording_symbolize(recording, &names));
		assert_int_equal(recording_close(recording), 0);
		sample_change("INSERT INTO modules(id, path, build_id, kind) VALUES"
			      "(1, '/usr/bin/demo', 'c0ffee', 0), (2, '/lib/x.so', 'beef', 0)");
		assert_int_equal(recording_read(sample_path, &content[side]), 0);
		sample_done(&sample);
	}
	assert_int_equal(diff_new(&diff), 0);
	for (int i = 0; i < DIFF_SIDES; i++)
		assert_int_equal(recording_diff_add(diff, (enum diff_side)i, &content[i],
						    &content[!i]), 0);
	assert_int_equal(diff_compare(diff), 0);
	assert_int_equal(diff->part[DIFF_SITES].count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(diff->part[DIFF_SITES].entry[i]->change, DIFF_GREW);
	/* whose names are shown: those that there are */
	assert_string_equal(diff->part[DIFF_SITES].entry[0]->frame[0].function, "inner<T>::\"f\"");
	diff_free(diff);
	/* without a common file they are matched by name, and one has none */
	assert_int_equal(diff_new(&diff), 0);
	for (int i = 0; i < DIFF_SIDES; i++)
		assert_int_equal(recording_diff_add(diff, (enum diff_side)i, &content[i], NULL), 0);
	assert_int_equal(diff_compare(diff), 0);
	assert_int_equal(diff->part[DIFF_SITES].entry[0]->change, DIFF_ADDED);
	diff_free(diff);
	recording_content_done(&content[0]);
	recording_content_done(&content[1]);
}

static void knows_recordings(void **state)
{
	struct sample sample;
	char name[128];
	FILE *file;

	(void)state;
	record(&sample, true, false);
	assert_true(recording_diff_is(sample_path));
	snprintf(name, sizeof(name), "%s@12s", sample_path);
	assert_true(recording_diff_is(name));
	assert_false(recording_diff_is("/dev/null"));
	assert_false(recording_diff_is("/nonexistent"));
	snprintf(name, sizeof(name), "%s-shm", sample_path);	/* removed at the end */
	file = fopen(name, "w");
	assert_non_null(file);
	fputs("{\"schema\":\"memattach-snapshot-1\"}", file);
	fclose(file);
	assert_false(recording_diff_is(name));
	forget(&sample);
}

int main(void)
{
#define IN_FOLDER(test) \
	cmocka_unit_test_setup_teardown(test, sample_recording_begin, sample_recording_end)
	const struct CMUnitTest tests[] = {
		IN_FOLDER(is_what_was_known),
		IN_FOLDER(knows_what_it_is),
		IN_FOLDER(verdicts_are_not_known),
		IN_FOLDER(quiet_seconds_are_known),
		IN_FOLDER(given_up_ones_are_not),
		IN_FOLDER(other_names_are_refused),
		IN_FOLDER(rows_that_lie_are_bounded),
		IN_FOLDER(moments_are_compared),
		IN_FOLDER(matched_by_code),
		IN_FOLDER(knows_recordings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
