/* SPDX-License-Identifier: MIT */
/*
 * test_several.c - recordings of several processes put together: what is one site, what is not,
 * and that the sums and columns are theirs. The text is in tests/unit/golden/several.txt
 * (GOLDEN_WRITE=1 writes it anew: read it before it is committed).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <locale.h>

#include "src/several/several_write.h"
#include "tests/unit/sample_recording.h"
#include "tests/unit/schema_validator.h"

#define MODULES "INSERT INTO modules(id, path, build_id, kind) VALUES" \
		"(1, '/usr/bin/demo', 'c0ffee', 0), (2, '/lib/other.so', 'beef', 0);"
#define PID(n) "UPDATE target SET pid = " #n ", exe = '/usr/sbin/demo" #n "';"

/* The sample session, changed by sql. */
static void record(const char *sql, struct recording_content *ret)
{
	const struct report_names names = { .frame = sample_frame };
	struct recording *recording = NULL;
	struct snapshot *snapshot;
	struct sample sample;

	sample_init(&sample, true);
	sample_fill(&sample, 0);
	snapshot = sample_take(&sample, false, SNAPSHOT_PRISTINE);
	sample_must(recording_open(sample_path, &recording));
	sample_must(recording_add(recording, snapshot, sample.stacks, NULL));
	sample_must(recording_symbolize(recording, &names));
	sample_must(recording_close(recording));
	snapshot_free(snapshot);
	sample_done(&sample);
	sample_change(MODULES);
	sample_change(sql);
	sample_must(recording_read(sample_path, ret));
}

struct pair {
	struct recording_content a, b;
	struct several *several;
};

static struct several *put_together(const struct recording_content *a,
				    const struct recording_content *b)
{
	const struct several_input input[] = { { .content = a }, { .content = b } };
	struct several *several = NULL;
	size_t twice;

	assert_int_equal(several_new(input, 2, &several, &twice), 0);
	return several;
}

/* The sums refer to both recordings, so that a pair can't be copied. */
static void pair_init(struct pair *pair, const char *sql)
{
	record(PID(10), &pair->a);
	record(sql, &pair->b);
	pair->several = put_together(&pair->a, &pair->b);
}

static void pair_done(struct pair *pair)
{
	several_free(pair->several);
	recording_content_done(&pair->a);
	recording_content_done(&pair->b);
}

/* To be freed. */
static char *print(const struct several *several, bool json)
{
	const struct report_options options = { .top = 0 };
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(json ? several_write_json(out, several, &options) :
			 several_write_text(out, several, &options, false), 0);
	fclose(out);
	return text;
}

static void sums_are_theirs(const struct pair *pair)
{
	const struct snapshot *sum = pair->several->snapshot, *one = pair->a.snapshot;

	assert_int_equal(sum->site_count, one->site_count);
	for (size_t i = 0; i < sum->site_count; i++) {
		const struct several_site *site = &pair->several->site[i];

		assert_int_equal(site->part_count, 2);
		assert_int_equal(sum->site[i].live_bytes, one->site[i].live_bytes * 2);
		assert_int_equal(sum->site[i].alloc_count, one->site[i].alloc_count * 2);
		assert_int_equal(sum->site[i].free_count, one->site[i].free_count * 2);
		for (uint32_t p = 0; p < 2; p++) {
			assert_int_equal(site->part[p].process, p);
			assert_int_equal(site->part[p].live_bytes, one->site[i].live_bytes);
			assert_int_equal(site->part[p].alloc_bytes, one->site[i].alloc_bytes);
		}
	}
	assert_int_equal(sum->totals.live_bytes, one->totals.live_bytes * 2);
	assert_int_equal(sum->totals.alloc_bytes, one->totals.alloc_bytes * 2);
}

/* The same file: code is compared, not names. */
static void the_same_code_is_one_site(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair, PID(11) "UPDATE symbols SET function = 'renamed', line = 7 "
				   "WHERE module = '/usr/bin/demo';");
	sums_are_theirs(&pair);
	pair_done(&pair);
}

/* Another build: where code lies says nothing, its names do. */
static void another_build_is_matched_by_names(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair, PID(11)
		"UPDATE modules SET build_id = 'decade' WHERE id = 1;"
		"UPDATE frames SET offset = offset + 16 WHERE module = 1;");
	sums_are_theirs(&pair);
	pair_done(&pair);
}

