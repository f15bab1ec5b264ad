/* SPDX-License-Identifier: MIT */
/*
 * call_tree.h - the sites' stacks put together into one tree, with their figures.
 *
 * From the outermost function (main) down, or reversed: from the function that allocates (no
 * operator new, strdup's kind: view_site_caller()) up to its callers. Each site counts once along
 * one path, so that the totals of the children and the figures that end at a node add up to its
 * total, also where functions call themselves.
 */
#ifndef MEMATTACH_VIEW_CALL_TREE_H
#define MEMATTACH_VIEW_CALL_TREE_H

#include "src/view/view_sites.h"

#define CALL_TREE_MAX_NODES (2u << 20)	/* stacks that need more end at the node before */

struct call_node {
	uint32_t id;			/* 0: the root; parents before children */
	uint32_t depth;			/* 0: the root */
	uint32_t sites;			/* stacks that pass here or end here */
	bool one_line;			/* all of them in the line of frame, below */
	const struct view_frame *frame;	/* of one of them; NULL: the root, which is everything */
	struct call_node *parent, *child, *next;	/* NULL: none; next: a sibling */
	uint64_t self[VIEW_METRIC_COUNT];	/* of stacks that end here */
	uint64_t total[VIEW_METRIC_COUNT];	/* of those and of all below */
};

enum call_tree_by {
	CALL_TREE_BY_FUNCTION = 0,	/* a node is a function: its title, file and module */
	CALL_TREE_BY_LINE,		/* and its line */
};
struct call_tree_options {
	bool reverse;
	enum call_tree_by by;
	enum view_metric sort;		/* children by their total of it, descending */
};

struct call_tree;
/* sites: borrowed for the life of the tree. 0 or -ENOMEM. */
int call_tree_new(const struct view_sites *sites, const struct call_tree_options *options,
		  struct call_tree **ret) _must_check_;
/* NULL is ignored. */
void call_tree_free(struct call_tree *tree);
const struct call_node *call_tree_root(const struct call_tree *tree);
uint32_t call_tree_node_count(const struct call_tree *tree);
/* Did some stack find no room (CALL_TREE_MAX_NODES)? Its figures are where it ends. */
bool call_tree_is_cut(const struct call_tree *tree);
/*
 * The node behind node in the order parent, first child, ..., for walks of any depth: from the
 * root on until NULL. down false: what is below node is left out.
 */
const struct call_node *call_node_next(const struct call_node *node, bool down);

#endif
