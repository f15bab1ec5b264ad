/* SPDX-License-Identifier: MIT */
/*
 * test_export.c - what exports say of a recording: escapes, addresses, levels over time, and that
 * figures add up where a recording's numbers are anything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>

#include "src/export/compress.h"
#include "src/export/export.h"
#include "src/export/export_levels.h"
#include "src/export/export_places.h"
#include "src/export/export_text.h"
#include "tests/unit/sample_recording.h"

/* A recording that was read, and its sites. */
struct opened {
	struct recording_content content;
	struct view_sites *sites;
	struct export_input input;
};

static const struct report_names sample_names = { .frame = sample_frame };

/* moment: "@12s", or "". */
static void open_sample_at(struct opened *opened, const char *moment)
{
	struct report_input report;
	char name[128];

	snprintf(name, sizeof(name), "%s%s", sample_path, moment);
	assert_int_equal(recording_read_at(name, &opened->content), 0);
	report = (struct report_input){ .snapshot = opened->content.snapshot,
					.stacks = opened->content.stacks,
					.names = opened->content.names };
	assert_int_equal(view_sites_new(&report, NULL, &opened->sites), 0);
	opened->input = (struct export_input){ .content = &opened->content,
					       .sites = opened->sites };
}

static void open_sample(struct opened *opened)
{
	open_sample_at(opened, "");
}

static void close_sample(struct opened *opened)
{
	view_sites_free(opened->sites);
	recording_content_done(&opened->content);
}

/* Of so many seconds: site 1 loses blocks, 2 is a cache, 3 a table (sample_recording.h). */
static void make_sample(uint64_t seconds)
{
	struct sample sample;
	struct recording *recording = sample_recording(&sample, seconds, SAMPLE_LEAK |
						       SAMPLE_REQUESTS);

	assert_int_equal(recording_symbolize(recording, &sample_names), 0);
	assert_int_equal(recording_close(recording), 0);
	sample_done(&sample);
}

