/* SPDX-License-Identifier: MIT */
/*
 * svg_flame.c - a flame graph as a still picture: who calls whom, the width is the figure. The
 * outermost function is at the bottom. Names and figures in full are tool tips.
 *
 * What is too narrow to be seen is left out, and so is what is deeper than a picture can be: both
 * leave the ground white above their caller.
 */
#include <errno.h>

#include "src/export/export.h"
#include "src/export/export_text.h"
#include "src/export/svg.h"
#include "src/report/human.h"
#include "src/view/call_tree.h"

#define WIDTH		1200.0
#define MARGIN		10.0
#define HEAD		44.0		/* above the flames */
#define ROW		17.0
#define NARROWEST	0.2
#define DEEPEST		250u

struct flame {
	FILE *out;
	const struct export_input *input;
	struct call_tree *tree;
	uint64_t total;
	double bottom;			/* y of the lowest row */
	uint32_t depth;			/* of the deepest node that is drawn */
	double next[DEEPEST + 2];	/* by depth: where the next node begins */
};

static void flame_done(struct flame *flame)
{
	call_tree_free(flame->tree);
}

static double width_of(const struct flame *flame, const struct call_node *node)
{
	return (double)node->total[flame->input->metric] / (double)flame->total *
	       (WIDTH - 2 * MARGIN);
}

/* Warm colours, the same for the same name in every picture. */
static uint32_t colour_of(const char *title)
{
	uint32_t hash = 2166136261u;

	for (; *title; title++)
		hash = (hash ^ (unsigned char)*title) * 16777619u;
	return (205u + hash % 50u) << 16 | (100u + (hash >> 8) % 110u) << 8 | (hash >> 16) % 55u;
}

/* "main: 1.20 MiB, 34.5 %" */
static int put_title(const struct flame *flame, const struct call_node *node)
{
	uint64_t value = node->total[flame->input->metric];
	bool bytes = view_metric_is_bytes(flame->input->metric);
	int err;

	fputs("<title>", flame->out);
	err = export_put_xml(flame->out, node->frame ? node->frame->title : "all");
	if (node->frame && node->frame->file) {
		fputs(" (", flame->out);
		if (err == 0)
			err = export_put_xml(flame->out, node->frame->file);
		fputs(")", flame->out);
	}
	fprintf(flame->out, ": %s%s, %.2f %%</title>",
		bytes ? human_bytes((double)value).text : human_exact(value).text,
		bytes ? "" : " blocks", 100.0 * (double)value / (double)flame->total);
	return err;
}

static int put_node(const struct flame *flame, const struct call_node *node, double x, double width)
{
	double y = flame->bottom - ROW * node->depth;
	const char *title = node->frame ? node->frame->title : "all";
	int err;

	fputs("<g>", flame->out);
	err = put_title(flame, node);
	fprintf(flame->out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" "
		"fill=\"#%06x\"/>", x, y, width > 0.8 ? width - 0.4 : width, ROW - 1,
		node->frame ? colour_of(title) : 0xcfcfcfu);
	if (err == 0)
		err = svg_text_fit(flame->out, x + 3, y + 12, width - 6, title);
	fputs("</g>\n", flame->out);
	return err;
}

/* Calls each for the nodes that are drawn; parents come first, siblings from left to right. */
static int walk(struct flame *flame, int (*each)(const struct flame *flame,
						 const struct call_node *node, double x,
						 double width))
{
	const struct call_node *node = call_tree_root(flame->tree);
	int err = 0;

	flame->next[0] = MARGIN;
	while (err == 0 && node) {
		double x = flame->next[node->depth], width = width_of(flame, node);
		bool down = width >= NARROWEST;

		flame->next[node->depth] += width;
		flame->next[node->depth + 1] = x;
		if (down && each)
			err = each(flame, node, x, width);
		if (down && node->depth > flame->depth)
			flame->depth = node->depth;
		node = call_node_next(node, down && node->depth < DEEPEST);
	}
	return err;
}

static int put_head(const struct flame *flame)
{
	const struct snapshot_target *target = &flame->input->content->snapshot->target;
	bool bytes = view_metric_is_bytes(flame->input->metric);
	char text[160];
	int err = svg_text_fit(flame->out, MARGIN, 18, WIDTH - 2 * MARGIN, target->cmdline);

	snprintf(text, sizeof(text), "%s: %s, process %d, by memattach%s",
		 view_metric_words(flame->input->metric),
		 bytes ? human_bytes((double)flame->total).text : human_exact(flame->total).text,
		 target->pid,
		 call_tree_is_cut(flame->tree) ? "; some stacks are cut" : "");
	return err < 0 ? err : svg_text(flame->out, MARGIN, 33, "start", text);
}

int export_flame_svg(FILE *out, const struct export_input *input)
{
	const struct call_tree_options options = { .sort = input->metric };
	_cleanup_(flame_done) struct flame flame = { .out = out, .input = input };
	int err = call_tree_new(input->sites, &options, &flame.tree);

	if (err < 0)
		return err;
	flame.total = call_tree_root(flame.tree)->total[input->metric];
	if (flame.total)
		err = walk(&flame, NULL);
	flame.bottom = HEAD + ROW * flame.depth;
	svg_begin(out, WIDTH, flame.bottom + ROW + MARGIN);
	if (err == 0)
		err = put_head(&flame);
	if (err == 0 && flame.total)
		err = walk(&flame, put_node);
	svg_end(out);
	return err;
}
