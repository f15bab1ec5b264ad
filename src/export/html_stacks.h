/* SPDX-License-Identifier: MIT */
/*
 * html_stacks.h - stacks as nodes of one tree, so that what they have in common is written once.
 */
#ifndef MEMATTACH_EXPORT_HTML_STACKS_H
#define MEMATTACH_EXPORT_HTML_STACKS_H

#include "src/view/view_sites.h"

#define HTML_STACKS_MAX_NODES (2u << 20)	/* stacks that need more end at the node before */

/* A frame of a stack, and its caller: a parent has a lower number than its children. */
struct html_node {
	uint32_t parent;	/* 0: the root, which has no frame */
	uint32_t frame;		/* view_frame.index */
};
struct html_stacks {
	uint32_t count;
	struct html_node *node;		/* [0] is the root */
	uint32_t *of_site;		/* innermost frame's node, by index in view_sites.site */
	bool cut;			/* some stack found no room */
};

/* 0 or -ENOMEM. html_stacks_done in any case. */
int html_stacks_init(struct html_stacks *stacks, const struct view_sites *sites) _must_check_;
void html_stacks_done(struct html_stacks *stacks);

#endif
