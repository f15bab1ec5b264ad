/* SPDX-License-Identifier: MIT */
/*
 * test_report_leaks.c - a leak report made by hand, for people and as JSON: the figures, what is
 * not known, what is not covered, names that attack a terminal, and reports with nothing in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <jansson.h>
#include <math.h>
#include <sys/wait.h>

#include "tests/unit/sample_session.h"
#include "tests/unit/schema_validator.h"

struct printed {
	struct sample sample;
	struct snapshot *snapshot;
	struct leak_report *leaks;
	char *text;
};

static char *copy(const char *text)
{
	char *made = text ? strdup(text) : NULL;

	assert_true(!text || made);
	return made;
}

/* Two heaps, one not covered; five groups, in disorder. */
static struct leak_report *make_leaks(void)
{
	struct leak_report *leaks = NULL;
	struct leak_group group[] = {
		{ .verdict = LEAK_REACHABLE, .count = 7, .bytes = 700, .growth = NAN, .oldest = NAN,
		  .type = copy("plain") },
		{ .verdict = LEAK_GROWING, .site = 2, .count = 10, .bytes = 640, .size = 64,
		  .growth = 2048, .oldest = 3, .held_by = copy("g_cache.buckets[17]->next") },
		{ .verdict = LEAK_POSSIBLY_LOST, .count = 1, .bytes = 24, .size = 24, .growth = NAN,
		  .oldest = NAN, .type = copy("evil\033[2J\xff"), .held_by = copy("\a\"x\"\n"),
		  .address_count = 1, .address = { 0x10 } },
		{ .verdict = LEAK_DEFINITELY_LOST, .count = 2, .bytes = 48, .size_class = 32,
		  .growth = NAN, .oldest = NAN, .likely_site = 1,
		  .last_held_by = copy("a freed block of 24 bytes, at +16"),
		  .last_held_count = 1 },
		{ .verdict = LEAK_DEFINITELY_LOST, .site = 1, .count = 1024, .bytes = 3355443,
		  .indirect_count = 4096, .indirect_bytes = 12582912, .growth = 1258291,
		  .oldest = 14700, .type = copy("struct session"), .variable = copy("s->buf"),
		  .address_count = 6,
		  .address = { 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000 } },
	};

	assert_int_equal(leak_report_new(&leaks), 0);
	for (size_t i = 0; i < ARRAY_SIZE(group); i++)
		assert_int_equal(leak_report_add(leaks, &group[i]), 0);
	leak_report_sort(leaks);
	leaks->pause_us = 3600;
	leaks->scanned_bytes = 145752064;
	leaks->unread_shared_bytes = 12582912;
	leaks->seconds = 0.52;
	leaks->kind[BLOCK_DEFINITELY_LOST] = (struct leak_sum){ 1026, 3355491 };
	leaks->kind[BLOCK_INDIRECTLY_LOST] = (struct leak_sum){ 4096, 12582912 };
	leaks->kind[BLOCK_POSSIBLY_LOST] = (struct leak_sum){ 1, 24 };
	leaks->kind[BLOCK_REACHABLE] = (struct leak_sum){ 17, 1340 };
	leaks->suppressed = (struct leak_sum){ 3, 96 };
	leaks->heap_count = 2;
	leaks->heap[0] = (struct leak_heap){ .allocator = "glibc", .version = "2.36",
					     .covered = true, .live_count = 5140,
					     .live_bytes = 15939767 };
	leaks->heap[1] = (struct leak_heap){ .allocator = "jemalloc", .why = "no symbols\033[1m" };
	return leaks;
}

static void print_as(struct printed *printed, const char *report, struct leak_report *leaks,
		     uint32_t top)
{
	struct report_input input;

	sample_init(&printed->sample, true);
	sample_fill(&printed->sample, 0);
	printed->snapshot = sample_take(&printed->sample, true, SNAPSHOT_PRISTINE);
	printed->snapshot->every_alloc = true;
	printed->leaks = leaks;
	input = sample_input(&printed->sample, printed->snapshot);
	input.leaks = leaks;
	input.options.top = top;
	printed->text = sample_print(report, &input);
}

static void printed_done(struct printed *printed)
{
	free(printed->text);
	leak_report_free(printed->leaks);
	snapshot_free(printed->snapshot);
	sample_done(&printed->sample);
}

