/* SPDX-License-Identifier: MIT */
/*
 * test_report_diff.c - two documents compared: matching by stack and by type, what counts as a
 * change, when lost memory grew, and documents that lie, end early or attack the terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>

#include "src/report/diff_write.h"
#include "src/report/json_walk.h"
#include "tests/unit/schema_validator.h"

#define HEAD \
	"{\"schema\":\"memattach-snapshot-1\",\"target\":{\"pid\":%d,\"exe\":\"/bin/demo\"," \
	"\"start_time\":1000.5,\"more\":[{}]},\"session\":{\"begin_time\":%d,\"duration\":600}," \
	"\"totals\":{\"live_count\":3,\"live_bytes\":%d},\"sites\":[%s],"
#define SEARCHED \
	"\"leaks\":{\"covers_older_blocks\":true,\"definitely_lost\":{\"count\":1,\"bytes\":1}," \
	"\"indirectly_lost\":{\"count\":0,\"bytes\":0}," \
	"\"possibly_lost\":{\"count\":0,\"bytes\":0}," \
	"\"still_reachable\":{\"count\":9,\"bytes\":900},\"groups\":[%s]}}\n"
/* Ids are other ones in every session: id, live bytes, low, high, function, line. */
#define SITE \
	"{\"id\":%d,\"kind\":\"malloc\",\"live_count\":1,\"live_bytes\":%d,\"live_bytes_low\":%d," \
	"\"live_bytes_high\":%d,\"frames\":[{\"function\":\"%s\",\"file\":\"a.c\",\"line\":%d," \
	"\"column\":null,\"module\":\"/bin/demo\",\"offset\":%d,\"inlined\":false}," \
	"{\"function\":null,\"file\":null,\"line\":null,\"module\":\"/lib/x\"," \
	"\"offset\":18446744073709551615,\"inlined\":false}]}"
/* verdict, bytes, indirect bytes, type, site */
#define GROUP \
	"{\"verdict\":\"%s\",\"count\":1,\"bytes\":%d,\"indirect_count\":1,\"indirect_bytes\":%d," \
	"\"size\":%d,\"type\":%s,\"variable\":null,\"held_by\":null,\"addresses\":[\"0x10\"]," \
	"\"site\":%s}"

struct pair {
	struct diff *diff;
	char problem[DIFF_PROBLEM_BYTES];
};

static void pair_init(struct pair *pair)
{
	memset(pair, 0, sizeof(*pair));
	assert_int_equal(diff_new(&pair->diff), 0);
}

/* Reads bytes as one side. */
static int read_bytes(struct pair *pair, enum diff_side side, const char *text, size_t bytes)
{
	char path[] = "/tmp/memattach-diff.XXXXXX";
	int fd = mkstemp(path), error;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, bytes), bytes);
	close(fd);
	error = diff_read(pair->diff, side, path, pair->problem);
	unlink(path);
	return error;
}

/* A document; groups NULL: memory was not searched. */
static char *document(int pid, int begin, const char *sites, const char *groups)
{
	_cleanup_free_ char *leaks = NULL;
	char *text = NULL;

	if (groups)
		assert_true(asprintf(&leaks, SEARCHED, groups) > 0);
	assert_true(asprintf(&text, HEAD "%s", pid, begin, begin, sites,
			     leaks ? leaks : "\"leaks\":null}\n") > 0);
	return text;
}

/* The same, drawn: an interval, and no count of temporary blocks, which every event would give. */
static void read_drawn(struct pair *pair, enum diff_side side, int interval, const char *sites)
{
	_cleanup_free_ char *text = NULL;

	assert_true(asprintf(&text, "{\"schema\":\"memattach-snapshot-1\",\"target\":"
			     "{\"pid\":77,\"exe\":\"/bin/demo\",\"start_time\":1000.5},\"session\":"
			     "{\"begin_time\":%d,\"duration\":600,\"sample_interval_bytes\":%d},"
			     "\"totals\":{\"live_count\":3,\"live_bytes\":9000,"
			     "\"live_bytes_low\":%d,\"live_bytes_high\":99000,"
			     "\"temporary_count\":null},\"sites\":[%s],\"leaks\":null}",
			     side == DIFF_OLD ? 2000 : 9200, interval,
			     side == DIFF_OLD ? 8000 : 9000, sites) > 0);
	if (read_bytes(pair, side, text, strlen(text)) != 0)
		fail_msg("%s\n%s", pair->problem, text);
}

