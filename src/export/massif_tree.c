/* SPDX-License-Identifier: MIT */
/*
 * massif_tree.c - see massif_tree.h.
 *
 * One tree for all moments, since stacks do not change: only its figures are made anew for each.
 * src/view/call_tree.h has the figures of the end and could not tell where a site belongs.
 * Like Massif's, stacks begin at the function that does not merely allocate for another
 * (report/caller.h), and end at 30 frames, which also bounds the recursion here.
 */
#include "src/export/massif_tree.h"

#include <errno.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "src/export/export_text.h"

#define MAX_DEPTH	30u
#define MAX_NODES	(2u << 20)	/* stacks that need more end at the node before */
#define THRESHOLD	100u		/* what is less than 1/100 of all is not shown by itself */
#define SHOWN		(THRESHOLD + 1)	/* siblings that can be as large as that */

struct node {
	struct { const char *title, *file, *module; uint32_t parent, line; } key;
	uint32_t index, children;
	const struct view_frame *frame;	/* one of the line's; NULL: the root */
	struct node *parent, *child, *next;
	uint64_t bytes;
	UT_hash_handle hh;
};
struct massif_tree {
	const struct export_places *places;
	uint32_t count;
	struct node **node;		/* by index; parents before children */
	struct node *by_key;		/* a uthash of all but the root */
	struct node **end;		/* by index of site: where its stack ends */
};

static struct node *add_node(struct massif_tree *tree, struct node *parent)
{
	struct node *node = calloc(1, sizeof(*node)), **grown = tree->node;

	if (node && (tree->count & (tree->count - 1)) == 0)
		grown = reallocarray(tree->node, tree->count ? tree->count * 2ul : 1,
				     sizeof(struct node *));
	if (!node || !grown) {
		free(node);
		return NULL;
	}
	tree->node = grown;
	node->index = tree->count;
	tree->node[tree->count++] = node;
	node->parent = parent;
	if (parent) {
		node->next = parent->child;
		parent->child = node;
		parent->children++;
	}
	return node;
}

/* The child of parent for frame, made if new. NULL: out of memory. */
static struct node *child_for(struct massif_tree *tree, struct node *parent,
			      const struct view_frame *frame)
{
	struct node find = { .key = { frame->title, frame->file, frame->module, parent->index,
				      frame->line } }, *node;

	HASH_FIND(hh, tree->by_key, &find.key, sizeof(find.key), node);
	if (node)
		return node;
	if (tree->count >= MAX_NODES)
		return parent;
	node = add_node(tree, parent);
	if (!node)
		return NULL;
	node->key = find.key;
	node->frame = frame;
	HASH_ADD(hh, tree->by_key, key, sizeof(node->key), node);
	return node->hh.tbl ? node : NULL;
}

static int add_site(struct massif_tree *tree, const struct view_site *site, size_t index)
{
	struct node *node = tree->node[0];

	for (uint32_t i = site->caller; node && i < site->frame_count &&
	     i < site->caller + MAX_DEPTH; i++) {
		struct node *child = child_for(tree, node, site->frame[i]);

		if (child == node)
			break;
		node = child;
	}
	tree->end[index] = node;
	return node ? 0 : -ENOMEM;
}

int massif_tree_new(const struct view_sites *sites, const struct export_places *places,
		    struct massif_tree **ret)
{
	struct massif_tree *tree = calloc(1, sizeof(*tree));
	int err = -ENOMEM;

	if (!tree)
		return -ENOMEM;
	tree->places = places;
	tree->end = calloc(sites->count + 1, sizeof(*tree->end));
	if (tree->end && add_node(tree, NULL))
		err = 0;
	for (size_t i = 0; err == 0 && i < sites->count; i++)
		err = add_site(tree, &sites->site[i], i);
	if (err < 0)
		massif_tree_free(tree);
	else
		*ret = tree;
	return err;
}