static const char all_of_it[] =
	"\nLeaks: what nothing in the process leads to any more\n"
	"  searched  139 MiB in 520 ms; the process stood still for 3.60 ms\n"
	"            12.0 MiB of shared memory were not searched: what only that leads to counts "
	"as lost\n"
	"  heap      glibc 2.36: 15.2 MiB in 5,140 blocks, those from before the attach too\n"
	"  heap      jemalloc: 0 B in 0 blocks; not covered from before the attach: "
	"no symbols?[1m\n"
	"  older     of blocks from before the attach, some or all are missing below\n"
	"\n"
	"  definitely lost         1,026 blocks     3.20 MiB\n"
	"  indirectly lost         4,096 blocks     12.0 MiB\n"
	"  possibly lost               1 block          24 B\n"
	"  still reachable            17 blocks     1.31 KiB\n"
	"  suppressed                  3 blocks         96 B\n"
	"\n"
	"Top 4 of 4 groups\n"
	"\n"
	"#1  definitely lost: 3.20 MiB in 1,024 blocks (+ 12.0 MiB indirectly in 4,096) "
	"of type `struct session`, assigned to `s->buf`\n"
	"    the oldest is 4 h 5 min old; +1.20 MiB/h\n"
	"    at 0x1000 0x2000 0x3000 0x4000 ...\n"
	"      inner<T>::\"f\"                                 src/inner.hpp:12:3 (inlined)\n"
	"      outer?[2J                                     src/outer.cc:99\n"
	"      lib\xc3\xa4.so+0x2fff\n"
	"      0x3000\n"
	"\n"
	"#2  definitely lost: 48 B in 2 blocks of up to 32 B each\n"
	"    of unknown age\n"
	"    still named by a freed block of 24 bytes, at +16 (1 of 2)\n"
	"      allocated before the attach\n"
	"      same size as what inner<T>::\"f\" allocates "
	"(src/inner.hpp:12:3 (inlined))\n"
	"\n"
	"#3  possibly lost: 24 B in 1 block of type `evil?[2J\xef\xbf\xbd`\n"
	"    of unknown age\n"
	"    at 0x10\n"
	"    its middle is held by `?\"x\"?`\n"
	"      allocated before the attach\n"
	"\n"
	"#4  growing (still reachable): 640 B in 10 blocks of 64 B each\n"
	"    the oldest is 3.00 s old; +2.00 KiB/h\n"
	"    held by `g_cache.buckets[17]->next`\n"
	"      inner<T>::\"f\"                                 src/inner.hpp:12:3 (inlined)\n"
	"      outer?[2J                                     src/outer.cc:99\n"
	"      lib\xc3\xa4.so+0x2fff\n"
	"      (cut: could not be followed to the thread's start)\n"
	"\n"
	"LEAK SUMMARY definitely lost: 3.20 MiB in 1,026 blocks, indirectly lost: 12.0 MiB in "
	"4,096 blocks, possibly lost: 24 B in 1 block, still reachable: 1.31 KiB in 17 blocks, "
	"suppressed: 96 B in 3 blocks; older blocks not all covered\n";

static void prints_exactly_this(void **state)
{
	struct printed printed;
	const char *part;

	(void)state;
	print_as(&printed, "text", make_leaks(), 0);
	part = strstr(printed.text, "\nLeaks: ");
	assert_non_null(part);
	assert_string_equal(part, all_of_it);
	assert_null(strstr(printed.text, "Not proof of a leak"));
	printed_done(&printed);
}

static void top_limits_and_reaches_the_rest(void **state)
{
	struct printed printed;

	(void)state;
	print_as(&printed, "text", make_leaks(), 1);
	assert_non_null(strstr(printed.text, "Top 1 of 5 groups"));
	assert_null(strstr(printed.text, "#2  definitely"));
	printed_done(&printed);
	print_as(&printed, "text", make_leaks(), 100);
	assert_non_null(strstr(printed.text, "#5  still reachable: 700 B in 7 blocks of type"));
	printed_done(&printed);
}

static void says_that_nothing_was_found_or_searched(void **state)
{
	struct leak_report *leaks = NULL;
	struct printed printed;

	(void)state;
	assert_int_equal(leak_report_new(&leaks), 0);
	print_as(&printed, "text", leaks, 0);
	assert_non_null(strstr(printed.text, "no allocator was found"));
	assert_non_null(strstr(printed.text, "Nothing lost, nothing suspect."));
	assert_non_null(strstr(printed.text, "LEAK SUMMARY definitely lost: 0 B in 0 blocks"));
	printed_done(&printed);
	/* A site that is not among the snapshot's. */
	leaks = make_leaks();
	leaks->group[0].site = 12345;
	print_as(&printed, "text", leaks, 1);
	assert_non_null(strstr(printed.text, "(its stack is not known)"));
	printed_done(&printed);
}

