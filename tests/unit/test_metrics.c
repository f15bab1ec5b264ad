/* SPDX-License-Identifier: MIT */
/* test_metrics.c - what Prometheus is told, whatever processes call themselves; and who may ask. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/daemon/http_address.h"
#include "src/daemon/http_route.h"
#include "src/daemon/metrics.h"

static char *text_of(const struct metrics *metrics)
{
	size_t bytes;
	char *text;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	assert_int_equal(metrics_write(out, metrics), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static char *text_of_one(const char *name, const struct figures *figures)
{
	struct metrics_target target = { .pid = 7, .name = name, .rule = "r",
					 .figures = figures };
	struct metrics metrics = { .version = "1", .target = &target, .targets = 1, .now = 5 };

	return text_of(&metrics);
}

/* Each line is a comment or has the one value of a series of ours. */
static void assert_lines(const char *text)
{
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		assert_non_null(strchr(line, '\n'));
		assert_true(strncmp(line, "# HELP memattach_", 17) == 0 ||
			    strncmp(line, "# TYPE memattach_", 17) == 0 ||
			    strncmp(line, "memattach_", 10) == 0);
	}
}

/* No name begins a line, ends a label, or is no text. */
static void escape_names(void **state)
{
	static const struct { const char *name, *label; } hostile[] = {
		{ "a\nup 1", "name=\"a?up 1\"" },
		{ "a\"} 1", "name=\"a\\\"} 1\"" },
		{ "a\\", "name=\"a\\\\\"" },
		{ "a\xff\xc0\x80", "name=\"a\xef\xbf\xbd" },
		{ "\xc3\xa9", "name=\"\xc3\xa9\"" },
	};
	struct figures figures = { .known = true };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		_cleanup_free_ char *text = text_of_one(hostile[i].name, &figures);

		assert_non_null(strstr(text, hostile[i].label));
		assert_lines(text);
	}
}

static void write_figures(void **state)
{
	struct figures figures = { .known = true, .time = 3, .growth = 1.5, .state = {
		.live_bytes = UINT64_MAX, .alloc_count = 12, .lost_free = 4,
		.overhead_percent = 2, .analyst_cpu = -1, .partial = 1,
		.alloc_count_low = 11, .alloc_bytes_high = 13,
	} };
	_cleanup_free_ char *text = text_of_one("n", &figures);

	(void)state;
	assert_non_null(strstr(text, "target_partial{pid=\"7\",name=\"n\",rule=\"r\"} 1\n"));
	assert_non_null(strstr(text,
			       "allocations_low{pid=\"7\",name=\"n\",rule=\"r\"} 11\n"));
	assert_non_null(strstr(text,
			       "allocated_high_bytes{pid=\"7\",name=\"n\",rule=\"r\"} 13\n"));
	assert_non_null(strstr(text, "\nmemattach_target_live_bytes{pid=\"7\",name=\"n\","
			       "rule=\"r\"} 18446744073709551615\n"));
	assert_non_null(strstr(text, "# TYPE memattach_target_allocations_total counter\n"
			       "memattach_target_allocations_total{pid=\"7\",name=\"n\","
			       "rule=\"r\"} 12\n"));
	assert_non_null(strstr(text, "rule=\"r\",kind=\"free\"} 4\n"));
	assert_non_null(strstr(text, "memattach_target_overhead_ratio{pid=\"7\",name=\"n\","
			       "rule=\"r\"} 0.02\n"));
	assert_non_null(strstr(text, "age_seconds{pid=\"7\",name=\"n\",rule=\"r\"} 2\n"));
	assert_non_null(strstr(text, "memattach_build_info{version=\"1\"} 1\n"));
	assert_null(strstr(text, "memattach_target_analyst_cpu_ratio{"));	/* not known */
}

/* What a search found, and the call paths that are named, whatever they are called. */
static void write_leaks_and_sites(void **state)
{
	struct top_site top[] = {
		{ .site = { .id = 3, .live_bytes = 1ull << 53, .growth = 5 }, .named = true,
		  .function = "f(\"a\")\n", .place = "b.c:1" },
		{ .site = { .id = 4 }, .function = "nobody knows" },
		{ .site = { .id = 5, .growing = 1, .growth = 2.5 }, .named = true },
	};
	struct figures figures = { .known = true, .top = { .most = 2, .now = top, .count = 3 } };
	_cleanup_free_ char *before = text_of_one("n", &figures), *text = NULL;

	(void)state;
	assert_null(strstr(before, "memattach_target_lost_blocks{"));
	figures.search.known = true;
	figures.search.found_time = 2;
	figures.search.found.kind[SCREEN_POSSIBLY].count = 12;
	figures.search.found.kind[SCREEN_POSSIBLY].bytes = 120;
	figures.top.most = 3;
	text = text_of_one("n", &figures);
	assert_lines(text);
	assert_non_null(strstr(text, "lost_blocks{pid=\"7\",name=\"n\",rule=\"r\","
			       "kind=\"possibly\"} 12\n"));
	assert_non_null(strstr(text, "rule=\"r\",kind=\"possibly\"} 120\n"));
	assert_non_null(strstr(text, "rule=\"r\",kind=\"definitely\"} 0\n"));
	assert_non_null(strstr(text, "search_age_seconds{pid=\"7\",name=\"n\",rule=\"r\"} 3\n"));
	assert_non_null(strstr(text, "memattach_site_live_bytes{pid=\"7\",name=\"n\",rule=\"r\","
			       "site=\"3\",function=\"f(\\\"a\\\")?\",place=\"b.c:1\"} "
			       "9007199254740992\n"));
	assert_null(strstr(text, "nobody knows"));
	assert_non_null(strstr(text, "growth_bytes_per_second{pid=\"7\",name=\"n\",rule=\"r\","
			       "site=\"5\",function=\"\",place=\"\"} 2.5\n"));
	assert_non_null(strstr(text, "site=\"3\",function=\"f(\\\"a\\\")?\",place=\"b.c:1\"} 0\n"));
	assert_null(strstr(before, "site=\"5\""));		/* two are kept */
}