static void read_side(struct pair *pair, enum diff_side side, int pid, const char *sites,
		      const char *groups)
{
	_cleanup_free_ char *text = document(pid, side == DIFF_OLD ? 2000 : 9200, sites, groups);

	if (read_bytes(pair, side, text, strlen(text)) != 0)
		fail_msg("%s\n%s", pair->problem, text);
}

/* One process, two hours apart. */
static void compare(struct pair *pair, const char *old_sites, const char *old_groups,
		    const char *new_sites, const char *new_groups)
{
	pair_init(pair);
	read_side(pair, DIFF_OLD, 77, old_sites, old_groups);
	read_side(pair, DIFF_NEW, 77, new_sites, new_groups);
	assert_int_equal(diff_compare(pair->diff), 0);
}

static char *site(int id, int bytes, int margin, const char *function, int line)
{
	char *text = NULL;

	/* The offset is another one in a rebuilt program. */
	assert_true(asprintf(&text, SITE, id, bytes, bytes - margin, bytes + margin, function, line,
			     id * 16) > 0);
	return text;
}

static char *group(const char *verdict, int bytes, int indirect, const char *type, int size,
		   const char *site_id)
{
	char *text = NULL;

	assert_true(asprintf(&text, GROUP, verdict, bytes, indirect, size, type, site_id) > 0);
	return text;
}

/* first,second; both are freed. */
static char *both(char *first, char *second)
{
	char *text = NULL;

	assert_true(asprintf(&text, "%s,%s", first, second) > 0);
	free(first);
	free(second);
	return text;
}

static const struct diff_entry *only(const struct pair *pair, enum diff_part part)
{
	assert_int_equal(pair->diff->part[part].count, 1);
	return pair->diff->part[part].entry[0];
}

static void matches_groups_by_stack(void **state)
{
	_cleanup_free_ char *old_site = site(1, 100, 0, "lose", 10);
	_cleanup_free_ char *new_site = both(site(5, 7, 0, "keep", 1), site(9, 100, 0, "lose", 10));
	_cleanup_free_ char *old = group("definitely-lost", 100, 1000, "null", 50, "1");
	_cleanup_free_ char *new = group("definitely-lost", 300, 3000, "\"T\"", 0, "9");
	const struct diff_entry *entry;
	struct pair pair;

	(void)state;
	compare(&pair, old_site, old, new_site, new);
	entry = only(&pair, DIFF_LEAKS);
	assert_int_equal(entry->change, DIFF_GREW);
	assert_int_equal(entry->growth, 2200);
	assert_int_equal(entry->frame_count, 2);
	assert_string_equal(entry->type, "T");
	assert_string_equal(entry->frame[0].function, "lose");
	assert_true(entry->frame[1].offset == UINT64_MAX);
	assert_true(pair.diff->same_process);
	assert_true(pair.diff->lost_grew);
	assert_true(fabs(diff_rate(pair.diff, entry->growth) - 1100) < 1e-6);
	entry = only(&pair, DIFF_SITES);
	assert_int_equal(entry->change, DIFF_ADDED);
	assert_string_equal(entry->frame[0].function, "keep");
	diff_free(pair.diff);
}