/* The one site with a frame in the program alone: the other two have none of it. */
static void other_code_is_another_site(void **state)
{
	struct pair pair;
	size_t alone = 0;

	(void)state;
	pair_init(&pair, PID(11) "UPDATE frames SET offset = offset + 16 "
				   "WHERE module = 2;");
	for (size_t i = 0; i < pair.several->snapshot->site_count; i++)
		alone += pair.several->site[i].part_count == 1;
	assert_true(alone > 0);
	assert_int_equal(pair.several->snapshot->site_count,
			 pair.a.snapshot->site_count + alone / 2);
	assert_int_equal(pair.several->snapshot->totals.live_bytes,
			 pair.a.snapshot->totals.live_bytes * 2);
	pair_done(&pair);
}

static void other_kinds_are_other_sites(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair, PID(11) "UPDATE sites SET kind = 1 - kind;");
	assert_int_equal(pair.several->snapshot->site_count, 2 * pair.a.snapshot->site_count);
	pair_done(&pair);
}

/* Ids of modules are each recording's own: names are those of the stack that is shown. */
static void names_are_those_of_the_recording(void **state)
{
	struct pair pair;
	char *text;

	(void)state;
	pair_init(&pair, PID(11)
		"UPDATE modules SET id = id + 40;"
		"UPDATE frames SET module = module + 40 WHERE module > 0;"
		"UPDATE symbols SET function = 'more_names' "
		"WHERE function IS NULL AND module != '';");
	text = print(pair.several, false);
	sums_are_theirs(&pair);
	assert_non_null(strstr(text, "more_names"));	/* the stack with the most names is shown */
	assert_null(strstr(text, "module 4"));
	free(text);
	pair_done(&pair);
}

static void order_is_not_that_of_the_arguments(void **state)
{
	struct pair pair;
	struct several *other;

	(void)state;
	pair_init(&pair, PID(11) "UPDATE snapshots SET live_bytes = live_bytes + 5;");
	other = put_together(&pair.b, &pair.a);
	assert_int_equal(pair.several->process[0].pid, 11);
	for (int json = 0; json < 2; json++) {
		char *one = print(pair.several, json), *two = print(other, json);

		assert_string_equal(one, two);
		free(one);
		free(two);
	}
	several_free(other);
	pair_done(&pair);
}

static void one_session_is_not_taken_twice(void **state)
{
	struct recording_content content;
	struct several_input input[3] = { { .pid = 3, .name = "x", .problem = "y" } };
	struct several *several = NULL;
	size_t twice = 0;

	(void)state;
	record(PID(10), &content);
	input[1].content = input[2].content = &content;
	assert_int_equal(several_new(input, 3, &several, &twice), -EEXIST);
	assert_int_equal(twice, 2);
	recording_content_done(&content);
}

static void a_later_session_is_after_exec(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair, "UPDATE target SET pid = 10, exe = '/bin/next';"
				   "UPDATE session SET begin_time = begin_time + 3;");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pair.several->process[i].after_exec,
				 strcmp(pair.several->process[i].name, "next") == 0);
	pair_done(&pair);
}

/* Sums of anything end; times may be no numbers; what is printed is still a document. */
static void hostile_figures_do_no_harm(void **state)
{
	static const char *const sql[] = {
		PID(11) "UPDATE sites SET live_bytes = -1, alloc_bytes = -1, live_count = -1,"
		"live_bytes_low = 5, live_bytes_high = 2, threads = -1, skip_frames = 1000;"
		"UPDATE snapshots SET live_bytes = -1, alloc_bytes = -1;",
		PID(11) "UPDATE session SET duration = 9e999, begin_time = -9e999;",
		PID(11) "UPDATE session SET lost_alloc = -1; UPDATE target SET rss_bytes = -1;",
		PID(-1) "UPDATE target SET exe = '', start_time = NULL;",
		"DELETE FROM symbols; UPDATE frames SET module = 7, offset = id;",
		"DELETE FROM stack_frames; UPDATE sites SET stack = 99999;",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sql); i++) {
		struct pair pair;
		char *text, *json;
		int status;

		pair_init(&pair, sql[i]);
		text = print(pair.several, false);
		json = print(pair.several, true);
		status = schema_validate("several.schema.json", json);
		if (status != 77)
			assert_int_equal(status, 0);
		free(text);
		free(json);
		pair_done(&pair);
	}
}

