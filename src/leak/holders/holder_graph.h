/* SPDX-License-Identifier: MIT */
/*
 * holder_graph.h - what points to some blocks, and to what points to these, and so on.
 *
 * Found backwards, from the wanted blocks towards the roots, by passes over roots and heap
 * that keep only pointers to blocks already known to matter.
 */
#ifndef MEMATTACH_LEAK_HOLDER_GRAPH_H
#define MEMATTACH_LEAK_HOLDER_GRAPH_H

#include "src/base/hashmap.h"
#include "src/leak/blocks/blocks.h"
#include "src/leak/roots/roots.h"
#include "src/memory/picture.h"

#define GRAPH_NONE UINT32_MAX

/* A block that matters: wanted, or a holder of one that matters. */
struct graph_node {
	uint64_t address, bytes;
	uint32_t first;		/* its first holder in edge, GRAPH_NONE: none found */
	uint32_t last;
	uint32_t holders;	/* how many are kept */
	/*
	 * The edge that is on a shortest way from a root, GRAPH_NONE: none found. Ways from stacks
	 * and registers, which keep what was long forgotten, count only where there is no other.
	 */
	uint32_t way;
	bool weak;		/* the way is one of these */
	uint32_t pass;		/* in which it was found; wanted ones: 0 */
	bool complete;		/* all memory was searched for its holders */
	bool wanted;		/* searched for in this pass */
};
/* A pointer to a block. */
struct graph_edge {
	uint64_t place;		/* where it stands; 0: in a root word */
	uint64_t value;
	uint32_t to;		/* node */
	uint32_t from;		/* node it stands in; GRAPH_NONE: in a root */
	uint32_t next;		/* of the same to; GRAPH_NONE: the last */
	uint32_t word;		/* index in roots->word, of a root word */
};
struct graph_input {
	const struct picture *picture;
	struct blocks *blocks;
	const struct roots *roots;
	unsigned int max_passes;	/* over memory */
	uint32_t max_nodes;		/* blocks that are remembered, at most */
	uint32_t max_holders;		/* of one block */
	bool all_ways;			/* go on where a way from a root is known already */
	double seconds;			/* for all passes; the pass that runs then is cut short */
	/* Whether a block may be a holder (NULL: all may). */
	bool (*usable)(void *context, const struct block *block);
	void *context;
};
struct graph {
	const struct graph_input *input;
	struct graph_node *node;	/* those asked for first, in the order of graph_add */
	uint32_t node_count, node_room, asked;
	struct graph_edge *edge;
	uint32_t edge_count, edge_room;
	struct hashmap index;		/* address of a block -> node */
	unsigned int passes;		/* made */
	uint64_t scanned;		/* bytes, in all passes */
	bool cut;			/* a limit ended it: there may be more */
	struct graph_filter *filter;
	double deadline;
};

/* input is borrowed. 0 or -ENOMEM. */
int graph_init(struct graph *graph, const struct graph_input *input) _must_check_;
void graph_done(struct graph *graph);
/* A block whose holders are asked for. Its node; GRAPH_NONE: no memory, or too many. */
uint32_t graph_add(struct graph *graph, const struct block *block);
/*
 * Makes passes until is_enough says so (called after each, with the ways of all nodes
 * set) or no more can be found or a limit is met. 0 or -ENOMEM.
 */
int graph_run(struct graph *graph, bool (*is_enough)(void *context), void *context) _must_check_;

/* Whether a node has a way, and one that is good enough to look for no better. */
bool graph_is_found(const struct graph *graph, uint32_t node);

#endif