/* What a format writes; the caller frees it. */
static char *print_as(const char *format, const struct export_input *input)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	assert_int_equal(export_find(format)->write(out, input), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* --- text --------------------------------------------------------------------- */

static char *put(int (*function)(FILE *out, const char *text), const char *text)
{
	char *written = NULL;
	size_t bytes;
	FILE *out = open_memstream(&written, &bytes);

	assert_non_null(out);
	assert_int_equal(function(out, text), 0);
	assert_int_equal(fclose(out), 0);
	return written;
}

static void assert_put(int (*function)(FILE *out, const char *text), const char *text,
		       const char *wanted)
{
	char *written = put(function, text);

	assert_string_equal(written, wanted);
	free(written);
}

static void text_is_harmless(void **state)
{
	(void)state;
	assert_put(export_put_line, "a\nb\x1b[2J\xff", "a?b?[2J\xef\xbf\xbd");
	assert_put(export_put_folded, "f;g\n", "f:g?");
	assert_put(export_put_folded, "", "?");
	assert_put(export_put_csv, "say \"x\", y", "\"say \"\"x\"\", y\"");
	assert_put(export_put_csv, "=1+2", "\"'=1+2\"");
	assert_put(export_put_csv, "@x", "\"'@x\"");
	assert_put(export_put_csv, "", "\"\"");
	assert_put(export_put_xml, "a<b>&\"'\x01", "a&lt;b&gt;&amp;&quot;&#39;?");
	assert_put(export_put_xml, "x\xef\xbf\xbey\xef\xbf\xbfz\xef\xbf\xbd", "x?y?z\xef\xbf\xbd");
}

static void numbers_are_bounded(void **state)
{
	(void)state;
	assert_int_equal(export_int64(UINT64_MAX), INT64_MAX);
	assert_int_equal(export_int64(7), 7);
	assert_int_equal(export_ticks(1.5, 1e3), 1500);
	assert_int_equal(export_ticks(-1, 1e3), 0);
	assert_int_equal(export_ticks(NAN, 1e3), 0);
	assert_int_equal(export_ticks(INFINITY, 1e3), 1ull << 62);
}

/* --- compression -------------------------------------------------------------- */

static void assert_magic(enum compress_kind kind, const void *magic, size_t length)
{
	char *bytes = NULL;
	size_t count;
	FILE *under = open_memstream(&bytes, &count), *out;
	int err = compress_open(under, kind, &out);

	if (err != -ENOTSUP) {
		assert_int_equal(err, 0);
		for (int i = 0; i < 100000; i++)
			fputs("the same again\n", out);
		assert_int_equal(fclose(out), 0);
	}
	fclose(under);
	if (err == 0) {
		assert_true(count > length && count < 20000);
		assert_memory_equal(bytes, magic, length);
	}
	free(bytes);
}

static void compressed_streams_begin_as_they_should(void **state)
{
	(void)state;
	assert_magic(COMPRESS_GZIP, "\x1f\x8b\x08\0\0\0\0\0", 8);	/* no time */
	assert_magic(COMPRESS_ZSTD, "\x28\xb5\x2f\xfd", 4);
}

static void a_full_disk_is_told_at_the_end(void **state)
{
	FILE *full = fopen("/dev/full", "w"), *out;

	(void)state;
	assert_non_null(full);
	for (int kind = COMPRESS_GZIP; kind <= COMPRESS_ZSTD; kind++) {
		if (compress_open(full, (enum compress_kind)kind, &out) == -ENOTSUP)
			continue;
		for (unsigned int i = 0, x = 1; i < 200000; i++) {
			x = x * 1103515245u + 12345u;
			fputc((int)(x >> 16 & 0xff), out);
		}
		assert_int_not_equal(fclose(out), 0);
	}
	fclose(full);
}

/* --- places ------------------------------------------------------------------- */

/* Gives the recording's modules these mappings; the sample's frames are of modules 1 and 2. */
static void open_placed(struct opened *opened, const char *rows)
{
	char sql[1024];

	make_sample(2);
	snprintf(sql, sizeof(sql), "DELETE FROM modules; INSERT INTO modules VALUES %s", rows);
	sample_change(sql);
	open_sample(opened);
}

static const struct view_frame *frame_of(const struct opened *opened, const char *module)
{
	for (uint32_t i = 0; i < opened->sites->frame_count; i++) {
		if (strcmp(opened->sites->frame[i]->module, module) == 0)
			return opened->sites->frame[i];
	}
	fail_msg("no frame of %s", module);
	return NULL;
}

#define DEMO "/usr/bin/demo"
#define LIB "/lib/lib\xc3\xa4.so"
#define DEMO_ROW "(1,'" DEMO "','c0ffee',0,0x400000,0x500000,0x400000,0,0,0x8000)"

static void modules_lie_where_they_were(void **state)
{
	struct export_places places;
	struct opened opened;

	(void)state;
	open_placed(&opened, DEMO_ROW ",(2,'" LIB "','',0,0x700000,0x800000,0x6fe000,0x2000,0x1000,"
			     "0x3000)");
	assert_int_equal(export_places_init(&places, &opened.input), 0);
	assert_int_equal(export_places_address(&places, frame_of(&opened, DEMO)), 0x400fff);
	assert_int_equal(export_places_address(&places, frame_of(&opened, LIB)), 0x700fff);
	for (size_t i = 0; i < places.count; i++) {
		const struct export_place *place = &places.place[i];

		if (strcmp(place->path, LIB) != 0)
			continue;
		assert_int_equal(place->start, 0x700000);
		assert_int_equal(place->limit, 0x703000);
		assert_int_equal(place->file_offset, 0x1000);
		assert_false(place->named);
	}
	export_places_done(&places);
	close_sample(&opened);
}

static void assert_apart(const struct export_places *places, const struct opened *opened)
{
	for (size_t i = 0; i < places->count; i++) {
		assert_true(places->place[i].start <= places->place[i].limit);
		for (size_t j = 0; j < i; j++)
			assert_true(places->place[i].start >= places->place[j].limit ||
				    places->place[j].start >= places->place[i].limit);
	}
	for (uint32_t i = 0; i < opened->sites->frame_count; i++) {
		const struct view_frame *frame = opened->sites->frame[i];
		const struct export_place *place = export_places_of(places, frame);
		uint64_t address = export_places_address(places, frame);

		assert_true(!frame->module[0] == !place);
		assert_true(!place || (address >= place->start && address < place->limit));
	}
}

/* At one place one after the other; not known; impossible. */
static void modules_that_overlap_or_lie_are_moved(void **state)
{
	static const char *const rows[] = {
		DEMO_ROW ",(2,'" LIB "','',0,0x400000,0x500000,0x400000,0,0,0x8000)",
		"(1,'" DEMO "','c0ffee',0,NULL,NULL,NULL,NULL,NULL,NULL)",
		"(1,'" DEMO "','c0ffee',0,-1,-1,-1,-1,-1,-1)",
		"(1,'" DEMO "','c0ffee',0,0,-1,-4096,-1,-1,-1)",
		"(1,'" DEMO "','c0ffee',0,0x500000,0x400000,0x400000,0,0,1)",
		"(1,'" DEMO "','c0ffee',0,0x400000,0x401000,0,0x400000,0,0)",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct export_places places;
		struct opened opened;

		open_placed(&opened, rows[i]);
		assert_int_equal(export_places_init(&places, &opened.input), 0);
		assert_apart(&places, &opened);
		export_places_done(&places);
		close_sample(&opened);
	}
}

/* As memattach wrote them before modules had places. */
static void recordings_without_places_have_addresses(void **state)
{
	struct export_places places;
	struct opened opened;

	(void)state;
	make_sample(2);
	sample_change("DROP TABLE modules; CREATE TABLE modules(id INTEGER PRIMARY KEY, path TEXT, "
		      "build_id TEXT, kind INTEGER)");
	open_sample(&opened);
	assert_int_equal(export_places_init(&places, &opened.input), 0);
	assert_apart(&places, &opened);
	/* The program comes first even where no frame is of it: the sample's is "\xff" "demo". */
	assert_string_equal(places.place[0].path, opened.content.snapshot->target.exe);
	export_places_done(&places);
	close_sample(&opened);
}

static void inlined_calls_are_one_machine_frame(void **state)
{
	struct view_frame a = { .inlined = true }, b = { .inlined = false };
	const struct view_frame *stack[] = { &a, &a, &b, &b, &a };
	const struct view_frame *endless[100];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(endless); i++)
		endless[i] = &a;
	assert_int_equal(export_machine_frame(stack, 5), 3);
	assert_int_equal(export_machine_frame(stack, 2), 2);
	assert_int_equal(export_machine_frame(stack + 3, 2), 1);
	assert_int_equal(export_machine_frame(stack + 4, 1), 1);
	assert_int_equal(export_machine_frame(endless, 100), SYMBOLIZER_MAX_FRAMES);
}

