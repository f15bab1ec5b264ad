/* SPDX-License-Identifier: MIT */
/*
 * html_stacks.c - see html_stacks.h.
 *
 * Not view/call_tree.h: that one joins frames of a function, and a page has to show each with its
 * line. The tree of functions is made from this one by the page.
 */
#include "src/export/html_stacks.h"

#include <errno.h>

#include "src/base/hashmap.h"

struct growing {
	struct html_stacks *stacks;
	struct hashmap child;	/* parent, frame -> node */
	size_t room;
};

static int make_room(struct growing *growing)
{
	size_t room = growing->room ? growing->room * 2 : 1024;
	struct html_node *grown;

	if (growing->stacks->count < growing->room)
		return 0;
	grown = reallocarray(growing->stacks->node, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	growing->stacks->node = grown;
	growing->room = room;
	return 0;
}

/* *at becomes its child for frame. 1: there is no room for one; 0 or -ENOMEM. */
static int step_down(struct growing *growing, uint32_t frame, uint32_t *at)
{
	struct html_stacks *stacks = growing->stacks;
	uint64_t key = (uint64_t)*at << 32 | frame, known;

	if (hashmap_get(&growing->child, key, &known)) {
		*at = (uint32_t)known;
		return 0;
	}
	if (stacks->count == HTML_STACKS_MAX_NODES) {
		stacks->cut = true;
		return 1;
	}
	if (make_room(growing) < 0 || hashmap_put(&growing->child, key, stacks->count) < 0)
		return -ENOMEM;
	stacks->node[stacks->count] = (struct html_node){ .parent = *at, .frame = frame };
	*at = stacks->count++;
	return 0;
}

static int add_stack(struct growing *growing, const struct view_site *site, uint32_t *ret)
{
	uint32_t at = 0;
	int err = 0;

	for (uint32_t i = site->frame_count; err == 0 && i > 0; i--)
		err = step_down(growing, site->frame[i - 1]->index, &at);
	*ret = at;
	return err < 0 ? err : 0;
}

int html_stacks_init(struct html_stacks *stacks, const struct view_sites *sites)
{
	struct growing growing = { .stacks = stacks };
	int err;

	*stacks = (struct html_stacks){
		.of_site = calloc(sites->count + 1, sizeof(*stacks->of_site)),
	};
	err = stacks->of_site ? make_room(&growing) : -ENOMEM;
	if (err == 0)
		stacks->node[stacks->count++] = (struct html_node){ 0 };
	for (size_t i = 0; err == 0 && i < sites->count; i++)
		err = add_stack(&growing, &sites->site[i], &stacks->of_site[i]);
	hashmap_done(&growing.child);
	return err;
}

void html_stacks_done(struct html_stacks *stacks)
{
	free(stacks->node);
	free(stacks->of_site);
	*stacks = (struct html_stacks){ 0 };
}
