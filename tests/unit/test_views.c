/* SPDX-License-Identifier: MIT */
/*
 * test_views.c - what each view prints of a session that is known, word for word; that a recording
 * of it gives the same; that its documents follow their schema.
 *
 * The texts are in tests/unit/golden. GOLDEN_WRITE=1 in the environment writes them anew: read
 * them before they are committed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>

#include "src/report/name_shape.h"
#include "src/view/view.h"
#include "tests/unit/sample_memory.h"
#include "tests/unit/sample_recording.h"
#include "tests/unit/sample_views.h"
#include "tests/unit/schema_validator.h"

static struct views_sample sample;
static struct memory_sample memory;
static struct recording_content content;

static const struct golden {
	const char *file, *view;
	struct view_options options;
	uint32_t top;
} golden[] = {
	{ "overview", "overview", { .depth = 0 }, 0 },
	{ "hotspots", "hotspots", { .depth = 0 }, 3 },
	{ "hotspots-calls", "hotspots",
	  { .metric_given = true, .metric = VIEW_ALLOC_COUNT, .depth = 1 }, 0 },
	{ "tree", "tree", { .depth = 0 }, 0 },
	{ "tree-reverse", "tree",
	  { .reverse = true, .metric_given = true, .metric = VIEW_ALLOC_COUNT,
	    .threshold_given = true, .threshold = 3 }, 0 },
	{ "tree-depth", "tree", { .depth = 2 }, 0 },
	{ "flame", "flame", { .depth = 0 }, 0 },
	{ "flame-size", "flame",
	  { .use_size = true, .depth = 2 }, 0 },
	{ "histogram", "histogram", { .depth = 0 }, 0 },
	{ "histogram-exact", "histogram", { .exact_sizes = true }, 3 },
	{ "timeline", "timeline", { .depth = 0 }, 0 },
	{ "timeline-bytes", "timeline", { .time_in_bytes = true }, 2 },
	{ "temporary", "temporary", { .depth = 0 }, 0 },
	{ "peak", "peak", { .depth = 0 }, 2 },
	{ "lifetimes", "lifetimes", { .depth = 1 }, 0 },
	{ "blocks", "blocks", { .depth = 0 }, 0 },
	{ "blocks-size", "blocks", { .filter = { .size_low = 64, .size_high = 99 } }, 0 },
	{ "filter", "filter",
	  { .filter = { .module = "libwalk", .kind = VIEW_KIND_MALLOC } }, 0 },
	{ "source", "source", { .depth = 0 }, 0 },
	{ "regions", "regions", { .depth = 0 }, 0 },
	{ "arenas", "arenas", { .depth = 0 }, 4 },
	{ "fragmentation", "fragmentation", { .depth = 0 }, 0 },
	{ "realloc", "realloc", { .depth = 1 }, 0 },
	{ "threads", "threads", { .depth = 0 }, 0 },
	{ "threads-top", "threads", { .depth = 0 }, 1 },
	{ "hotspots-thread", "hotspots", { .depth = 1, .filter = { .thread = "pool-1" } }, 0 },
	{ "tree-thread", "tree", { .filter = { .thread = "7001" } }, 0 },
	{ "blocks-thread", "blocks", { .filter = { .thread = "1" } }, 0 },
};

/* parse.cc, which is all that can be read of the program's source. */
static void write_source(void)
{
	const struct timespec before[2] = { { .tv_sec = 1600000000 }, { .tv_sec = 1600000000 } };
	FILE *file = fopen("parse.cc", "w");

	for (int line = 1; line <= 23; line++)
		fprintf(file, line == 20 ? "\treturn\tcopy(text, 50);\n" : "// line %d\n", line);
	fclose(file);
	sample_must(utimensat(AT_FDCWD, "parse.cc", before, 0));
}

static void record(void)
{
	struct recording *recording = NULL;
	struct report_names names = views_input(&sample).names;

	sample_must(recording_open(sample_path, &recording));
	sample_must(recording_add(recording, &sample.snapshot, sample.stacks, NULL));
	sample_must(recording_add_lives(recording, &sample.lives));
	sample_must(recording_add_blocks(recording, &sample.blocks));
	sample_must(recording_add_threads(recording, &sample.threads.table));
	sample_must(recording_symbolize(recording, &names));
	sample_must(recording_add_memory(recording, &memory.regions, &memory.heaps));
	sample_must(recording_close(recording));
	sample_must(recording_read(sample_path, &content));
}

