/* SPDX-License-Identifier: MIT */
/*
 * tree.c - see tree.h.
 *
 * What is too small to be shown, or too deep, is joined into one line below its parent, so that
 * each level of what is printed adds up to the one above. The document is a flat list of nodes,
 * parents first: nested ones would be as deep as the recording says, deeper than many readers of
 * JSON go.
 */
#include "src/view/tree.h"

#include <errno.h>
#include <string.h>

#include "src/report/printable.h"
#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/call_tree.h"
#include "src/view/view_put.h"

#define TEXT_THRESHOLD	1.0	/* percent */
#define MAX_INDENT	30u	/* levels */

struct planted {
	struct view_sites *sites;
	struct call_tree *tree;
	enum view_metric metric;
	uint64_t least;		/* a node that is shown has as much */
	uint32_t depth;		/* and is no deeper */
};

static void planted_done(struct planted *p)
{
	call_tree_free(p->tree);
	view_sites_free(p->sites);
}

static int plant(const struct view_input *input, enum view_metric metric, double threshold,
		 struct planted *ret)
{
	const struct view_options *options = &input->options;
	struct planted p = { .metric = metric };
	struct call_tree_options how = { .reverse = options->reverse, .sort = metric };
	int err = view_take(input, false, &p.sites);

	if (err == 0)
		err = call_tree_new(p.sites, &how, &p.tree);
	if (err < 0) {
		planted_done(&p);
		return err;
	}
	if (options->threshold_given)
		threshold = options->threshold;
	p.least = (uint64_t)((double)p.sites->sum[metric] / 100 * threshold);
	p.least = p.least ? p.least : 1;
	p.depth = options->depth ? options->depth : UINT32_MAX;
	*ret = p;
	return 0;
}

static bool is_shown(const struct planted *p, const struct call_node *node)
{
	return node->depth <= p->depth && node->total[p->metric] >= p->least;
}

/* --- tree ------------------------------------------------------------------------ */

static void put_place(FILE *out, const struct call_node *node)
{
	struct view_frame frame = *node->frame;

	if (!node->one_line)
		frame.line = frame.column = 0;
	if (!frame.function && !frame.file)
		return;
	fputs("  ", out);
	view_put_location(out, &frame);
}

static void put_columns(FILE *out, const struct planted *p, uint64_t total, uint64_t self,
			uint64_t calls)
{
	uint64_t all = p->sites->sum[p->metric];

	fputc(' ', out);
	view_put_share(out, total, all);
	fprintf(out, " %11s", view_human(p->metric, total).text);
	fprintf(out, " %11s", self ? view_human(p->metric, self).text : "");
	fprintf(out, " %10s  ", human_count((double)calls).text);
}

static void put_indent(FILE *out, uint32_t depth)
{
	if (depth > MAX_INDENT)
		fprintf(out, "%*s[%u] ", (int)MAX_INDENT, "", depth);
	else
		fprintf(out, "%*s", (int)depth - 1, "");
}

static void put_node(FILE *out, const struct view_input *input, const struct planted *p,
		     const struct call_node *node)
{
	const struct style *style = style_for(&input->report.options);

	put_columns(out, p, node->total[p->metric], node->self[p->metric],
		    node->total[VIEW_ALLOC_COUNT]);
	put_indent(out, node->depth);
	fputs(style->name, out);
	text_put_name(out, node->frame->title);
	fprintf(out, "%s%s", style->plain, style->dim);
	put_place(out, node);
	fprintf(out, "%s\n", style->plain);
}

/* What of node's children is not shown, if anything, in one line. */
static void put_rest(FILE *out, const struct view_input *input, const struct planted *p,
		     const struct call_node *node)
{
	const struct style *style = style_for(&input->report.options);
	uint64_t total = 0, calls = 0, count = 0;

	for (const struct call_node *child = node->child; child; child = child->next) {
		if (is_shown(p, child))
			continue;
		total = view_sum(total, child->total[p->metric]);
		calls = view_sum(calls, child->total[VIEW_ALLOC_COUNT]);
		count += child->total[p->metric] > 0;
	}
	if (total == 0)
		return;
	put_columns(out, p, total, 0, calls);
	put_indent(out, node->depth + 1);
	fprintf(out, "%s(%s more)%s\n", style->dim, human_exact(count).text, style->plain);
}

/* Children come by size, so those that are not shown are the last: their line ends the list. */
static void put_nodes(FILE *out, const struct view_input *input, const struct planted *p)
{
	const struct call_node *root = call_tree_root(p->tree), *node = root;

	while (node) {
		const struct call_node *next;
		bool down = node->child && is_shown(p, node->child);

		if (node != root)
			put_node(out, input, p, node);
		if (!down)
			put_rest(out, input, p, node);
		next = down ? node->child : NULL;
		while (!next && node && node != root) {
			if (node->next && is_shown(p, node->next)) {
				next = node->next;
				break;
			}
			node = node->parent;
			put_rest(out, input, p, node);
		}
		node = next;
	}
}

int tree_text(FILE *out, const struct view_input *input)
{
	enum view_metric metric = view_metric_or(input, VIEW_LIVE_BYTES);
	struct planted p;
	int err = plant(input, metric, TEXT_THRESHOLD, &p);

	if (err < 0)
		return err;
	text_put_head(out, &input->report);
	view_put_title(out, input, "Call tree %s by %s: %s from %zu sites",
		       input->options.reverse ? "from the innermost function" :
						"from the outermost function",
		       view_metric_words(metric), view_human(metric, p.sites->sum[metric]).text,
		       p.sites->count);
	if (call_tree_is_cut(p.tree))
		fputs("  Too many different stacks: some end at the caller that still had room.\n",
		      out);
	fprintf(out, "%9s %11s %11s %10s\n", "total", "", "itself", "calls");
	view_put_nothing(out, input, p.sites, metric);
	put_nodes(out, input, &p);
	planted_done(&p);
	return 0;
}