/* --- levels ------------------------------------------------------------------- */

static int count_changes(void *context, uint32_t index, const struct export_level *to)
{
	(void)index;
	(void)to;
	++*(size_t *)context;
	return 0;
}

static void levels_go_from_nothing_to_the_snapshot(void **state)
{
	struct export_levels levels;
	struct opened opened;
	size_t changes = 0;
	uint64_t most = 0;

	(void)state;
	make_sample(40);
	open_sample(&opened);
	assert_int_equal(export_levels_init(&levels, &opened.input), 0);
	assert_true(levels.moments.count >= 40);
	assert_int_equal(export_levels_sum(&levels), 0);
	while (levels.next < levels.moments.count) {
		assert_int_equal(export_levels_step(&levels, count_changes, &changes), 0);
		most = export_levels_sum(&levels) > most ? export_levels_sum(&levels) : most;
	}
	assert_true(changes >= 80);
	assert_int_equal(export_levels_sum(&levels), opened.sites->sum[VIEW_LIVE_BYTES]);
	assert_int_equal(export_levels_sum(&levels), opened.content.snapshot->totals.live_bytes);
	assert_int_equal(most, opened.content.snapshot->totals.peak_live_bytes);
	assert_true(export_levels_cover_heap(&levels));
	export_levels_rewind(&levels);
	assert_int_equal(export_levels_sum(&levels), 0);
	assert_int_equal(export_levels_step(&levels, NULL, NULL), 0);
	assert_true(export_levels_sum(&levels) > 0);
	export_levels_done(&levels);
	close_sample(&opened);
}