static int begin(void **state)
{
	if (sample_recording_begin(state) || chdir(sample_folder))
		return -1;
	views_begin(&sample);
	memory_begin(&memory);
	write_source();
	record();
	return 0;
}

static int end(void **state)
{
	recording_content_done(&content);
	views_end(&sample);
	return unlink("parse.cc") || chdir("/") || sample_recording_end(state) ? -1 : 0;
}

/* From the session, or from its recording. To be freed. */
static char *print(const struct golden *g, bool recorded, bool json)
{
	struct view_input input = { .report = views_input(&sample), .lives = &sample.lives,
				    .blocks = &sample.blocks, .regions = &memory.regions,
				    .heaps = &memory.heaps, .options = g->options };
	const struct view *view = view_find(g->view);
	const bool shaped = g->file && strcmp(g->file, "flame-size") == 0;
	const struct name_shape shape = { .function_only = shaped, .shorten_templates = shaped };
	struct name_shaper *shaper;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (recorded) {
		input.lives = content.lives;
		input.blocks = content.blocks;
		input.regions = content.regions;
		input.heaps = content.heaps;
		input.report.snapshot = content.snapshot;
		input.report.stacks = content.stacks;
		input.report.names = content.names;
		input.report.threads = content.threads;
	}
	input.report.options.top = g->top;
	assert_int_equal(report_names_shape(&input.report.names, &shape, &shaper), 0);
	assert_null(view_missing(view, &input));
	assert_int_equal(view_write(view, out, &input, json), 0);
	name_shaper_free(shaper);
	fclose(out);
	return text;
}

/* The committed text, or "" where it is written now. To be freed. */
static char *wanted_text(const struct golden *g, const char *text)
{
	const char *source = getenv("SRCDIR");
	char path[512], *wanted = calloc(1, 1 << 16);
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/unit/golden/%s.txt", source ? source : ".", g->file);
	file = fopen(path, getenv("GOLDEN_WRITE") ? "w+" : "r");
	if (!file)
		fail_msg("%s can't be opened", path);
	if (getenv("GOLDEN_WRITE"))
		fputs(text, file);
	rewind(file);
	assert_true(fread(wanted, 1, (1 << 16) - 1, file) > 0);
	fclose(file);
	return wanted;
}

static void prints_exactly_this(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		char *text = print(&golden[i], false, false);
		char *wanted = wanted_text(&golden[i], text);

		if (strcmp(text, wanted) != 0)
			print_error("%s is now:\n%s\n", golden[i].file, text);
		assert_string_equal(text, wanted);
		free(wanted);
		free(text);
	}
}

static void a_recording_gives_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(golden); i++) {
		char *direct = print(&golden[i / 2], false, i & 1);
		char *recorded = print(&golden[i / 2], true, i & 1);

		assert_string_equal(direct, recorded);
		free(direct);
		free(recorded);
	}
}

static void documents_follow_their_schema(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		char *text = print(&golden[i], true, true);
		int status = schema_validate("views.schema.json", text);

		free(text);
		if (status == 77)
			skip();
		if (status)
			print_error("%s does not follow docs/views.schema.json\n", golden[i].file);
		assert_int_equal(status, 0);
	}
}

static const char *missing(const char *view, const struct view_options *options)
{
	struct view_input input = { .report = views_input(&sample), .lives = &sample.lives,
				    .options = *options };

	return view_missing(view_find(view), &input);
}