static json_t *load(const struct printed *printed)
{
	json_t *root = json_loads(printed->text, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(root);
	return root;
}

static json_int_t integer(json_t *object, const char *key)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}

static void document_has_every_figure(void **state)
{
	struct printed printed;
	json_t *root, *leaks, *group;

	(void)state;
	print_as(&printed, "json", make_leaks(), 1);
	root = load(&printed);
	leaks = json_object_get(root, "leaks");
	assert_true(json_is_false(json_object_get(leaks, "covers_older_blocks")));
	assert_int_equal(integer(leaks, "pause_us"), 3600);
	assert_int_equal(integer(leaks, "scanned_bytes"), 145752064);
	assert_int_equal(integer(leaks, "unread_shared_bytes"), 12582912);
	assert_int_equal(integer(json_object_get(leaks, "definitely_lost"), "count"), 1026);
	assert_int_equal(integer(json_object_get(leaks, "indirectly_lost"), "bytes"), 12582912);
	assert_int_equal(integer(json_object_get(leaks, "possibly_lost"), "bytes"), 24);
	assert_int_equal(integer(json_object_get(leaks, "still_reachable"), "count"), 17);
	assert_int_equal(integer(json_object_get(leaks, "suppressed"), "bytes"), 96);
	assert_int_equal(json_array_size(json_object_get(leaks, "heaps")), 2);
	assert_int_equal(json_array_size(json_object_get(leaks, "groups")), 5);
	group = json_array_get(json_object_get(leaks, "groups"), 0);
	assert_string_equal(json_string_value(json_object_get(group, "verdict")),
			    "definitely-lost");
	assert_int_equal(integer(group, "indirect_count"), 4096);
	assert_int_equal(integer(group, "size"), 0);
	assert_int_equal(integer(group, "site"), 1);
	assert_int_equal(json_array_size(json_object_get(group, "addresses")), 6);
	assert_true(json_number_value(json_object_get(group, "growth_per_hour")) == 1258291);
	assert_true(json_number_value(json_object_get(group, "oldest_seconds")) == 14700);
	json_decref(root);
	printed_done(&printed);
}