/* What came later is not there, the last moment is the one that was asked for. */
static void levels_end_at_the_moment(void **state)
{
	static const char *const moments[] = { "@0s", "@5s", "@17.5s", "@39s" };

	(void)state;
	make_sample(40);
	for (size_t i = 0; i < ARRAY_SIZE(moments); i++) {
		struct export_levels levels;
		struct opened opened;

		open_sample_at(&opened, moments[i]);
		assert_string_equal(opened.content.path, sample_path);
		assert_int_equal(export_levels_init(&levels, &opened.input), 0);
		assert_true(levels.moments.moment[levels.moments.count - 1].time ==
			    opened.content.snapshot->session.duration);
		while (levels.next < levels.moments.count)
			assert_int_equal(export_levels_step(&levels, NULL, NULL), 0);
		assert_int_equal(export_levels_sum(&levels),
				 opened.content.snapshot->totals.live_bytes);
		assert_int_equal(levels.moments.count, i == 0 ? 1 : opened.content.snapshot_id);
		export_levels_done(&levels);
		close_sample(&opened);
	}
}

/* Times that go back, numbers that are too large, rows of nobody: it ends at the snapshot. */
static void levels_of_a_recording_that_lies(void **state)
{
	struct export_levels levels;
	struct opened opened;
	double last = 0;

	(void)state;
	make_sample(10);
	sample_change("UPDATE snapshots SET time = 1e300 - id WHERE id % 2; "
		      "UPDATE snapshots SET time = -1e308 * 10 WHERE id = 4; "
		      "UPDATE snapshots SET peak_live_bytes = -1 WHERE id = 3; "
		      "UPDATE snapshot_sites SET live_bytes = -1, alloc_count = -5, free_count = 3 "
		      "WHERE snapshot % 3 = 1; "
		      "INSERT INTO snapshot_sites(snapshot, site, live_count, live_bytes, "
		      "alloc_count, "
		      "alloc_bytes, free_count) "
		      "VALUES(2, 999, 1, 2, 3, 4, 5), "
		      "(7777, 1, 1, 2, 3, 4, 5)");
	open_sample(&opened);
	assert_int_equal(export_levels_init(&levels, &opened.input), 0);
	for (size_t i = 0; i < levels.moments.count; i++) {
		assert_true(isfinite(levels.moments.moment[i].time));
		assert_true(levels.moments.moment[i].time >= last);
		last = levels.moments.moment[i].time;
	}
	while (levels.next < levels.moments.count)
		assert_int_equal(export_levels_step(&levels, NULL, NULL), 0);
	assert_int_equal(export_levels_sum(&levels), opened.sites->sum[VIEW_LIVE_BYTES]);
	export_levels_done(&levels);
	close_sample(&opened);
}

/* --- formats ------------------------------------------------------------------ */

/* What a heaptrack file adds up to, by a reader of our own that knows no more than the format. */
struct heap {
	uint64_t size[4096];
	size_t kinds, allocated_kinds, allocations, temporary;
	int64_t bytes, peak;
	uint64_t last;
};