static char *golden(void)
{
	const char *source = getenv("SRCDIR");
	char path[512], *text = calloc(1, 1 << 16);
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/unit/golden/several.txt", source ? source : ".");
	file = fopen(path, "r");
	if (!file || fread(text, 1, (1 << 16) - 1, file) == 0)
		fail_msg("%s can't be read", path);
	fclose(file);
	return text;
}

static void write_golden(const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/unit/golden/several.txt", getenv("SRCDIR"));
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Ten processes and one that was refused: more than have a column. */
static void text_and_document(void **state)
{
	struct recording_content content[10];
	struct several_input input[11] = { { .pid = 4, .name = "init\033[2J",
					     .problem = "it is being traced" } };
	struct several *several = NULL;
	char sql[200], *text, *wanted, *json;
	size_t twice;
	int status;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(content); i++) {
		snprintf(sql, sizeof(sql), "UPDATE target SET pid = %zu, exe = '/usr/bin/demo';"
			 "UPDATE snapshots SET live_bytes = %zu;"
			 "UPDATE session SET lost_free = %zu;"
			 "UPDATE sites SET live_bytes = live_bytes + %zu;", 100 + i, 50000 - i,
			 i == 3 ? i : 0, i);
		record(sql, &content[i]);
		input[i + 1].content = &content[i];
	}
	assert_int_equal(several_new(input, 11, &several, &twice), 0);
	text = print(several, false);
	json = print(several, true);
	status = schema_validate("several.schema.json", json);
	if (status != 77)
		assert_int_equal(status, 0);
	if (getenv("GOLDEN_WRITE"))
		write_golden(text);
	wanted = golden();
	assert_string_equal(text, wanted);
	free(wanted);
	free(text);
	free(json);
	several_free(several);
	for (size_t i = 0; i < ARRAY_SIZE(content); i++)
		recording_content_done(&content[i]);
}

static void views_of_sites_are_of_the_sums(void **state)
{
	static const char *const name[] = { "hotspots", "tree", "flame", "filter", "source",
					    "histogram", "temporary" };
	const struct report_options report = { .top = 0 };
	const struct view_options plain = { .depth = 0 };
	const struct view_options peak = { .metric_given = true, .metric = VIEW_PEAK_BYTES };
	struct pair pair;
	char *text = NULL;
	size_t bytes;

	(void)state;
	pair_init(&pair, PID(11));
	for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
		const struct view *view = view_find(name[i]);
		FILE *out = open_memstream(&text, &bytes);
		int status;

		assert_null(several_view_missing(view, &plain, pair.several));
		assert_int_equal(several_view_write(view, out, pair.several, &report, &plain,
						    true), 0);
		fclose(out);
		status = schema_validate("views.schema.json", text);
		if (status != 77)
			assert_int_equal(status, 0);
		assert_non_null(strstr(text, "\"pids\":[10,11]"));
		free(text);
	}
	assert_non_null(several_view_missing(view_find("peak"), &plain, pair.several));
	assert_non_null(several_view_missing(view_find("timeline"), &plain, pair.several));
	assert_non_null(several_view_missing(view_find("hotspots"), &peak, pair.several));
	pair_done(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_code_is_one_site),
		cmocka_unit_test(another_build_is_matched_by_names),
		cmocka_unit_test(other_code_is_another_site),
		cmocka_unit_test(other_kinds_are_other_sites),
		cmocka_unit_test(names_are_those_of_the_recording),
		cmocka_unit_test(order_is_not_that_of_the_arguments),
		cmocka_unit_test(one_session_is_not_taken_twice),
		cmocka_unit_test(a_later_session_is_after_exec),
		cmocka_unit_test(hostile_figures_do_no_harm),
		cmocka_unit_test(text_and_document),
		cmocka_unit_test(views_of_sites_are_of_the_sums),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 77;
	return cmocka_run_group_tests(tests, sample_recording_begin, sample_recording_end);
}
