/* SPDX-License-Identifier: MIT */
/*
 * leak_graph.h - heaps made of blocks and words in a memfd, marked by mark.h and, naively, by an
 * own writing of memcheck's algorithm, whose results must be equal.
 */
#ifndef MEMATTACH_TESTS_LEAK_GRAPH_H
#define MEMATTACH_TESTS_LEAK_GRAPH_H

#include "src/leak/mark/mark.h"

struct graph_block {
	uint64_t address, bytes;
	uint64_t asked;		/* 0: not known; else at most bytes */
	/* of the reference */
	enum block_kind kind;
	size_t clique;		/* position of who claimed it, for indirectly lost ones */
	bool pending;
};
struct graph {
	struct picture picture;	/* a memfd; no maps, unless a test sets them for its vtables */
	struct blocks *blocks;
	struct roots roots;
	size_t count, room;
	struct graph_block *block;	/* ascending once graph_reference was called */
	unsigned int heuristics;
};

void graph_init(struct graph *graph);
void graph_done(struct graph *graph);
void graph_segment(struct graph *graph, uint64_t low, uint64_t high, unsigned int granule);
/* Returns its position as long as the reference was not asked. */
size_t graph_add(struct graph *graph, uint64_t address, uint64_t bytes);
void graph_word(struct graph *graph, uint64_t address, uint64_t value);
/* What stands there is not to be read. */
void graph_hole(struct graph *graph, uint64_t low, uint64_t high);
/* A root range of whole words; later ones are above earlier ones. */
void graph_root(struct graph *graph, uint64_t low, uint64_t high);
/* A register. */
void graph_register(struct graph *graph, uint64_t value);
/* pre: blocks ascend, where a size that was asked for is known. */
struct mark_input graph_input(struct graph *graph, unsigned int workers, size_t memory);
/* Marks by memcheck's algorithm. */
void graph_reference(struct graph *graph);
/* Marks by mark_run and compares everything with the reference. */
void graph_check(struct graph *graph, unsigned int workers, size_t memory);

#endif