static void heap_line(struct heap *heap, const char *line)
{
	uint64_t number = strtoull(line + 1, NULL, 16);

	switch (line[0]) {
	case 'a':
		assert_true(heap->kinds < ARRAY_SIZE(heap->size));
		heap->size[heap->kinds++] = number;
		break;
	case '+':
		assert_true(number < heap->kinds);
		/* heaptrack_gui writes beyond its table otherwise. */
		assert_true(number <= heap->allocated_kinds);
		heap->allocated_kinds += number == heap->allocated_kinds;
		heap->allocations++;
		heap->bytes += (int64_t)heap->size[number];
		heap->peak = heap->bytes > heap->peak ? heap->bytes : heap->peak;
		heap->last = number;
		break;
	case '-':
		assert_true(number < heap->kinds);
		heap->temporary += heap->last == number;
		heap->bytes -= (int64_t)heap->size[number];
		heap->last = 0;
		break;
	default:
		assert_non_null(strchr("vXIAsitcR#", line[0]));
	}
}

static struct heap *read_heap(char *text)
{
	struct heap *heap = calloc(1, sizeof(*heap));

	assert_non_null(heap);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		heap_line(heap, line);
	return heap;
}

static void heaptrack_adds_up(void **state)
{
	const struct snapshot_totals *totals;
	struct opened opened;
	struct heap *heap;
	char *text;

	(void)state;
	make_sample(40);
	open_sample(&opened);
	totals = &opened.content.snapshot->totals;
	text = print_as("heaptrack", &opened.input);
	heap = read_heap(text);
	assert_true(totals->temporary_count > 0);
	assert_int_equal(heap->allocations, totals->alloc_count);
	assert_int_equal(heap->temporary, totals->temporary_count);
	assert_int_equal(heap->bytes, totals->live_bytes);
	assert_int_equal(heap->peak, totals->peak_live_bytes);
	free(heap);
	free(text);
	close_sample(&opened);
}

/* A stream that forgets all but its beginning. */
struct sink {
	char begin[4096];	/* ends in '\0' */
	size_t bytes;
};

static ssize_t sink_write(void *context, const char *bytes, size_t count)
{
	struct sink *sink = context;

	for (size_t i = 0; i < count && sink->bytes + i < sizeof(sink->begin) - 1; i++)
		sink->begin[sink->bytes + i] = bytes[i];
	sink->bytes += count;
	return (ssize_t)count;
}

/* More events than anybody wants to read. */
static void heaptrack_merges_what_is_too_much(void **state)
{
	struct opened opened;
	struct sink sink = { .bytes = 0 };
	FILE *out = fopencookie(&sink, "w", (cookie_io_functions_t){ .write = sink_write });

	(void)state;
	assert_non_null(out);
	make_sample(3);
	sample_change("UPDATE sites SET alloc_count = 1 << 60, free_count = 1 << 59, "
		      "alloc_bytes = -1 WHERE id = 1");
	open_sample(&opened);
	assert_int_equal(export_heaptrack(out, &opened.input), 0);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(sink.begin, "allocations are written as one\n"));
	assert_in_range(sink.bytes, 10000000, 200000000);
	close_sample(&opened);
}

/* The whole of text is lines of this form. */
static void assert_folded(const char *text, uint64_t sum)
{
	uint64_t seen = 0;

	for (const char *line = text, *end; *line; line = end + 1) {
		const char *space;

		end = strchr(line, '\n');
		assert_non_null(end);
		space = memrchr(line, ' ', (size_t)(end - line));
		assert_non_null(space);
		assert_true(isdigit((unsigned char)space[1]));
		seen += strtoull(space + 1, NULL, 10);
	}
	assert_int_equal(seen, sum);
}

static void folded_has_a_line_a_stack(void **state)
{
	struct opened opened;
	char *text;

	(void)state;
	make_sample(5);
	open_sample(&opened);
	text = print_as("folded", &opened.input);
	assert_folded(text, opened.sites->sum[VIEW_LIVE_BYTES]);
	assert_non_null(strstr(text, "outer?[2J;inner<T>::\"f\" "));
	free(text);
	opened.input.metric = VIEW_ALLOC_COUNT;
	text = print_as("folded", &opened.input);
	assert_folded(text, opened.sites->sum[VIEW_ALLOC_COUNT]);
	free(text);
	close_sample(&opened);
}