static void matches_older_groups_by_type_else_size(void **state)
{
	_cleanup_free_ char *old = both(group("definitely-lost", 100, 0, "\"T\"", 50, "null"),
					group("definitely-lost", 64, 0, "null", 64, "null"));
	_cleanup_free_ char *new = both(group("definitely-lost", 150, 0, "\"T\"", 0, "null"),
					group("definitely-lost", 128, 0, "null", 128, "null"));
	const struct diff_list *list;
	struct pair pair;

	(void)state;
	compare(&pair, "", old, "", new);
	list = &pair.diff->part[DIFF_LEAKS];
	assert_int_equal(list->count, 3);
	assert_int_equal(list->entry[0]->change, DIFF_ADDED);	/* of 128 bytes */
	assert_int_equal(list->entry[0]->growth, 128);
	assert_int_equal(list->entry[1]->change, DIFF_GREW);	/* of T */
	assert_int_equal(list->entry[1]->growth, 50);
	assert_int_equal(list->entry[2]->change, DIFF_GONE);	/* of 64 bytes */
	assert_int_equal(list->entry[2]->growth, -64);
	diff_free(pair.diff);
}

static void another_line_or_verdict_is_another_leak(void **state)
{
	_cleanup_free_ char *sites = both(site(1, 100, 0, "lose", 10), site(2, 100, 0, "lose", 11));
	_cleanup_free_ char *old = both(group("possibly-lost", 10, 0, "null", 0, "1"),
					group("old", 20, 0, "null", 0, "2"));
	_cleanup_free_ char *new = both(group("definitely-lost", 10, 0, "null", 0, "1"),
					group("growing", 30, 0, "null", 0, "2"));
	const struct diff_list *list;
	struct pair pair;

	(void)state;
	compare(&pair, sites, old, sites, new);
	list = &pair.diff->part[DIFF_LEAKS];
	assert_int_equal(list->count, 3);
	/* What is reachable stays one, whatever else is said of it. */
	assert_int_equal(list->entry[0]->growth, 10);
	assert_int_equal(list->entry[1]->growth, 10);
	assert_int_equal(list->entry[2]->change, DIFF_GONE);
	assert_true(pair.diff->lost_grew);
	assert_int_equal(pair.diff->part[DIFF_SITES].count, 0);
	diff_free(pair.diff);
}

static void estimates_change_beyond_their_intervals(void **state)
{
	_cleanup_free_ char *old = both(site(1, 1000, 200, "a", 1), site(2, 1000, 200, "b", 1));
	_cleanup_free_ char *new = both(site(1, 1300, 200, "a", 1), site(2, 500, 200, "b", 1));
	const struct diff_entry *entry;
	struct pair pair;

	(void)state;
	compare(&pair, old, NULL, new, NULL);
	entry = only(&pair, DIFF_SITES);
	assert_int_equal(entry->change, DIFF_SHRANK);
	assert_int_equal(entry->growth, -500);
	assert_false(pair.diff->leaks_compared);
	assert_false(pair.diff->lost_grew);
	diff_free(pair.diff);
}

static char *written(const struct pair *pair, bool json, uint32_t top)
{
	struct report_options options = { .top = top };
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	assert_int_equal((json ? diff_write_json : diff_write_text)(out, pair->diff, &options), 0);
	fclose(out);
	return text;
}

/* Offsets may be larger than jansson's integers. */
static json_t *load(const char *text)
{
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);

	assert_non_null(root);
	return root;
}

/* Valid, and not with one key too many. */
static void assert_follows_the_schema(const char *text)
{
	_cleanup_free_ char *surplus = NULL;
	json_t *root = load(text);
	int status = schema_validate("diff.schema.json", text);

	json_object_set_new(root, "surplus", json_null());
	surplus = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	if (status == 77) {
		print_message("python3 or its jsonschema is missing\n");
		return;
	}
	assert_int_equal(status, 0);
	assert_int_equal(schema_validate("diff.schema.json", surplus), 1);
}

/* The member gets more keys, in place of its closing brace. */
static char *with(char *member, const char *more)
{
	char *text = NULL;

	assert_true(asprintf(&text, "%.*s,%s}", (int)strlen(member) - 1, member, more) > 0);
	free(member);
	return text;
}

