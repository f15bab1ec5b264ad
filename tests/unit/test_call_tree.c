/* SPDX-License-Identifier: MIT */
/* test_call_tree.c - sums, both directions, order, functions that call themselves, bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/view/call_tree.h"
#include "tests/unit/sample_views.h"

static struct views_sample sample;
static struct view_sites *sites;
static struct call_tree *tree;

static int begin(void **state)
{
	(void)state;
	views_begin(&sample);
	return 0;
}

static int end(void **state)
{
	(void)state;
	call_tree_free(tree);
	view_sites_free(sites);
	views_end(&sample);
	tree = NULL;
	sites = NULL;
	return 0;
}

static const struct call_node *plant(struct call_tree_options options)
{
	struct report_input input = views_input(&sample);

	assert_int_equal(view_sites_new(&input, NULL, &sites), 0);
	assert_int_equal(call_tree_new(sites, &options, &tree), 0);
	return call_tree_root(tree);
}

static const struct call_node *child(const struct call_node *node, const char *title)
{
	for (node = node->child; node; node = node->next)
		if (strcmp(node->frame->title, title) == 0)
			return node;
	return NULL;
}

static void draw(const struct call_node *root, enum view_metric metric, char *to)
{
	for (const struct call_node *node = call_node_next(root, true); node;
	     node = call_node_next(node, true))
		to += sprintf(to, "%*s%s %llu %llu\n", (int)node->depth - 1, "",
			      node->frame->title, (unsigned long long)node->total[metric],
			      (unsigned long long)node->self[metric]);
}

static void grows_from_main(void **state)
{
	const struct call_node *root = plant((struct call_tree_options){ 0 });
	char text[2000];

	(void)state;
	draw(root, VIEW_LIVE_BYTES, text);
	assert_string_equal(text,
			    "main 31592 0\n"
			    " serve(int) 20000 0\n"
			    "  vec<int>::grow(int) 20000 20000\n"
			    " libwalk.so.1+0x5f 8192 8192\n"
			    " walk(int) 3200 0\n"
			    "  walk(int) 3200 0\n"
			    "   walk(int) 3200 3200\n"
			    " parse(char const*) 200 200\n"
			    "unknown 0 0\n");
	assert_int_equal(root->sites, 6);
	assert_int_equal(child(root, "main")->sites, 5);
	assert_false(child(root, "main")->one_line);
	assert_true(child(child(root, "main"), "walk(int)")->one_line);
	assert_int_equal(call_tree_node_count(tree), 10);
	assert_false(call_tree_is_cut(tree));
}

static void grows_from_the_innermost(void **state)
{
	const struct call_node *root = plant((struct call_tree_options){
		.reverse = true, .sort = VIEW_ALLOC_COUNT });
	char text[2000];

	(void)state;
	draw(root, VIEW_ALLOC_COUNT, text);
	assert_string_equal(text,
			    "walk(int) 104 0\n"
			    " walk(int) 100 0\n"
			    "  walk(int) 100 0\n"
			    "   main 100 100\n"
			    " main 4 4\n"
			    "vec<int>::grow(int) 30 0\n"
			    " serve(int) 30 0\n"
			    "  main 30 30\n"
			    "parse(char const*) 7 0\n"
			    " main 7 7\n"
			    "libwalk.so.1+0x5f 2 0\n"
			    " main 2 2\n"
			    "unknown 1 1\n");
}

static void tells_lines_apart(void **state)
{
	const struct call_node *root = plant((struct call_tree_options){
		.by = CALL_TREE_BY_LINE, .sort = VIEW_LIVE_BYTES });

	(void)state;
	assert_int_equal(root->child->frame->line, 11);
	assert_int_equal(root->child->total[VIEW_LIVE_BYTES], 23200);
	assert_int_equal(root->child->next->frame->line, 10);
	assert_int_equal(root->child->next->total[VIEW_LIVE_BYTES], 8392);
}

/* In every tree: total = self + the children's totals, and the root is all sites. */
static void assert_sums(const struct call_node *root)
{
	for (int m = 0; m < VIEW_METRIC_COUNT; m++)
		assert_true(root->total[m] == sites->sum[m]);
	for (const struct call_node *node = root; node; node = call_node_next(node, true)) {
		for (int m = 0; m < VIEW_METRIC_COUNT; m++) {
			uint64_t sum = node->self[m];

			for (const struct call_node *c = node->child; c; c = c->next)
				sum += c->total[m];
			assert_true(node->total[m] == sum);
		}
		assert_true(!node->parent || node->parent->id < node->id);
	}
}

static void adds_up(void **state)
{
	(void)state;
	for (int how = 0; how < 4; how++) {
		assert_sums(plant((struct call_tree_options){
			.reverse = how & 1,
			.by = how & 2 ? CALL_TREE_BY_LINE : CALL_TREE_BY_FUNCTION }));
		call_tree_free(tree);
		view_sites_free(sites);
	}
	tree = NULL;
	sites = NULL;
}

static void walks_past_what_is_left_out(void **state)
{
	const struct call_node *root = plant((struct call_tree_options){ 0 }), *node;
	size_t seen = 0;

	(void)state;
	for (node = call_node_next(root, true); node;
	     node = call_node_next(node, node->depth < 2))
		seen++;
	assert_int_equal(seen, 6);	/* main, its four children, unknown */
	assert_null(call_node_next(root, false));
}

/* A stack as deep as a recording can have it, and all its inner ends: trees stay bounded. */
static void bounds_deep_stacks(void **state)
{
	static struct snapshot_site site[STACKS_MAX_FRAMES];
	struct frame frame[STACKS_MAX_FRAMES];
	uint32_t stack;
	const struct call_node *root;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(frame); i++)
		frame[i] = (struct frame){ .module = 1, .offset = 0x10 * (1 + i % 7) };
	sample_must(stacks_intern(sample.stacks, frame, ARRAY_SIZE(frame), 0, &stack));
	for (uint32_t i = 0; i < ARRAY_SIZE(site); i++) {
		site[i] = views_site(i + 1, stack, 8, 1, 0);
		site[i].skip_frames = (uint16_t)i;
	}
	sample.snapshot.site = site;
	sample.snapshot.site_count = ARRAY_SIZE(site);
	root = plant((struct call_tree_options){ .reverse = true });
	assert_true(call_tree_node_count(tree) <= CALL_TREE_MAX_NODES);
	assert_sums(root);
	assert_int_equal(root->total[VIEW_LIVE_COUNT], STACKS_MAX_FRAMES);
}

static void an_empty_snapshot_is_a_root(void **state)
{
	const struct call_node *root;

	(void)state;
	sample.snapshot.site_count = 0;
	root = plant((struct call_tree_options){ 0 });
	assert_null(root->child);
	assert_int_equal(root->total[VIEW_LIVE_BYTES], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(grows_from_main, begin, end),
		cmocka_unit_test_setup_teardown(grows_from_the_innermost, begin, end),
		cmocka_unit_test_setup_teardown(tells_lines_apart, begin, end),
		cmocka_unit_test_setup_teardown(adds_up, begin, end),
		cmocka_unit_test_setup_teardown(walks_past_what_is_left_out, begin, end),
		cmocka_unit_test_setup_teardown(bounds_deep_stacks, begin, end),
		cmocka_unit_test_setup_teardown(an_empty_snapshot_is_a_root, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