static void says_what_is_not_known(void **state)
{
	const struct view_options nothing = { .depth = 0 };
	const struct view_options by_peak = { .metric_given = true, .metric = VIEW_PEAK_BYTES };
	const struct view_options site = { .filter = { .site = 1 } };
	const struct view_options thread = { .filter = { .thread = "1" } };
	const struct view_options nobody = { .filter = { .thread = "nobody" } };
	const struct view_options mapped = { .filter = { .thread = "1",
							 .kind = VIEW_KIND_MMAP } };
	const struct view_options thread_peak = { .filter = { .thread = "1" },
						  .metric_given = true,
						  .metric = VIEW_PEAK_BYTES };
	struct view_input older = { .report = views_input(&sample) };

	(void)state;
	assert_null(missing("temporary", &nothing));
	assert_null(missing("hotspots", &by_peak));
	sample.snapshot.every_alloc = sample.snapshot.site_peaks = false;
	assert_non_null(strstr(missing("temporary", &nothing), "--exact"));
	assert_non_null(strstr(missing("peak", &nothing), "older memattach"));
	assert_non_null(missing("hotspots", &by_peak));
	assert_null(missing("hotspots", &nothing));
	sample.snapshot.resizes = false;
	assert_non_null(strstr(missing("realloc", &nothing), "older memattach"));
	assert_non_null(strstr(missing("timeline", &site), "--site"));
	assert_non_null(strstr(missing("timeline", &thread), "--thread"));
	assert_non_null(strstr(missing("lifetimes", &thread), "as a whole"));
	assert_non_null(strstr(missing("peak", &thread), "as a whole"));
	assert_non_null(strstr(missing("hotspots", &mapped), "mapping"));
	assert_non_null(strstr(missing("hotspots", &nobody), "no such thread"));
	assert_null(missing("hotspots", &thread));
	sample.snapshot.site_peaks = true;
	assert_non_null(strstr(missing("hotspots", &thread_peak), "as a whole"));
	older.report.threads = NULL;
	older.options = thread;
	assert_non_null(strstr(view_missing(view_find("tree"), &older), "no threads"));
	older.options = nothing;
	assert_non_null(strstr(view_missing(view_find("threads"), &older), "no threads"));
	assert_non_null(strstr(view_missing(view_find("lifetimes"), &older), "lifetimes"));
	assert_non_null(strstr(view_missing(view_find("blocks"), &older), "no end"));
	assert_non_null(strstr(view_missing(view_find("regions"), &older), "no end"));
	assert_non_null(strstr(view_missing(view_find("arenas"), &older), "--heaps"));
	assert_non_null(strstr(view_missing(view_find("fragmentation"), &older), "--heaps"));
	assert_null(view_find("nothing"));
}

static void a_session_without_events(void **state)
{
	(void)state;
	recording_content_done(&content);
	sample.snapshot.site_count = sample.snapshot.timeline_count = 0;
	sample.snapshot.histogram_count = sample.lives.count = sample.blocks.count = 0;
	memset(&sample.snapshot.totals, 0, sizeof(sample.snapshot.totals));
	record();
	for (size_t i = 0; i < 2 * ARRAY_SIZE(golden); i++) {
		char *direct = print(&golden[i / 2], false, i & 1);
		char *recorded = print(&golden[i / 2], true, i & 1);

		assert_string_equal(direct, recorded);
		free(direct);
		free(recorded);
	}
}

/* null, not 0: what was not known must not look like none. */
static void unknown_figures_are_null(void **state)
{
	const struct golden all = { NULL, "hotspots", { .depth = 0 }, 0 };
	char *text;

	(void)state;
	sample.snapshot.every_alloc = sample.snapshot.site_peaks = false;
	text = print(&all, false, true);
	assert_non_null(strstr(text, "\"temporary_count\":null"));
	assert_non_null(strstr(text, "\"at_peak_bytes\":null"));
	assert_non_null(strstr(text, "\"peak\":null,\"temporary\":null}"));
	assert_int_equal(schema_validate("views.schema.json", text) % 77, 0);
	free(text);
}

/* The same of the heaps: no resident sizes, nothing watched, no mappings. */
static void unknown_memory_is_null(void **state)
{
	static const char *const view[] = { "regions", "arenas", "fragmentation" };

	(void)state;
	memory.regions.pages_known = memory.regions.huge_known = false;
	memory.heaps.resident_known = memory.heaps.books.known = false;
	for (size_t i = 0; i < ARRAY_SIZE(view); i++) {
		const struct golden all = { NULL, view[i], { .depth = 0 }, 0 };
		char *text = print(&all, false, false), *json = print(&all, false, true);

		assert_non_null(strstr(text, " -"));
		assert_null(strstr(text, "malloc_trim"));
		assert_non_null(strstr(json, "\"resident_bytes\":null"));
		assert_non_null(strstr(json, i == 0 ? "\"huge_bytes\":null" :
					     i == 1 ? "\"attached_threads\":null" :
						      "\"since_attach\":null"));
		assert_int_equal(schema_validate("views.schema.json", json) % 77, 0);
		free(text);
		free(json);
	}
}