static void differences_within_the_intervals_are_counted(void **state)
{
	_cleanup_free_ char *old = both(site(1, 1000, 200, "a", 1), site(2, 1000, 200, "b", 1));
	_cleanup_free_ char *new = both(site(1, 1300, 200, "a", 1), site(2, 1000, 300, "b", 1));
	_cleanup_free_ char *text = NULL, *json = NULL;
	struct pair pair;
	json_t *root;

	(void)state;
	compare(&pair, old, NULL, new, NULL);
	assert_int_equal(pair.diff->part[DIFF_SITES].count, 0);
	assert_int_equal(pair.diff->sites_within, 1);
	text = written(&pair, false, 0);
	assert_non_null(strstr(text, "\nWithin the 95 % intervals, so not listed: 1 site that "
			       "differs ("));
	json = written(&pair, true, 0);
	assert_follows_the_schema(json);
	root = load(json);
	assert_int_equal(json_number_value(json_object_get(root, "sites_within_intervals")), 1);
	json_decref(root);
	diff_free(pair.diff);
}

/* 3.69 intervals of 1000 bytes may live where no sample was drawn; none where all was recorded. */
static void what_was_not_drawn_may_have_been_there(void **state)
{
	_cleanup_free_ char *few = site(1, 5000, 2000, "a", 1), *many = site(2, 9000, 2000, "b", 1);
	_cleanup_free_ char *text = NULL;
	const struct diff_list *list;
	_cleanup_free_ char *new = NULL;
	struct pair pair;

	(void)state;
	assert_true(asprintf(&new, "%s,%s", few, many) > 0);
	pair_init(&pair);
	read_drawn(&pair, DIFF_OLD, 1000, "");
	read_drawn(&pair, DIFF_NEW, 1000, new);
	assert_int_equal(diff_compare(pair.diff), 0);
	list = &pair.diff->part[DIFF_SITES];
	assert_int_equal(list->count, 2);
	assert_int_equal(list->entry[0]->growth, 9000);
	assert_false(list->entry[0]->within);
	assert_true(list->entry[1]->within);
	assert_false(diff_sum_within(pair.diff, 0));	/* they are the same */
	text = written(&pair, false, 0);
	assert_non_null(strstr(text, "  4.88 KiB in 1 block; within the 95 % intervals\n"));
	assert_non_null(strstr(text, "  8.79 KiB in 1 block\n"));
	diff_free(pair.diff);
	compare(&pair, "", NULL, few, NULL);
	assert_false(only(&pair, DIFF_SITES)->within);
	diff_free(pair.diff);
}

static void totals_have_intervals_too(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct pair pair;

	(void)state;
	pair_init(&pair);
	read_side(&pair, DIFF_OLD, 77, "", NULL);	/* 2000 bytes, exactly */
	read_drawn(&pair, DIFF_NEW, 1000, "");
	assert_int_equal(diff_compare(pair.diff), 0);
	assert_false(diff_sum_within(pair.diff, 0));
	pair.diff->document[DIFF_OLD].sum[0].high = 9000;
	assert_true(diff_sum_within(pair.diff, 0));
	text = written(&pair, false, 0);
	assert_non_null(strstr(text, "+3.42 KiB/h; within the 95 % intervals\n"));
	diff_free(pair.diff);
}

static void too_few_samples_are_marked(void **state)
{
	_cleanup_free_ char *few = with(site(1, 3000, 0, "a", 1),
					"\"verdict\":\"too-few-samples\"");
	_cleanup_free_ char *sure = with(site(1, 100, 0, "a", 1), "\"verdict\":\"growing\"");
	_cleanup_free_ char *old = group("growing", 100, 0, "null", 50, "1");
	_cleanup_free_ char *new = with(group("growing", 300, 0, "null", 50, "1"),
					"\"too_few_samples\":true");
	_cleanup_free_ char *text = NULL, *json = NULL, *back = NULL;
	struct pair pair;

	(void)state;
	compare(&pair, sure, old, few, new);
	assert_true(only(&pair, DIFF_LEAKS)->too_few);
	assert_true(only(&pair, DIFF_SITES)->too_few);
	text = written(&pair, false, 0);
	assert_non_null(strstr(text, "; on too few samples\n"));
	assert_non_null(strstr(text, " -> 2.93 KiB in 1 block; too few samples\n"));
	json = written(&pair, true, 0);
	assert_follows_the_schema(json);
	diff_free(pair.diff);
	/* The verdict is the newer one; a site's growth rests on both. */
	compare(&pair, few, new, sure, old);
	assert_false(only(&pair, DIFF_LEAKS)->too_few);
	assert_true(only(&pair, DIFF_SITES)->too_few);
	back = written(&pair, false, 0);
	assert_null(strstr(back, "on too few samples"));
	diff_free(pair.diff);
}

