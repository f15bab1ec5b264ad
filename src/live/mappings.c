/* SPDX-License-Identifier: MIT */
/*
 * mappings.c - disjoint pieces of address space in a treap.
 *
 * A treap makes the one operation that matters short: split at both ends of a
 * range, cut the two pieces that straddle them, join the rest. A sorted array
 * was rejected (a target may have 65,530 mappings, or forge more, and each
 * insertion would move them all), a red-black tree for its length. Priorities
 * come from a generator that the target can't observe, so it can't unbalance the tree.
 *
 * Nodes and origins are named by index, so that their arrays can grow. Both are
 * reserved before anything is changed: an operation that runs out of memory did nothing.
 */
#include "src/live/mappings.h"

#include <errno.h>

#define NONE		0u	/* index 0 of nodes is never used */
#define FIRST_CAPACITY	64u

struct node {
	uint64_t low, high;
	uint32_t origin;
	uint32_t priority;
	uint32_t left, right;	/* in the free list: left is the next */
};

struct mappings {
	uint32_t root;
	struct node *node;
	uint32_t node_count, node_capacity, node_free, node_free_count;
	struct mapping_origin *origin;
	uint32_t origin_count, origin_capacity, origin_free;	/* origin_free: index + 1 */
	uint64_t random;
};

int mappings_new(struct mappings **ret)
{
	struct mappings *mappings = calloc(1, sizeof(*mappings));

	if (!mappings)
		return -ENOMEM;
	mappings->node_count = 1;
	mappings->random = (uint64_t)(uintptr_t)mappings * 0x9e3779b97f4a7c15u | 1u;
	*ret = mappings;
	return 0;
}

void mappings_free(struct mappings *mappings)
{
	if (!mappings)
		return;
	free(mappings->node);
	free(mappings->origin);
	free(mappings);
}

static uint32_t random_priority(struct mappings *mappings)
{
	mappings->random ^= mappings->random << 13;
	mappings->random ^= mappings->random >> 7;
	mappings->random ^= mappings->random << 17;
	return (uint32_t)(mappings->random >> 32);
}

/* After this, two nodes can be taken without failing. */
static int nodes_reserve(struct mappings *mappings)
{
	uint32_t capacity = mappings->node_capacity ? mappings->node_capacity * 2u : FIRST_CAPACITY;
	struct node *node;

	if (mappings->node_free_count + mappings->node_capacity >= mappings->node_count + 2u)
		return 0;
	if (capacity < mappings->node_capacity)
		return -ENOMEM;
	node = reallocarray(mappings->node, capacity, sizeof(*node));
	if (!node)
		return -ENOMEM;
	mappings->node = node;
	mappings->node_capacity = capacity;
	return 0;
}

/* pre: nodes_reserve */
static uint32_t node_take(struct mappings *mappings, uint64_t low, uint64_t high, uint32_t origin)
{
	uint32_t at = mappings->node_free;

	if (at) {
		mappings->node_free = mappings->node[at].left;
		mappings->node_free_count--;
	} else {
		at = mappings->node_count++;
	}
	mappings->node[at] = (struct node){ .low = low, .high = high, .origin = origin,
					    .priority = random_priority(mappings) };
	return at;
}

static void node_release(struct mappings *mappings, uint32_t at)
{
	mappings->node[at].left = mappings->node_free;
	mappings->node_free = at;
	mappings->node_free_count++;
}

bool mappings_find(const struct mappings *mappings, uint64_t address,
		   struct mapping_piece *ret_piece)
{
	uint32_t at = mappings->root;

	while (at != NONE) {
		const struct node *node = &mappings->node[at];

		if (address >= node->low && address < node->high) {
			*ret_piece = (struct mapping_piece){ node->low, node->high, node->origin };
			return true;
		}
		at = address < node->low ? node->left : node->right;
	}
	return false;
}

/* Divides tree into nodes that begin below key and the others. */
static void tree_split(struct mappings *mappings, uint32_t tree, uint64_t key, uint32_t *ret_below,
		       uint32_t *ret_above)
{
	struct node *node = &mappings->node[tree];

	if (tree == NONE) {
		*ret_below = *ret_above = NONE;
	} else if (node->low < key) {
		tree_split(mappings, node->right, key, &node->right, ret_above);
		*ret_below = tree;
	} else {
		tree_split(mappings, node->left, key, ret_below, &node->left);
		*ret_above = tree;
	}
}

/* pre: everything in below lies below everything in above */
static uint32_t tree_join(struct mappings *mappings, uint32_t below, uint32_t above)
{
	struct node *low = &mappings->node[below], *high = &mappings->node[above];

	if (below == NONE || above == NONE)
		return below | above;
	if (low->priority > high->priority) {
		low->right = tree_join(mappings, low->right, above);
		return below;
	}
	high->left = tree_join(mappings, below, high->left);
	return above;
}