/* The parts of a sum are those between it and the sum before, or the sum itself. */
static void parts_add_up(void **state)
{
	const struct golden all = { NULL, "fragmentation", { .depth = 0 }, 0 };
	char *json = print(&all, false, true);
	uint64_t parts = 0, sums = 0;

	(void)state;
	for (const char *at = json; (at = strstr(at, "{\"name\":")); at++) {
		unsigned long long bytes;
		char sum[8];

		assert_int_equal(sscanf(at, "{\"name\":\"%*[a-z]\",\"sum\":%7[a-z],"
					    "\"bytes\":%llu", sum, &bytes), 2);
		if (strcmp(sum, "true") == 0) {
			assert_int_equal(parts, bytes);
			sums++;
		} else {
			parts += bytes;
		}
	}
	assert_int_equal(sums, 4);
	free(json);
}

/* Figures as a forged recording has them: nothing overflows, nothing is printed without bound. */
static void hostile_figures(void **state)
{
	(void)state;
	for (size_t i = 0; i < sample.snapshot.site_count; i++) {
		struct snapshot_site *s = &sample.site[i];

		s->live_bytes = s->alloc_bytes = s->alloc_count = s->free_count = UINT64_MAX;
		s->at_peak_bytes = s->temporary_count = UINT64_MAX;
		s->size_low = UINT64_MAX;
		memset(&s->resizes, 0xff, sizeof(s->resizes));
		s->lifetime_p50 = s->lifetime_max = -1e300;
	}
	for (unsigned int i = 0; i < VIEWS_POINTS; i++) {
		sample.point[i].alloc_bytes = sample.point[i].live_bytes = UINT64_MAX;
		sample.point[i].time = 1e300;
	}
	for (unsigned int i = 0; i < VIEWS_SIZES; i++)
		sample.bar[i] = (struct snapshot_bar){ UINT64_MAX - i, UINT64_MAX };
	sample.life[0].oldest = -1e300;
	sample.block[0].born = -1e300;
	sample.block[1] = (struct listed_block){ UINT64_MAX, UINT64_MAX, 1e300, 1e300,
						 UINT32_MAX, UINT32_MAX };
	for (size_t i = 0; i < MEMORY_REGIONS; i++)
		memset(&memory.region[i].sizes, 0xff, sizeof(struct region_sizes));
	for (size_t i = 0; i < MEMORY_ARENAS; i++)
		memset(memory.arena[i].part, 0xff, sizeof(memory.arena[i].part));
	memset(&memory.heaps.books.count, 0xff, 5 * sizeof(uint64_t));
	memset(&memory.heaps.heap[1].live, 0xff, 4 * sizeof(struct heap_sum));
	memory.bin[1].high = memory.bin[1].sum.bytes = UINT64_MAX;
	memory.regions.left_out = UINT64_MAX;
	memory.region[2].start = memory.region[2].end;
	memset(sample.threads.part, 0xff, sizeof(sample.threads.part));
	sample.threads.part[0].site = 1;
	sample.threads.part[0].thread = 1;
	memset(sample.threads.handover, 0xff, sizeof(sample.threads.handover));
	memset(&sample.threads.thread[2], 0xff, sizeof(sample.threads.thread[2]));
	strcpy(sample.threads.thread[2].id.name, "\033[2J");
	memset(sample.life[1].born, 0xff, sizeof(sample.life[1].born));
	for (size_t i = 0; i < 2 * ARRAY_SIZE(golden); i++) {
		char *text = print(&golden[i / 2], false, i & 1);

		assert_true(strlen(text) < 100000);
		free(text);
	}
}

static void the_table_is_whole(void **state)
{
	(void)state;
	for (const struct view *view = view_table(); view->name; view++) {
		bool seen = false;

		assert_ptr_equal(view_find(view->name), view);
		assert_true(view->help && view->write_text && view->write_json);
		for (size_t i = 0; i < ARRAY_SIZE(golden); i++)
			seen |= strcmp(golden[i].view, view->name) == 0;
		assert_true(seen);	/* above */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(prints_exactly_this, begin, end),
		cmocka_unit_test_setup_teardown(a_recording_gives_the_same, begin, end),
		cmocka_unit_test_setup_teardown(documents_follow_their_schema, begin, end),
		cmocka_unit_test_setup_teardown(says_what_is_not_known, begin, end),
		cmocka_unit_test_setup_teardown(a_session_without_events, begin, end),
		cmocka_unit_test_setup_teardown(unknown_figures_are_null, begin, end),
		cmocka_unit_test_setup_teardown(unknown_memory_is_null, begin, end),
		cmocka_unit_test_setup_teardown(parts_add_up, begin, end),
		cmocka_unit_test_setup_teardown(hostile_figures, begin, end),
		cmocka_unit_test(the_table_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