/* What a session saw being allocated is from before the attach to the next one. */
static void lost_blocks_that_age_are_not_new(void **state)
{
	_cleanup_free_ char *sites = site(1, 100, 0, "lose", 10);
	_cleanup_free_ char *old = group("definitely-lost", 100, 0, "null", 50, "1");
	_cleanup_free_ char *new = group("definitely-lost", 100, 0, "\"T\"", 50, "null");
	_cleanup_free_ char *more = group("definitely-lost", 101, 0, "\"T\"", 50, "null");
	struct pair pair;

	(void)state;
	compare(&pair, sites, old, "", new);
	assert_int_equal(pair.diff->part[DIFF_LEAKS].count, 2);
	assert_false(pair.diff->lost_grew);
	diff_free(pair.diff);
	compare(&pair, sites, old, "", more);
	assert_true(pair.diff->lost_grew);
	diff_free(pair.diff);
	/* Not so in another process: nothing of the old one is left there. */
	pair_init(&pair);
	read_side(&pair, DIFF_OLD, 77, sites, old);
	read_side(&pair, DIFF_NEW, 78, "", new);
	assert_int_equal(diff_compare(pair.diff), 0);
	assert_false(pair.diff->same_process);
	assert_true(isnan(pair.diff->hours));
	assert_true(pair.diff->lost_grew);
	diff_free(pair.diff);
}

static const char wanted_text[] =
	"memattach diff: process 77, /bin/demo\n"
	"  apart     2 h 0 min\n"
	"\n"
	"                            old          new         growth\n"
	"  live                 1.95 KiB     8.98 KiB      +7.03 KiB  +3.52 KiB/h\n"
	"  definitely lost           1 B          1 B            0 B  0 B/h\n"
	"  indirectly lost           0 B          0 B            0 B  0 B/h\n"
	"  possibly lost             0 B          0 B            0 B  0 B/h\n"
	"  still reachable         900 B        900 B            0 B  0 B/h\n"
	"\n"
	"Leaks that are new: 1 of 1\n"
	"\n"
	"+300 B (+150 B/h)  definitely lost: 200 B in 1 block (+ 100 B indirectly in 1) of type "
	"`?[2J`\n"
	"      lose?[2J                                      a.c:10\n"
	"      x+0xffffffffffffffff\n"
	"\n"
	"Leaks that are gone: 1 of 1\n"
	"\n"
	"-100 B (-50 B/h)  possibly lost: 100 B in 1 block (+ 0 B indirectly in 1)\n"
	"      allocated before the attach\n"
	"\n"
	"Sites that grew: 1 of 1\n"
	"\n"
	"+2.93 KiB (+1.46 KiB/h)  2.93 KiB in 1 block -> 5.86 KiB in 1 block\n"
	"      lose?[2J                                      a.c:10\n"
	"      x+0xffffffffffffffff\n"
	"\n"
	"SUMMARY definitely lost memory grew\n";

static void prints_exactly_this(void **state)
{
	_cleanup_free_ char *old_site = site(1, 3000, 0, "lose\\u001b[2J", 10);
	_cleanup_free_ char *new_site = site(2, 6000, 0, "lose\\u001b[2J", 10);
	_cleanup_free_ char *old = group("possibly-lost", 100, 0, "null", 50, "null");
	_cleanup_free_ char *new = group("definitely-lost", 200, 100, "\"\\u001b[2J\"", 0, "2");
	_cleanup_free_ char *text = NULL;
	struct pair pair;

	(void)state;
	compare(&pair, old_site, old, new_site, new);
	text = written(&pair, false, 0);
	assert_string_equal(text, wanted_text);
	diff_free(pair.diff);
}