/* Before the first snapshot nothing is said of what nobody knows. */
static void leave_out_the_unknown(void **state)
{
	struct figures figures = { .known = false };
	_cleanup_free_ char *text = text_of_one("n", &figures);

	(void)state;
	assert_non_null(strstr(text, "memattach_target_watched_seconds{"));
	assert_null(strstr(text, "memattach_target_live_bytes{"));
	assert_null(strstr(text, "memattach_target_lost_events_total{"));
}

static void find_places(void **state)
{
	static const struct { const char *path, *pid; int error; uint32_t kind; int32_t of; }
	asked[] = {
		{ "/", NULL, 0, HTTP_INDEX, 0 },
		{ "/metrics", "5", 0, HTTP_METRICS, 0 },
		{ "/targets", NULL, 0, HTTP_TARGETS, 0 },
		{ "/debug/pprof/heap", "12", 0, HTTP_HEAP, 12 },
		{ "/targets/12/debug/pprof/allocs", "13", 0, HTTP_ALLOCS, 12 },
		{ "/targets/12/report", NULL, 0, HTTP_REPORT, 12 },
		{ "/debug/pprof/heap", NULL, -EINVAL, HTTP_HEAP, 0 },
		{ "/debug/pprof/heap", "-1", -EINVAL, HTTP_HEAP, 0 },
		{ "/debug/pprof/heap", "4294967298", -EINVAL, HTTP_HEAP, 0 },
		{ "/targets//report", "3", -EINVAL, HTTP_REPORT, 0 },
		{ "/targets/1x/report", NULL, -EINVAL, HTTP_REPORT, 0 },
		{ "/targets/12", NULL, -ENOENT, 0, 0 },
		{ "/targets/../etc/passwd", NULL, -ENOENT, 0, 0 },
		{ "/metrics/", NULL, -ENOENT, 0, 0 },
		{ "", NULL, -ENOENT, 0, 0 },
	};
	struct http_route route;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		assert_int_equal(http_route_find(asked[i].path, asked[i].pid, &route),
				 asked[i].error);
		if (asked[i].error == 0)
			assert_int_equal(route.kind, asked[i].kind);
		assert_int_equal(route.pid, asked[i].of);
	}
}

static void compare_tokens(void **state)
{
	const char *token = "0123456789abcdef";

	(void)state;
	assert_true(http_route_has_token("Bearer 0123456789abcdef", token));
	assert_true(http_route_has_token("bearer 0123456789abcdef", token));
	assert_false(http_route_has_token(NULL, token));
	assert_false(http_route_has_token("", token));
	assert_false(http_route_has_token("Bearer ", token));
	assert_false(http_route_has_token("Bearer 0123456789abcde", token));
	assert_false(http_route_has_token("Bearer 0123456789abcdef0", token));
	assert_false(http_route_has_token("Bearer 1123456789abcdef", token));
	assert_false(http_route_has_token("Basic 0123456789abcdef", token));
}

static void know_own_names(void **state)
{
	(void)state;
	assert_true(http_route_is_local("localhost"));
	assert_true(http_route_is_local("127.0.0.1:9095"));
	assert_true(http_route_is_local("[::1]:9095"));
	assert_false(http_route_is_local(NULL));
	assert_false(http_route_is_local("localhost.example.org"));
	assert_false(http_route_is_local("127.0.0.1.example.org:9095"));
	assert_false(http_route_is_local("example.org"));
}

static void read_addresses(void **state)
{
	static const struct { const char *text; int error; bool local; } given[] = {
		{ "127.0.0.1:9095", 0, true }, { "127.1.2.3:1", 0, true },
		{ "[::1]:9095", 0, true }, { "unix:/run/x", 0, true },
		{ "0.0.0.0:9095", 0, false }, { "[::]:9095", 0, false },
		{ "192.0.2.1:65535", 0, false }, { "[::ffff:127.0.0.1]:1", 0, false },
		{ "9095", -EINVAL, false }, { ":9095", -EINVAL, false },
		{ "localhost:9095", -EINVAL, false }, { "127.0.0.1:0", -EINVAL, false },
		{ "127.0.0.1:65536", -EINVAL, false }, { "127.0.0.1:+1", -EINVAL, false },
		{ "127.0.0.1:", -EINVAL, false }, { "[::1:9095", -EINVAL, false },
		{ "unix:x", -EINVAL, false }, { "", -EINVAL, false },
	};
	struct http_address address;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		assert_int_equal(http_address_parse(given[i].text, &address), given[i].error);
		if (given[i].error == 0)
			assert_int_equal(address.local, given[i].local);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escape_names),
		cmocka_unit_test(write_figures),
		cmocka_unit_test(write_leaks_and_sites),
		cmocka_unit_test(leave_out_the_unknown),
		cmocka_unit_test(find_places),
		cmocka_unit_test(compare_tokens),
		cmocka_unit_test(know_own_names),
		cmocka_unit_test(read_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
