/* SPDX-License-Identifier: MIT */
/*
 * binary_trees.c - trees of nodes that are allocated one by one, by two calls of the same
 * function in itself: each place in a tree has a call stack of its own.
 *
 * After the program of that name in the Computer Language Benchmarks Game. Units are the
 * depth, 15 there: a tree one deeper is made and felled, one as deep is kept to the end, and
 * of every second depth from 4 on so many that each has as many nodes as the others together. The
 * threads share those. It checks that it counted the nodes that it made.
 */
#include "tests/bench/bench.h"

#define LEAST_DEPTH 4u

struct node {
	struct node *left, *right;
};

static struct node *kept;

__attribute__((noinline)) static struct node *grow(struct bench_truth *truth, unsigned int depth)
{
	struct node *node = bench_malloc(truth, sizeof(*node));

	node->left = node->right = NULL;
	if (depth > 0) {
		node->left = grow(truth, depth - 1);
		node->right = grow(truth, depth - 1);
	}
	return node;
}

__attribute__((noinline)) static uint64_t count(const struct node *node)
{
	return node->left ? 1 + count(node->left) + count(node->right) : 1;
}

__attribute__((noinline)) static void fell(struct bench_truth *truth, struct node *node)
{
	if (node->left) {
		fell(truth, node->left);
		fell(truth, node->right);
	}
	bench_free(truth, node, sizeof(*node));
}

static void check(const struct node *node, unsigned int depth)
{
	if (count(node) != (2ull << depth) - 1)
		_exit(5);
}

static void make_and_fell(struct bench_truth *truth, unsigned int depth)
{
	struct node *tree = grow(truth, depth);

	check(tree, depth);
	fell(truth, tree);
}

/* Of count trees those whose turn it is. */
static void some(struct bench_worker *w, unsigned int depth, uint64_t trees)
{
	for (uint64_t i = w->number; i < trees; i += w->bench->threads)
		make_and_fell(&w->truth, depth);
}

static void trees(struct bench_worker *w)
{
	unsigned int depth = (unsigned int)w->bench->units;

	if (w->number == 0) {
		make_and_fell(&w->truth, depth + 1);
		kept = grow(&w->truth, depth);
	}
	for (unsigned int d = LEAST_DEPTH; d <= depth; d += 2)
		some(w, d, 1ull << (depth - d + LEAST_DEPTH));
	if (w->number == 0) {
		check(kept, depth);
		fell(&w->truth, kept);
	}
}

int main(int argc, char **argv)
{
	struct bench b = bench_begin(argc, argv);

	if (b.units < LEAST_DEPTH || b.units > 30)
		return 2;
	return bench_run(&b, trees);
}