static void document_follows_the_schema(void **state)
{
	_cleanup_free_ char *sites = both(site(1, 3000, 0, "a", 10), site(2, 10, 0, "b", 3));
	_cleanup_free_ char *new = both(group("definitely-lost", 200, 100, "\"T\"", 0, "2"),
					group("stuck", 1, 0, "null", 8, "null"));
	_cleanup_free_ char *text = NULL, *plain = NULL;
	struct pair pair;
	json_t *root;

	(void)state;
	compare(&pair, "", "", sites, new);
	text = written(&pair, true, 0);
	assert_follows_the_schema(text);
	root = load(text);
	assert_true(json_is_true(json_object_get(root, "definitely_lost_grew")));
	assert_int_equal(json_array_size(json_object_get(root, "leaks")), 2);
	assert_int_equal(json_array_size(json_object_get(root, "sites")), 2);
	json_decref(root);
	free(text);
	text = written(&pair, true, 1);
	root = load(text);
	assert_int_equal(json_array_size(json_object_get(root, "sites")), 1);
	json_decref(root);
	diff_free(pair.diff);
	compare(&pair, sites, NULL, "", new);
	plain = written(&pair, true, 0);
	assert_follows_the_schema(plain);
	diff_free(pair.diff);
}

static void assert_refused(const char *text, const char *reason)
{
	struct pair pair;

	pair_init(&pair);
	assert_int_equal(read_bytes(&pair, DIFF_OLD, text, strlen(text)), -EBADMSG);
	if (!strstr(pair.problem, reason))
		fail_msg("%s does not say: %s", pair.problem, reason);
	assert_non_null(strstr(pair.problem, "/tmp/memattach-diff."));
	assert_null(strchr(pair.problem, '\033'));
	diff_free(pair.diff);
}

static void refuses_what_is_no_document(void **state)
{
	_cleanup_free_ char *good = document(1, 2, "", "");
	_cleanup_free_ char *two = NULL;

	(void)state;
	assert_true(asprintf(&two, "%s%s", good, good) > 0);
	assert_refused(two, "one a file");
	assert_refused("", "byte 0: no JSON object");
	assert_refused("[]", "byte 0: no JSON object");
	assert_refused("{\"schema\":\"memattach-diff-1\"}", "byte 10: no memattach-snapshot-1");
	assert_refused("{\"schema\":\"memattach-snapshot-1\"}", "is missing");
	assert_refused("{\"schema\" \"memattach-snapshot-1\"}", "byte 10: no JSON");
	assert_refused("{\"schema\":1,\"schema\":1}", "second time");
	assert_refused("{\"a\":[}]}", "byte 6: no JSON");
}