static void json_node(struct emit *emit, const struct view_input *input,
		      const struct call_node *node)
{
	emit_begin(emit, NULL, '{');
	emit_uint(emit, "id", node->id);
	emit_uint_if(emit, "parent", node->parent ? node->parent->id : 0, node->parent);
	emit_uint(emit, "depth", node->depth);
	emit_uint(emit, "sites", node->sites);
	if (node->frame) {
		struct view_frame frame = *node->frame;

		if (!node->one_line)
			frame.line = frame.column = 0;
		view_json_frame(emit, "frame", &frame);
	} else {
		emit_null(emit, "frame");
	}
	view_json_metrics(emit, input, "total", node->total);
	view_json_metrics(emit, input, "self", node->self);
	emit_end(emit, '}');
}

int tree_json(struct emit *emit, const struct view_input *input)
{
	enum view_metric metric = view_metric_or(input, VIEW_LIVE_BYTES);
	struct planted p;
	int err = plant(input, metric, 0, &p);
	bool all = !input->options.threshold_given;

	if (err < 0)
		return err;
	emit_text(emit, "metric", view_metric_name(metric));
	emit_bool(emit, "reverse", input->options.reverse);
	emit_bool(emit, "cut", call_tree_is_cut(p.tree));
	emit_begin(emit, "nodes", '[');
	for (const struct call_node *node = call_tree_root(p.tree); node;) {
		bool shown = !node->parent || (all && node->depth <= p.depth) || is_shown(&p, node);

		if (shown)
			json_node(emit, input, node);
		node = call_node_next(node, shown && node->depth < p.depth);
	}
	emit_end(emit, ']');
	planted_done(&p);
	return 0;
}

/* --- flame ----------------------------------------------------------------------- */

static enum view_metric flame_metric(const struct view_input *input)
{
	return view_metric_or(input, input->options.use_size ? VIEW_ALLOC_BYTES :
							       VIEW_ALLOC_COUNT);
}

/* What ends at node; below the last level that is wanted, what ends there or deeper. */
static uint64_t path_value(const struct planted *p, const struct call_node *node)
{
	return node->depth == p->depth ? node->total[p->metric] : node->self[p->metric];
}

/* From the root's child to node, in path; their number. */
static uint32_t path_to(const struct call_node *node, const struct call_node **path)
{
	uint32_t count = node->depth;

	for (uint32_t i = count; i-- > 0; node = node->parent)
		path[i] = node;
	return count;
}

/* In folded text a ; ends a frame, and the last space begins the value. */
static void put_folded(FILE *out, const char *title)
{
	_cleanup_free_ char *text = NULL;

	if (printable_is_plain(title) && !strchr(title, ';')) {
		fputs(title, out);
		return;
	}
	text = printable_copy(title, PRINTABLE_TERMINAL);
	for (char *c = text; c && *c; c++)
		if (*c == ';')
			*c = ':';
	fputs(text ? text : "?", out);
}

/* Calls put for each path that something ends at. */
static int each_path(const struct planted *p, void *to,
		     void (*put)(void *to, const struct call_node *const *path, uint32_t count,
				 uint64_t value))
{
	_cleanup_free_ const struct call_node **path = calloc(VIEW_MAX_FRAMES + 1, sizeof(*path));
	const struct call_node *node = call_tree_root(p->tree);

	if (!path)
		return -ENOMEM;
	while ((node = call_node_next(node, node->depth < p->depth)))
		if (path_value(p, node) > 0)
			put(to, path, path_to(node, path), path_value(p, node));
	return 0;
}

static void put_path(void *to, const struct call_node *const *path, uint32_t count, uint64_t value)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0)
			fputc(';', to);
		put_folded(to, path[i]->frame->title);
	}
	fprintf(to, " %llu\n", (unsigned long long)value);
}

static void json_path(void *to, const struct call_node *const *path, uint32_t count,
		      uint64_t value)
{
	struct emit *emit = to;

	emit_begin(emit, NULL, '{');
	emit_begin(emit, "frames", '[');
	for (uint32_t i = 0; i < count; i++)
		emit_text(emit, NULL, path[i]->frame->title);
	emit_end(emit, ']');
	emit_uint(emit, "value", value);
	emit_end(emit, '}');
}

/* Readers of folded stacks pass over a line that does not end in a number. */
static void put_no_path(FILE *out, const struct view_input *input, const struct planted *p)
{
	_cleanup_free_ char *text = view_metric_nothing(input->report.snapshot, p->sites->sum,
							p->metric);

	fprintf(out, "# nothing: %s\n", text ? text : "");
}

int flame_text(FILE *out, const struct view_input *input)
{
	struct planted p;
	int err = plant(input, flame_metric(input), 0, &p);

	if (err < 0)
		return err;
	if (!p.sites->sum[p.metric])
		put_no_path(out, input, &p);
	err = each_path(&p, out, put_path);
	planted_done(&p);
	return err;
}

int flame_json(struct emit *emit, const struct view_input *input)
{
	enum view_metric metric = flame_metric(input);
	struct planted p;
	int err = plant(input, metric, 0, &p);

	if (err < 0)
		return err;
	emit_text(emit, "metric", view_metric_name(metric));
	emit_uint(emit, "value", p.sites->sum[metric]);
	emit_begin(emit, "stacks", '[');
	err = each_path(&p, emit, json_path);
	emit_end(emit, ']');
	planted_done(&p);
	return err;
}