void massif_tree_free(struct massif_tree *tree)
{
	if (!tree)
		return;
	HASH_CLEAR(hh, tree->by_key);
	for (uint32_t i = 0; i < tree->count; i++)
		free(tree->node[i]);
	free(tree->node);
	free(tree->end);
	free(tree);
}

static void set_bytes(struct massif_tree *tree, const struct export_levels *levels)
{
	for (uint32_t i = 0; i < tree->count; i++)
		tree->node[i]->bytes = 0;
	for (size_t i = 0; i < levels->input->sites->count; i++)
		tree->end[i]->bytes = view_sum(tree->end[i]->bytes, levels->level[i].live_bytes);
	for (uint32_t i = tree->count - 1; i > 0; i--) {
		struct node *parent = tree->node[i]->parent;

		parent->bytes = view_sum(parent->bytes, tree->node[i]->bytes);
	}
}

static int compare_nodes(const void *a, const void *b)
{
	const struct node *x = *(const struct node *const *)a, *y = *(const struct node *const *)b;

	return (y->bytes > x->bytes) - (y->bytes < x->bytes) ?:
	       (x->index > y->index) - (x->index < y->index);
}

/* The children of a node that are shown, largest first, and what the others add up to. */
struct children {
	const struct node *shown[SHOWN];
	uint32_t count, rest;
	uint64_t rest_bytes;
};

static void choose_children(const struct node *node, uint64_t least, struct children *ret)
{
	*ret = (struct children){ .count = 0 };
	for (const struct node *child = node->child; child; child = child->next) {
		if (child->bytes == 0)
			continue;
		if (child->bytes >= least && ret->count < SHOWN) {
			ret->shown[ret->count++] = child;
		} else {
			ret->rest++;
			ret->rest_bytes = view_sum(ret->rest_bytes, child->bytes);
		}
	}
	qsort(ret->shown, ret->count, sizeof(ret->shown[0]), compare_nodes);
}

/* "0x401136: main (demo.c:12)", as Massif writes it. */
static int put_frame(FILE *out, const struct massif_tree *tree, const struct view_frame *frame)
{
	bool line = frame->file && frame->line;	/* else what it lies in is worth more */
	int err;

	fprintf(out, "0x%llX: ",
		(unsigned long long)export_places_address(tree->places, frame));
	err = export_put_line(out, frame->title);
	fputs(line ? " (" : " (in ", out);
	if (err == 0)
		err = export_put_line(out, line ? view_base_name(frame->file) :
				      frame->module[0] ? frame->module : "???");
	if (line)
		fprintf(out, ":%u", frame->line);
	fputs(")\n", out);
	return err;
}

/* Recursion ends at MAX_DEPTH, where nodes have no children. */
static int put_node(FILE *out, const struct massif_tree *tree, const struct node *node,
		    uint32_t depth, uint64_t least)
{
	struct children children;
	int err = 0;

	choose_children(node, least, &children);
	fprintf(out, "%*sn%u: %llu ", (int)depth, "", children.count + (children.rest ? 1 : 0),
		(unsigned long long)node->bytes);
	if (node->frame)
		err = put_frame(out, tree, node->frame);
	else
		fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", out);
	for (uint32_t i = 0; err == 0 && i < children.count; i++)
		err = put_node(out, tree, children.shown[i], depth + 1, least);
	if (children.rest)
		fprintf(out, "%*sn0: %llu in %u place%s below massif's threshold (1.00%%)\n",
			(int)depth + 1, "", (unsigned long long)children.rest_bytes, children.rest,
			children.rest == 1 ? "," : "s, all");
	return err;
}

int massif_tree_put(FILE *out, struct massif_tree *tree, const struct export_levels *levels)
{
	uint64_t least;

	set_bytes(tree, levels);
	least = tree->node[0]->bytes / THRESHOLD;
	return put_node(out, tree, tree->node[0], 0, least ? least : 1);
}