/* Formats are looked up by name, and those that were left out say why. */
static void formats_are_known_by_name(void **state)
{
	(void)state;
	assert_null(export_find("elsewhere"));
	for (const struct export_format *format = export_table(); format->name; format++) {
		assert_ptr_equal(export_find(format->name), format);
		assert_true(!format->write == !!format->missing);
	}
}

/* No format fails, loops or breaks on figures that no session has. */
static void every_format_takes_hostile_figures(void **state)
{
	struct opened opened;

	(void)state;
	make_sample(6);
	sample_change("UPDATE sites SET live_bytes = -1, live_count = -1, alloc_bytes = -1, "
		      "alloc_count = CASE id WHEN 1 THEN -1 ELSE 0 END, peak_live_bytes = -1, "
		      "lifetime_p50 = 9e999, growth = -9e999;"
		      "UPDATE timeline SET time = 9e999, live_bytes = -1, rss_bytes = -1 "
		      "WHERE id = 2;"
		      "UPDATE snapshots SET time = 9e999, overhead_bytes = -1 WHERE id > 3;"
		      "UPDATE session SET duration = 9e999, begin_time = -9e999;"
		      "UPDATE symbols SET function = char(10, 27, 60, 38, 59) || function, "
		      "file = char(34, 41, 10), inlined = 1, line = -1");
	open_sample(&opened);
	for (const struct export_format *format = export_table(); format->name; format++) {
		if (!format->write || strcmp(format->name, "heaptrack") == 0)
			continue;
		for (int m = 0; m < VIEW_METRIC_COUNT; m++) {
			opened.input.metric = (enum view_metric)m;
			free(print_as(format->name, &opened.input));
		}
	}
	close_sample(&opened);
}

#define ON_RECORDING(test) \
	cmocka_unit_test_setup_teardown(test, sample_recording_begin, sample_recording_end)

/* The page of a file can ask nobody; a served one who served it, and is told how often. */
static void only_a_served_page_asks(void **state)
{
	static const char policy[] = "content=\"default-src 'none'; connect-src 'self'; "
				     "script-src ";
	struct opened opened;
	char *page;

	(void)state;
	make_sample(30);
	open_sample(&opened);
	page = print_as("html", &opened.input);
	assert_non_null(strstr(page, "content=\"default-src 'none'; script-src "));
	assert_null(strstr(page, "connect-src"));
	assert_null(strstr(page, "id=\"live-block\""));
	free(page);
	opened.input.live_seconds = 7;
	page = print_as("html", &opened.input);
	assert_non_null(strstr(page, policy));
	assert_non_null(strstr(page, "<script type=\"application/json\" id=\"live-block\">\n"
			       "{\"seconds\":7}\n</script>\n"));
	free(page);
	close_sample(&opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_harmless),
		cmocka_unit_test(numbers_are_bounded),
		cmocka_unit_test(compressed_streams_begin_as_they_should),
		cmocka_unit_test(a_full_disk_is_told_at_the_end),
		ON_RECORDING(modules_lie_where_they_were),
		ON_RECORDING(modules_that_overlap_or_lie_are_moved),
		ON_RECORDING(recordings_without_places_have_addresses),
		cmocka_unit_test(inlined_calls_are_one_machine_frame),
		ON_RECORDING(levels_go_from_nothing_to_the_snapshot),
		ON_RECORDING(levels_end_at_the_moment),
		ON_RECORDING(levels_of_a_recording_that_lies),
		ON_RECORDING(heaptrack_adds_up),
		ON_RECORDING(heaptrack_merges_what_is_too_much),
		ON_RECORDING(folded_has_a_line_a_stack),
		cmocka_unit_test(formats_are_known_by_name),
		ON_RECORDING(only_a_served_page_asks),
		ON_RECORDING(every_format_takes_hostile_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