/* Cuts the last piece of tree at address if it reaches beyond; its rest goes before above. */
static uint32_t tree_trim(struct mappings *mappings, uint32_t tree, uint64_t address,
			  uint32_t above)
{
	struct node *last;
	uint32_t rest;

	if (tree == NONE)
		return above;
	while (mappings->node[tree].right != NONE)
		tree = mappings->node[tree].right;
	last = &mappings->node[tree];
	if (last->high <= address)
		return above;
	rest = node_take(mappings, address, last->high, last->origin);
	last->high = address;
	return tree_join(mappings, rest, above);
}

static void origin_forget(struct mappings *mappings, uint32_t origin)
{
	struct mapping_origin *at = &mappings->origin[origin];

	if (at->bytes > 0 || at->holds > 0)
		return;
	at->site = mappings->origin_free;
	mappings->origin_free = origin + 1u;
}

struct cutting {
	struct mappings *mappings;
	void (*each)(void *context, const struct mapping_piece *piece);
	void *context;
};

/* Hands over and releases all of tree, in order. */
static void tree_end(const struct cutting *cutting, uint32_t tree)
{
	struct mappings *mappings = cutting->mappings;
	struct node node;
	struct mapping_piece piece;

	if (tree == NONE)
		return;
	node = mappings->node[tree];
	tree_end(cutting, node.left);
	piece = (struct mapping_piece){ node.low, node.high, node.origin };
	mappings->origin[node.origin].bytes -= node.high - node.low;
	mappings_hold(mappings, node.origin);
	cutting->each(cutting->context, &piece);
	mappings_drop(mappings, node.origin);
	node_release(mappings, tree);
	tree_end(cutting, node.right);
}

int mappings_cut(struct mappings *mappings, uint64_t low, uint64_t high,
		 void (*each)(void *context, const struct mapping_piece *piece), void *context)
{
	const struct cutting cutting = { mappings, each, context };
	uint32_t below, within, above;

	if (low >= high)
		return 0;
	if (nodes_reserve(mappings) < 0)
		return -ENOMEM;
	tree_split(mappings, mappings->root, low, &below, &within);
	within = tree_trim(mappings, below, low, within);
	tree_split(mappings, within, high, &within, &above);
	above = tree_trim(mappings, within, high, above);
	mappings->root = tree_join(mappings, below, above);
	tree_end(&cutting, within);
	return 0;
}

int mappings_put(struct mappings *mappings, const struct mapping_piece *piece)
{
	uint32_t below, above, node;

	if (nodes_reserve(mappings) < 0)
		return -ENOMEM;
	node = node_take(mappings, piece->low, piece->high, piece->origin);
	tree_split(mappings, mappings->root, piece->low, &below, &above);
	mappings->root = tree_join(mappings, tree_join(mappings, below, node), above);
	mappings->origin[piece->origin].bytes += piece->high - piece->low;
	return 0;
}

static int origins_reserve(struct mappings *mappings)
{
	uint32_t capacity = mappings->origin_capacity ? mappings->origin_capacity * 2u
						      : FIRST_CAPACITY;
	struct mapping_origin *origin;

	if (mappings->origin_free || mappings->origin_count < mappings->origin_capacity)
		return 0;
	if (capacity < mappings->origin_capacity)
		return -ENOMEM;
	origin = reallocarray(mappings->origin, capacity, sizeof(*origin));
	if (!origin)
		return -ENOMEM;
	mappings->origin = origin;
	mappings->origin_capacity = capacity;
	return 0;
}

int mappings_add_origin(struct mappings *mappings, uint64_t time, uint32_t site,
			uint32_t *ret_origin)
{
	uint32_t at;

	if (origins_reserve(mappings) < 0)
		return -ENOMEM;
	if (mappings->origin_free) {
		at = mappings->origin_free - 1u;
		mappings->origin_free = mappings->origin[at].site;
	} else {
		at = mappings->origin_count++;
	}
	mappings->origin[at] = (struct mapping_origin){ .time = time, .site = site, .holds = 1 };
	*ret_origin = at;
	return 0;
}

const struct mapping_origin *mappings_origin(const struct mappings *mappings, uint32_t origin)
{
	return &mappings->origin[origin];
}

void mappings_hold(struct mappings *mappings, uint32_t origin)
{
	mappings->origin[origin].holds++;
}

void mappings_drop(struct mappings *mappings, uint32_t origin)
{
	mappings->origin[origin].holds--;
	origin_forget(mappings, origin);
}

void mappings_rename_sites(struct mappings *mappings,
			   uint32_t (*heir)(const void *context, uint32_t site),
			   const void *context)
{
	/* of those that are not used it is the next unused one */
	for (uint32_t i = 0; i < mappings->origin_count; i++) {
		struct mapping_origin *origin = &mappings->origin[i];

		if (origin->bytes || origin->holds)
			origin->site = heir(context, origin->site);
	}
}

size_t mappings_bytes(const struct mappings *mappings)
{
	return mappings->node_count * sizeof(*mappings->node) +
	       mappings->origin_count * sizeof(*mappings->origin);
}