static void refuses_members_that_lie(void **state)
{
	static const struct {
		const char *site, *reason;
	} bad[] = {
		{ "7", "\"frames\" is missing" },
		{ "{\"id\":1,\"frames\":{}}", "\"frames\" is missing" },
		{ "{\"id\":1,\"frames\":[7]}", "no object" },
		{ "{\"id\":-1,\"kind\":\"malloc\",\"frames\":[]}", "is missing or not what" },
		{ "{\"id\":1,\"kind\":\"malloc\",\"frames\":[],\"live_count\":1e300}", "live_" },
		{ "{\"id\":1,\"frames\":[{\"line\":4294967296}]}", "\"line\"" },
		{ "{\"id\":1,\"frames\":[{\"function\":[]}]}", "\"function\"" },
		{ "{\"id\":1,\"frames\":[nul]}", "invalid token" },
		{ "{\"id\":\033}", "no JSON" },
		{ "{\"id\":1e999}", "real number overflow" },
		{ "{\"id\":\"\\u0000\"}", "byte " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_free_ char *text = document(1, 2, bad[i].site, "");

		assert_refused(text, bad[i].reason);
	}
}

/* Every beginning of a document: an error, never a crash or a success. */
static void refuses_every_beginning(void **state)
{
	_cleanup_free_ char *sites = site(1, 3000, 0, "a\\\"", 10);
	_cleanup_free_ char *groups = group("definitely-lost", 1, 0, "null", 0, "1");
	_cleanup_free_ char *text = document(1, 2, sites, groups);
	size_t bytes = strlen(text) - 1;	/* the line's end is no part of it */
	struct pair pair;

	(void)state;
	for (size_t i = 0; i < bytes; i++) {
		pair_init(&pair);
		assert_int_equal(read_bytes(&pair, DIFF_NEW, text, i), -EBADMSG);
		diff_free(pair.diff);
	}
	pair_init(&pair);
	assert_int_equal(read_bytes(&pair, DIFF_NEW, text, bytes), 0);
	diff_free(pair.diff);
}

static void refuses_depth_and_names_files(void **state)
{
	char deep[4096];
	struct pair pair;

	(void)state;
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	memcpy(deep, "{\"a\":", 5);
	assert_refused(deep, "byte 65: no JSON");
	pair_init(&pair);
	assert_int_equal(diff_read(pair.diff, DIFF_OLD, "/nonexistent", pair.problem), -ENOENT);
	assert_string_equal(pair.problem,
			    "/nonexistent: No such file or directory; check the name");
	assert_int_equal(diff_read(pair.diff, DIFF_OLD, "/", pair.problem), -EISDIR);
	diff_free(pair.diff);
}

static void assert_members(const char *text, const char *wanted, int last)
{
	struct json_piece key = { "", 0 }, value;
	struct json_walk walk;
	char found[200] = "";
	int more = json_walk_begin(&walk, (struct json_piece){ text, strlen(text) }, *text);

	assert_int_equal(more, 0);
	while ((more = json_walk_next(&walk, &key, &value)) > 0)
		snprintf(found + strlen(found), sizeof(found) - strlen(found), "%.*s=%.*s;",
			 (int)key.bytes, key.text, (int)value.bytes, value.text);
	assert_int_equal(more, last);
	assert_string_equal(found, wanted);
}

static void walks_members(void **state)
{
	(void)state;
	assert_members("{}", "", 0);
	assert_members("[ ]", "", 0);
	assert_members("{ \"a\" : [1, {\"]\": \"}\\\"\"}] , \"b\":-1.5e3\n}",
		       "a=[1, {\"]\": \"}\\\"\"}];b=-1.5e3;", 0);
	assert_members("[true,null]", "=true;=null;", 0);
	assert_members("[1 2]", "=1;", -EBADMSG);
	assert_members("[1", "=1;", -EBADMSG);
	assert_members("[,]", "", -EBADMSG);
	assert_members("{\"a\"}", "", -EBADMSG);
	assert_members("{\"a\\", "", -EBADMSG);
	assert_members("[{]}", "", -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_groups_by_stack),
		cmocka_unit_test(matches_older_groups_by_type_else_size),
		cmocka_unit_test(another_line_or_verdict_is_another_leak),
		cmocka_unit_test(estimates_change_beyond_their_intervals),
		cmocka_unit_test(differences_within_the_intervals_are_counted),
		cmocka_unit_test(what_was_not_drawn_may_have_been_there),
		cmocka_unit_test(totals_have_intervals_too),
		cmocka_unit_test(too_few_samples_are_marked),
		cmocka_unit_test(lost_blocks_that_age_are_not_new),
		cmocka_unit_test(prints_exactly_this),
		cmocka_unit_test(document_follows_the_schema),
		cmocka_unit_test(refuses_what_is_no_document),
		cmocka_unit_test(refuses_members_that_lie),
		cmocka_unit_test(refuses_every_beginning),
		cmocka_unit_test(refuses_depth_and_names_files),
		cmocka_unit_test(walks_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
