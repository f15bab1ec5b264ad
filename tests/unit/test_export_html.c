/* SPDX-License-Identifier: MIT */
/* test_export_html.c - what can't leave its element, stacks as a tree, writers that fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "src/export/html_escape.h"
#include "src/export/html_image.h"
#include "src/export/html_stacks.h"
#include "tests/unit/sample_views.h"

/* What escaped writes of these pieces, one write each. */
static void assert_escaped(const char *const *piece, const char *wanted)
{
	char *text = NULL;
	size_t length;
	FILE *under = open_memstream(&text, &length), *escaped = NULL;

	assert_non_null(under);
	assert_int_equal(html_escape_open(under, &escaped), 0);
	setvbuf(escaped, NULL, _IONBF, 0);
	for (; *piece; piece++)
		assert_true(fputs(*piece, escaped) >= 0);
	assert_int_equal(fclose(escaped), 0);
	assert_int_equal(fclose(under), 0);
	assert_string_equal(text, wanted);
	free(text);
}

static void nothing_ends_the_element(void **state)
{
	(void)state;
	assert_escaped((const char *[]){ "[\"</script><!--\"]", NULL },
		       "[\"\\u003c/script\\u003e\\u003c!--\"]");
	assert_escaped((const char *[]){ "<", "/scr", "ipt", ">", "&&", NULL },
		       "\\u003c/script\\u003e\\u0026\\u0026");
	assert_escaped((const char *[]){ "[1,\"\xc3\xa9\"]", "", NULL }, "[1,\"\xc3\xa9\"]");
	assert_escaped((const char *[]){ NULL }, "");
}

static void a_full_disk_is_said(void **state)
{
	FILE *full = fopen("/dev/full", "w"), *escaped = NULL;

	(void)state;
	if (!full)
		skip();
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(html_escape_open(full, &escaped), 0);
	fputs("<x>", escaped);
	assert_int_not_equal(fclose(escaped), 0);
	fclose(full);
}

/* Titles from a node outwards, with a ; between them. */
static void assert_path(const struct html_stacks *stacks, const struct view_sites *sites,
			uint32_t node, const char *wanted)
{
	char text[512] = "";

	for (; node; node = stacks->node[node].parent) {
		assert_true(stacks->node[node].parent < node);
		strcat(text, *text ? ";" : "");
		strcat(text, sites->frame[stacks->node[node].frame]->title);
	}
	assert_string_equal(text, wanted);
}

static void stacks_share_their_callers(void **state)
{
	struct views_sample sample;
	struct report_input input;
	struct view_sites *sites = NULL;
	struct html_stacks stacks;

	(void)state;
	views_begin(&sample);
	input = views_input(&sample);
	assert_int_equal(view_sites_new(&input, NULL, &sites), 0);
	assert_int_equal(html_stacks_init(&stacks, sites), 0);
	assert_path(&stacks, sites, stacks.of_site[0], "vec<int>::grow(int);serve(int);main");
	assert_path(&stacks, sites, stacks.of_site[2], "walk(int);walk(int);walk(int);main");
	assert_path(&stacks, sites, stacks.of_site[5], "unknown");
	assert_false(stacks.cut);
	for (uint32_t a = 1; a < stacks.count; a++) {
		for (uint32_t b = a + 1; b < stacks.count; b++)
			assert_false(stacks.node[a].parent == stacks.node[b].parent &&
				     stacks.node[a].frame == stacks.node[b].frame);
	}
	html_stacks_done(&stacks);
	view_sites_free(sites);
	views_end(&sample);
}

/* As many stacks as there is room for in a page: the others end where they still fit. */
static void too_many_stacks_are_cut(void **state)
{
	static struct view_frame frame[2048];
	static const struct view_frame *path[2][1025];
	static struct view_site site[2051];
	struct view_sites sites = { .count = 2050, .site = site };
	struct html_stacks stacks;

	(void)state;
	/* Each stack has an outermost frame of its own, so that none shares anything. */
	for (uint32_t i = 0; i < ARRAY_SIZE(frame); i++)
		frame[i].index = i;
	for (uint32_t i = 0; i < 1024; i++) {
		path[0][i] = &frame[i];
		path[1][i] = &frame[1024 + i];
	}
	for (uint32_t i = 0; i < sites.count; i++) {
		const struct view_frame **own = calloc(1025, sizeof(*own));
		struct view_frame *outermost = calloc(1, sizeof(*outermost));

		assert_non_null(own);
		assert_non_null(outermost);
		memcpy(own, path[i % 2], 1024 * sizeof(*own));
		outermost->index = 5000 + i;
		own[1024] = outermost;
		site[i] = (struct view_site){ .frame_count = 1025, .frame = own };
	}
	site[sites.count] = site[0];	/* known already: whole */
	sites.count++;
	assert_int_equal(html_stacks_init(&stacks, &sites), 0);
	assert_int_equal(stacks.of_site[--sites.count], stacks.of_site[0]);
	assert_true(stacks.of_site[0] > 1000);
	assert_true(stacks.cut);
	assert_int_equal(stacks.count, HTML_STACKS_MAX_NODES);
	for (uint32_t i = 0; i < sites.count; i++) {
		assert_true(stacks.of_site[i] < stacks.count);
		free((void *)(uintptr_t)site[i].frame[1024]);
		free((void *)(uintptr_t)site[i].frame);
	}
	html_stacks_done(&stacks);
}

static void the_page_is_there(void **state)
{
	size_t length = (size_t)(html_image_end - html_image_start);

	(void)state;
	assert_true(length > 10000);
	assert_int_equal(strncmp(html_image_start, "<!DOCTYPE html>", 15), 0);
	assert_null(memchr(html_image_start, '\0', length));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_ends_the_element),
		cmocka_unit_test(a_full_disk_is_said),
		cmocka_unit_test(stacks_share_their_callers),
		cmocka_unit_test(too_many_stacks_are_cut),
		cmocka_unit_test(the_page_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