static void unknown_is_null(void **state)
{
	static const char *const unknown[] = { "site", "growth_per_hour", "oldest_seconds",
					       "type", "variable", "held_by" };
	static const char *const no_hint[] = { "size_class", "last_held_by", "likely_site" };
	struct printed printed;
	json_t *root, *leaks, *group, *heap;

	(void)state;
	print_as(&printed, "json", make_leaks(), 0);
	root = load(&printed);
	leaks = json_object_get(root, "leaks");
	group = json_array_get(json_object_get(leaks, "groups"), 1);
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		assert_true(json_is_null(json_object_get(group, unknown[i])));
	assert_int_equal(integer(group, "size_class"), 32);
	assert_int_equal(integer(group, "likely_site"), 1);
	assert_int_equal(integer(group, "last_held_count"), 1);
	assert_string_equal(json_string_value(json_object_get(group, "last_held_by")),
			    "a freed block of 24 bytes, at +16");
	group = json_array_get(json_object_get(leaks, "groups"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(no_hint); i++)
		assert_true(json_is_null(json_object_get(group, no_hint[i])));
	heap = json_array_get(json_object_get(leaks, "heaps"), 0);
	assert_true(json_is_null(json_object_get(heap, "why")));
	heap = json_array_get(json_object_get(leaks, "heaps"), 1);
	assert_true(json_is_null(json_object_get(heap, "version")));
	assert_string_equal(json_string_value(json_object_get(heap, "why")), "no symbols\033[1m");
	group = json_array_get(json_object_get(leaks, "groups"), 2);
	assert_string_equal(json_string_value(json_object_get(group, "type")),
			    "evil\033[2J\xef\xbf\xbd");
	assert_null(strchr(printed.text, '\033'));
	json_decref(root);
	printed_done(&printed);
}

/* Nobody asked: not even a key for it. */
static void contents_are_private(void **state)
{
	struct printed printed;

	(void)state;
	print_as(&printed, "json", make_leaks(), 0);
	assert_null(strstr(printed.text, "contents"));
	printed_done(&printed);
}

/* The first group's first example: text, a line and a bit of bytes. */
static struct leak_report *make_contents(void)
{
	static const char bytes[] = "pass\tword\033\xc3\xa4\"\\\0\x80|more";
	struct leak_report *leaks = make_leaks();
	struct leak_group *group = &leaks->group[0];

	group->content = calloc(2, sizeof(*group->content));
	assert_non_null(group->content);
	group->content_count = 2;
	group->content[0] = (struct leak_content){
		.address = 0x1000, .size = 1016, .count = sizeof(bytes) - 1,
		.byte = malloc(sizeof(bytes)), .kind = LEAK_TEXT_STD, .text_cut = true,
		.text = copy("pass\tword\033\xc3\xa4\"\\"),
	};
	assert_non_null(group->content[0].byte);
	memcpy(group->content[0].byte, bytes, sizeof(bytes));
	group->content[1] = (struct leak_content){ .address = 0x2000, .size = 8 };
	return leaks;
}

static void contents_are_escaped(void **state)
{
	struct printed printed;

	(void)state;
	print_as(&printed, "text", make_contents(), 0);
	assert_non_null(strstr(printed.text,
		"    at 0x1000 0x2000 0x3000 0x4000 ...\n"
		"      0x1000  std::string \"pass\\tword\\x1b\xc3\xa4\\\"\\\\\" ...\n"
		"      0x1000  70 61 73 73 09 77 6f 72  64 1b c3 a4 22 5c 00 80  "
		"|pass.word...\"\\..|\n"
		"      0x1010  7c 6d 6f 72 65                                    ||more|\n"
		"      0x2000  (can't be read)\n"));
	assert_null(strchr(printed.text, '\033'));
	printed_done(&printed);
}

static void contents_are_in_the_document(void **state)
{
	struct printed printed;
	json_t *root, *content;

	(void)state;
	print_as(&printed, "json", make_contents(), 0);
	root = load(&printed);
	content = json_array_get(json_object_get(json_array_get(json_object_get(
		json_object_get(root, "leaks"), "groups"), 0), "contents"), 0);
	assert_string_equal(json_string_value(json_object_get(content, "address")), "0x1000");
	assert_int_equal(integer(content, "size"), 1016);
	assert_string_equal(json_string_value(json_object_get(content, "bytes")),
			    "7061737309776f72641bc3a4225c00807c6d6f7265");
	assert_string_equal(json_string_value(json_object_get(content, "text")),
			    "pass\tword\033\xc3\xa4\"\\");
	assert_string_equal(json_string_value(json_object_get(content, "text_kind")),
			    "std::string");
	json_decref(root);
	printed_done(&printed);
}

/* Of a recording whose memory nobody searched: a stuck site, and two that nobody can judge. */
static struct leak_report *make_unsearched(void)
{
	struct leak_report *leaks = NULL;
	const struct leak_group stuck = { .verdict = LEAK_STUCK, .site = 1, .count = 20,
					  .bytes = 20000, .growth = 1024, .oldest = 39.5 };
	const struct leak_early early[] = { { 2, 1, 64, 12.5, 46.875 }, { 77, 3, 96, 0, 750 } };

	assert_int_equal(leak_report_new(&leaks), 0);
	assert_int_equal(leak_report_add(leaks, &stuck), 0);
	for (size_t i = 0; i < ARRAY_SIZE(early); i++)
		assert_int_equal(leak_report_add_early(leaks, &early[i]), 0);
	leaks->unsearched = true;
	leaks->watched = 40;
	leaks->looks = 40;
	leak_report_sort(leaks);
	return leaks;
}

static void a_recording_is_judged_without_memory(void **state)
{
	static const char expected[] =
		"\nLeaks: sites whose blocks nobody seems to free\n"
		"  judged    by how long blocks lived in 40.0 s, and by 40 snapshots; memory was "
		"not searched\n"
		"\nTop 1 of 1 group\n"
		"\n#1  stuck: 19.5 KiB in 20 blocks\n"
		"    the oldest is 39.5 s old; +1.00 KiB/h\n";
	static const char early[] =
		"\n  Too early to tell for 2 sites, in 40.0 s:\n"
		"    96 B in 3 blocks: none was freed yet; 12 min 30 s would tell\n"
		"    64 B in 1 block of inner<T>::\"f\" at src/inner.hpp:12:3 (inlined): freed "
		"ones lived up to 12.5 s; 46.9 s would tell\n";
	struct printed printed;
	json_t *root, *leaks;
	int status;

	(void)state;
	print_as(&printed, "leaks", make_unsearched(), 0);
	if (!strstr(printed.text, expected) || !strstr(printed.text, early))
		fail_msg("not as expected:\n%s", printed.text);
	assert_null(strstr(printed.text, "reachable"));
	assert_null(strstr(printed.text, "sites by live bytes"));
	printed_done(&printed);
	print_as(&printed, "json", make_unsearched(), 0);
	root = load(&printed);
	leaks = json_object_get(root, "leaks");
	assert_true(json_is_null(json_object_get(leaks, "definitely_lost")));
	assert_true(json_is_null(json_object_get(leaks, "history")));
	assert_int_equal(json_array_size(json_object_get(leaks, "too_early")), 2);
	json_decref(root);
	status = schema_validate("snapshot.schema.json", printed.text);
	assert_true(status == 0 || status == 77);
	printed_done(&printed);
}

static void a_history_is_told(void **state)
{
	struct leak_report *leaks = make_leaks();
	struct printed printed;

	(void)state;
	leaks->history = 3600;
	leaks->history_sites = 12;
	leaks->watched = 10;
	leaks->group[3].by_history = true;
	print_as(&printed, "text", leaks, 0);
	assert_non_null(strstr(printed.text, "\n  history   1 h 0 min of an earlier recording, "
					     "which knows 12 of the sites with live blocks\n"));
	assert_non_null(strstr(printed.text, "; as the earlier recording shows\n"));
	printed_done(&printed);
}

/* As before, but of no site enough is known. */
static char *print_too_few(struct printed *printed, const char *report)
{
	struct report_input input;

	print_as(printed, report, make_leaks(), 0);
	for (size_t i = 0; i < printed->snapshot->site_count; i++)
		printed->snapshot->site[i].verdict = SNAPSHOT_TOO_FEW;
	input = sample_input(&printed->sample, printed->snapshot);
	input.leaks = printed->leaks;
	free(printed->text);
	printed->text = sample_print(report, &input);
	return printed->text;
}

/* Of what its site did follows that it grows, not that it is lost. */
static void too_few_samples_are_told(void **state)
{
	struct printed printed;
	json_t *root, *leaks, *group;

	(void)state;
	print_as(&printed, "text", make_leaks(), 0);
	assert_null(strstr(printed.text, "too few samples"));
	assert_null(strstr(printed.text, "Too few samples"));
	printed_done(&printed);
	assert_non_null(strstr(print_too_few(&printed, "text"), "; on too few samples\n"));
	assert_non_null(strstr(printed.text, "\n  Too few samples to tell whether 3 sites grow "));
	printed_done(&printed);
	(void)print_too_few(&printed, "json");
	root = load(&printed);
	leaks = json_object_get(root, "leaks");
	assert_int_equal(json_integer_value(json_object_get(leaks, "too_few_samples_sites")), 3);
	for (size_t i = 0; i < 5; i++) {
		const char *verdict;

		group = json_array_get(json_object_get(leaks, "groups"), i);
		verdict = json_string_value(json_object_get(group, "verdict"));
		assert_true(json_is_true(json_object_get(group, "too_few_samples")) ==
			    (strcmp(verdict, "growing") == 0));
	}
	json_decref(root);
	printed_done(&printed);
}

static void follows_the_schema(void **state)
{
	struct printed printed;
	struct leak_report *empty = NULL;
	json_t *root, *group;
	char *text;
	int status;

	(void)state;
	print_as(&printed, "json", make_leaks(), 0);
	status = schema_validate("snapshot.schema.json", printed.text);
	if (status == 77) {
		printed_done(&printed);
		print_message("python3 or its jsonschema is missing\n");
		skip();
	}
	assert_int_equal(status, 0);
	/* The schema is strict: one key too many in a group is an error. */
	root = load(&printed);
	group = json_array_get(json_object_get(json_object_get(root, "leaks"), "groups"), 0);
	json_object_set_new(group, "surplus", json_null());
	text = json_dumps(root, JSON_COMPACT);
	assert_int_equal(schema_validate("snapshot.schema.json", text), 1);
	free(text);
	json_decref(root);
	printed_done(&printed);
	print_as(&printed, "json", make_contents(), 0);
	assert_int_equal(schema_validate("snapshot.schema.json", printed.text), 0);
	printed_done(&printed);
	assert_int_equal(leak_report_new(&empty), 0);
	print_as(&printed, "json", empty, 0);
	assert_int_equal(schema_validate("snapshot.schema.json", printed.text), 0);
	printed_done(&printed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_exactly_this),
		cmocka_unit_test(top_limits_and_reaches_the_rest),
		cmocka_unit_test(says_that_nothing_was_found_or_searched),
		cmocka_unit_test(document_has_every_figure),
		cmocka_unit_test(unknown_is_null),
		cmocka_unit_test(contents_are_private),
		cmocka_unit_test(contents_are_escaped),
		cmocka_unit_test(contents_are_in_the_document),
		cmocka_unit_test(a_recording_is_judged_without_memory),
		cmocka_unit_test(a_history_is_told),
		cmocka_unit_test(too_few_samples_are_told),
		cmocka_unit_test(follows_the_schema),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
