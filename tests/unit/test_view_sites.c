/* SPDX-License-Identifier: MIT */
/* test_view_sites.c - sites with their frames, what a filter leaves, hostile recordings' stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/report/name_shape.h"
#include "src/view/view_sites.h"
#include "tests/unit/sample_views.h"

static struct views_sample sample;

static int begin(void **state)
{
	(void)state;
	views_begin(&sample);
	return 0;
}

static int end(void **state)
{
	(void)state;
	views_end(&sample);
	return 0;
}

static struct view_sites *take(const struct view_filter *filter)
{
	struct report_input input = views_input(&sample);
	struct view_sites *sites = NULL;

	assert_int_equal(view_sites_new(&input, filter, &sites), 0);
	return sites;
}

/* Titles, innermost first, with a ; between them. */
static void assert_stack(const struct view_site *site, const char *wanted)
{
	char text[512] = "";

	for (uint32_t i = 0; i < site->frame_count; i++) {
		strcat(text, i ? ";" : "");
		strcat(text, site->frame[i]->title);
	}
	assert_string_equal(text, wanted);
}

static void names_every_frame(void **state)
{
	struct view_sites *sites = take(NULL);
	const struct view_frame *frame;

	(void)state;
	assert_int_equal(sites->count, 6);
	assert_stack(&sites->site[0], "vec<int>::grow(int);serve(int);main");
	assert_stack(&sites->site[1], "libwalk.so.1+0x5f;main");
	assert_stack(&sites->site[2], "walk(int);walk(int);walk(int);main");
	assert_stack(&sites->site[5], "unknown");
	frame = sites->site[0].frame[0];
	assert_true(frame->inlined);
	assert_string_equal(frame->file, "vec.h");
	assert_int_equal(frame->line, 5);
	assert_int_equal(frame->column, 7);
	assert_string_equal(frame->module, "/usr/bin/demo");
	assert_string_equal(frame->build_id, "ab12");
	assert_int_equal(frame->offset, 0x2f);
	assert_false(sites->site[0].frame[1]->inlined);
	assert_null(sites->site[1].frame[0]->function);
	assert_null(sites->site[5].frame[0]->function);
	assert_false(sites->site[0].cut);
	view_sites_free(sites);
}

static void equal_things_are_one(void **state)
{
	struct view_sites *sites = take(NULL);
	const struct view_site *site = sites->site;

	(void)state;
	assert_ptr_equal(site[1].frame[1], site[3].frame[1]);	/* main:10 */
	assert_ptr_not_equal(site[0].frame[2], site[1].frame[1]);	/* main:11, main:10 */
	assert_ptr_equal(site[0].frame[2]->title, site[1].frame[1]->title);
	for (uint32_t i = 0; i < sites->frame_count; i++)
		assert_int_equal(sites->frame[i]->index, i);
	view_sites_free(sites);
}

static void sums_are_those_of_its_sites(void **state)
{
	struct view_sites *sites = take(NULL);
	uint64_t live = 0, calls = 0;

	(void)state;
	for (size_t i = 0; i < sites->count; i++) {
		live += sites->site[i].figures->live_bytes;
		calls += sites->site[i].figures->alloc_count;
	}
	assert_int_equal(sites->sum[VIEW_LIVE_BYTES], live);
	assert_int_equal(sites->sum[VIEW_ALLOC_COUNT], calls);
	assert_int_equal(sites->sum[VIEW_TEMPORARY], 44);
	view_sites_free(sites);
}

static void assert_left(const struct view_filter *filter, const char *ids)
{
	struct view_sites *sites = take(filter);
	char text[64] = "";

	for (size_t i = 0; i < sites->count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u",
			 sites->site[i].figures->id);
	assert_string_equal(text, ids);
	view_sites_free(sites);
}

static void filters(void **state)
{
	(void)state;
	assert_left(&(struct view_filter){ .site = 4 }, "4");
	assert_left(&(struct view_filter){ .site = 99 }, "");
	assert_left(&(struct view_filter){ .kind = VIEW_KIND_MMAP }, "2");
	assert_left(&(struct view_filter){ .kind = VIEW_KIND_MALLOC }, "13456");
	assert_left(&(struct view_filter){ .module = "libwalk" }, "235");
	assert_left(&(struct view_filter){ .module = "libwalk.so" }, "235");
	assert_left(&(struct view_filter){ .module = "libwalk.so.1" }, "235");
	assert_left(&(struct view_filter){ .module = "/lib/libwalk.so.1" }, "235");
	assert_left(&(struct view_filter){ .module = "libw" }, "");
	assert_left(&(struct view_filter){ .module = "demo" }, "12345");
	assert_left(&(struct view_filter){ .size_low = 50, .size_high = 64 }, "34");
	assert_left(&(struct view_filter){ .size_low = 64, .size_high = 64 }, "3");
	assert_left(&(struct view_filter){ .size_low = 65, .size_high = 999 }, "");
	/* Sizes from 20 to 70: 64 may be among them. */
	sample.site[3].size_low = 20;
	sample.site[3].size_high = 70;
	assert_left(&(struct view_filter){ .size_low = 64, .size_high = 64 }, "34");
	sample.snapshot.site_peaks = false;
	assert_left(&(struct view_filter){ .size_low = 64, .size_high = 64 }, "3");
	assert_left(&(struct view_filter){ .module = "demo", .kind = VIEW_KIND_MMAP }, "2");
}

static struct view_sites *take_shaped(const struct name_shape *shape)
{
	struct report_input input = views_input(&sample);
	struct name_shaper *shaper;
	struct view_sites *sites;

	assert_int_equal(report_names_shape(&input.names, shape, &shaper), 0);
	assert_non_null(shaper);
	assert_int_equal(view_sites_new(&input, NULL, &sites), 0);
	name_shaper_free(shaper);	/* names are for the call */
	return sites;
}

static void shortens_stacks_and_names(void **state)
{
	struct view_sites *sites;

	(void)state;
	sites = take_shaped(&(struct name_shape){ .no_inlined = true });
	assert_stack(&sites->site[0], "serve(int);main");
	view_sites_free(sites);
	sites = take(&(struct view_filter){ .depth = 2 });
	assert_stack(&sites->site[2], "walk(int);walk(int)");
	assert_true(sites->site[2].cut);
	assert_stack(&sites->site[3], "parse(char const*);main");
	assert_false(sites->site[3].cut);
	view_sites_free(sites);
	sites = take_shaped(&(struct name_shape){ .function_only = true,
						  .shorten_templates = true });
	assert_stack(&sites->site[0], "vec<>::grow;serve;main");
	assert_string_equal(sites->site[0].frame[0]->function, "vec<>::grow");
	view_sites_free(sites);
}

/* Everything but the innermost is the allocator's own, or more than there is. */
static void skips_no_more_than_there_is(void **state)
{
	struct view_sites *sites;

	(void)state;
	sample.site[0].skip_frames = 2;
	sample.site[2].skip_frames = 4;
	sample.site[3].skip_frames = 500;
	sites = take(NULL);
	assert_stack(&sites->site[0], "main");
	assert_stack(&sites->site[2], "unknown");
	assert_stack(&sites->site[3], "unknown");
	view_sites_free(sites);
}

static const struct symbol_frame *a_thousand(void *context, const struct frame *frame,
					     size_t *ret_count)
{
	static struct symbol_frame symbol[1000];

	(void)context;
	(void)frame;
	for (size_t i = 0; i < ARRAY_SIZE(symbol); i++)
		symbol[i] = (struct symbol_frame){ .function = "f", .line = (uint32_t)i,
						   .inlined = true, .module = "", .build_id = "" };
	*ret_count = ARRAY_SIZE(symbol);
	return symbol;
}

static void bounds_what_one_stack_takes(void **state)
{
	struct report_input input = views_input(&sample);
	struct view_sites *sites = NULL;
	struct frame frame[STACKS_MAX_FRAMES];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(frame); i++)
		frame[i] = (struct frame){ .module = 1, .offset = i % 3 };
	sample_must(stacks_intern(sample.stacks, frame, ARRAY_SIZE(frame), 0,
				  &sample.site[0].stack));
	sample.site[0].skip_frames = 0;
	input.names.frame = a_thousand;
	assert_int_equal(view_sites_new(&input, NULL, &sites), 0);
	assert_int_equal(sites->site[0].frame_count, VIEW_MAX_FRAMES);
	assert_true(sites->site[0].cut);
	/* What is nearest to the function that is really there is kept. */
	assert_int_equal(sites->site[0].frame[0]->line, 1000 - SYMBOLIZER_MAX_FRAMES);
	view_sites_free(sites);
}

static void hostile_sums_do_not_wrap(void **state)
{
	struct view_sites *sites;

	(void)state;
	sample.site[1].live_bytes = UINT64_MAX;
	sites = take(NULL);
	assert_true(sites->sum[VIEW_LIVE_BYTES] == UINT64_MAX);
	view_sites_free(sites);
}

static void metrics_have_names(void **state)
{
	enum view_metric found;

	(void)state;
	for (int m = 0; m < VIEW_METRIC_COUNT; m++) {
		assert_true(view_metric_find(view_metric_name((enum view_metric)m), &found));
		assert_int_equal(found, m);
	}
	assert_false(view_metric_find("", &found));
	assert_true(view_metric_is_bytes(VIEW_PEAK_BYTES));
	assert_false(view_metric_is_bytes(VIEW_ALLOC_COUNT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_every_frame, begin, end),
		cmocka_unit_test_setup_teardown(equal_things_are_one, begin, end),
		cmocka_unit_test_setup_teardown(sums_are_those_of_its_sites, begin, end),
		cmocka_unit_test_setup_teardown(filters, begin, end),
		cmocka_unit_test_setup_teardown(shortens_stacks_and_names, begin, end),
		cmocka_unit_test_setup_teardown(skips_no_more_than_there_is, begin, end),
		cmocka_unit_test_setup_teardown(bounds_what_one_stack_takes, begin, end),
		cmocka_unit_test_setup_teardown(hostile_sums_do_not_wrap, begin, end),
		cmocka_unit_test(metrics_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
