/* SPDX-License-Identifier: MIT */
/*
 * unwind_memo.c - stacks that were walked before, recognised without walking.
 *
 * Why it is sound: for one generation of modules, what a walk does next depends
 * only on what it has read so far. A node of the trie stands for a history of
 * reads and says which read comes next; an edge is a result of that read. Who
 * arrives at a leaf has given the same answers to the same questions in the same
 * order as the walk that made it.
 * Stacks of one path lie at many addresses. Unwinding commutes with moving the
 * stack as long as all addresses are a stack pointer plus a constant; so values
 * that point at most MEMO_WINDOW above rsp are kept relative to it. Where the
 * walker can't prove that shape it pins the trace to its rsp (MEMO_PIN) or
 * declares it unfit. That a word lies outside the copy is an answer as well.
 * Everything is in one table of edges and one array of nodes; nothing is removed
 * singly, a full memo is emptied. Hashing all return addresses found by scanning
 * was rejected: stale ones make it wrong (docs: 100 of 100 in an alloca frame).
 */
#include "src/unwind/unwind_memo.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define ROOTS		32u	/* 16 alignments of rsp, twice: exact or return address */
#define FIRST_EDGES	4096u
#define FIRST_NODES	4096u
#define KIND_BITS	3

struct edge {
	uint64_t value;
	uint32_t parent_tag;	/* node << 2 | enum memo_tag; 0: an empty slot */
	uint32_t child;
};

struct unwind_memo {
	struct edge *edge;
	uint32_t edge_mask, edge_count;
	int64_t *node;		/* where << KIND_BITS | enum memo_kind */
	uint32_t node_count, node_capacity;
	size_t most;		/* bytes */
	uint64_t seed;		/* the target chooses the values, not their slots */
};

static void drop(struct unwind_memo *memo)
{
	free(memo->edge);
	free(memo->node);
	*memo = (struct unwind_memo){ .seed = memo->seed, .most = memo->most };
}

/* Node 0 is never used; 1 to ROOTS are the roots. */
static int begin(struct unwind_memo *memo)
{
	memo->edge = calloc(FIRST_EDGES, sizeof(*memo->edge));
	memo->node = calloc(FIRST_NODES, sizeof(*memo->node));
	if (!memo->edge || !memo->node) {
		drop(memo);
		return -ENOMEM;
	}
	memo->edge_mask = FIRST_EDGES - 1;
	memo->node_capacity = FIRST_NODES;
	memo->node_count = ROOTS + 1;
	return 0;
}

int unwind_memo_new(struct unwind_memo **ret)
{
	struct unwind_memo *memo = calloc(1, sizeof(*memo));

	if (!memo)
		return -ENOMEM;
	/* Without entropy an unlucky order of slots is the worst that can happen. */
	if (getrandom(&memo->seed, sizeof(memo->seed), GRND_NONBLOCK) < 0)
		memo->seed = (uint64_t)(uintptr_t)memo;
	memo->most = MEMO_MAX_BYTES;
	*ret = memo;
	return 0;
}

void unwind_memo_free(struct unwind_memo *memo)
{
	if (!memo)
		return;
	drop(memo);
	free(memo);
}

void unwind_memo_flush(struct unwind_memo *memo)
{
	drop(memo);
}

void unwind_memo_set_most(struct unwind_memo *memo, size_t bytes)
{
	if (bytes < memo->most)
		memo->most = bytes;
}

size_t unwind_memo_bytes(const struct unwind_memo *memo)
{
	if (!memo->edge)
		return 0;
	return ((size_t)memo->edge_mask + 1) * sizeof(*memo->edge) +
	       memo->node_capacity * sizeof(*memo->node);
}

static uint32_t root_of(const struct unwind_input *input)
{
	return 1 + (uint32_t)(input->registers.rsp & 15) * 2 + (input->first_is_return ? 1 : 0);
}

static uint32_t slot_of(const struct unwind_memo *memo, uint64_t value, uint32_t parent_tag)
{
	__uint128_t product = (__uint128_t)(value ^ memo->seed) *
			      (((uint64_t)parent_tag * 0x9e3779b97f4a7c15u) | 1);

	return (uint32_t)((uint64_t)product ^ (uint64_t)(product >> 64)) & memo->edge_mask;
}

/* The edge, or the empty slot where it belongs. */
static struct edge *find_edge(const struct unwind_memo *memo, uint32_t parent_tag, uint64_t value)
{
	uint32_t at = slot_of(memo, value, parent_tag);

	for (;; at = (at + 1) & memo->edge_mask) {
		struct edge *edge = &memo->edge[at];

		if (edge->parent_tag == 0 ||
		    (edge->parent_tag == parent_tag && edge->value == value))
			return edge;
	}
}

/* Asks input what node wants to know. False: a kind that has no answer. */
static bool answer(const struct unwind_input *input, enum memo_kind kind, int64_t where,
		   enum memo_tag *ret_tag, uint64_t *ret_value)
{
	switch (kind) {
	case MEMO_REGISTER:
		*ret_value = unwind_input_register(input, (enum cfi_register)where);
		*ret_tag = memo_normalise(input, ret_value);
		return true;
	case MEMO_STACK:
		if (unwind_input_word(input, input->registers.rsp + (uint64_t)where, ret_value)) {
			*ret_tag = memo_normalise(input, ret_value);
		} else {
			*ret_value = 0;
			*ret_tag = MEMO_FAILED;
		}
		return true;
	case MEMO_PIN:
		*ret_value = input->registers.rsp;
		*ret_tag = MEMO_ABSOLUTE;
		return true;
	case MEMO_NONE:
	case MEMO_LEAF:
		break;
	}
	return false;
}

uint32_t unwind_memo_find(const struct unwind_memo *memo, const struct unwind_input *input)
{
	uint64_t value = input->registers.rip;
	enum memo_tag tag = MEMO_ABSOLUTE;
	uint32_t node = root_of(input);

	if (!memo->edge)
		return 0;
	/* Ends: every edge leads to a node with a higher number. */
	for (;;) {
		const struct edge *edge = find_edge(memo, node << 2 | tag, value);
		int64_t question;

		if (edge->parent_tag == 0)
			return 0;
		node = edge->child;
		question = memo->node[node];
		if ((question & ((1 << KIND_BITS) - 1)) == MEMO_LEAF)
			return (uint32_t)(question >> KIND_BITS);
		if (!answer(input, (enum memo_kind)(question & ((1 << KIND_BITS) - 1)),
			    question >> KIND_BITS, &tag, &value))
			return 0;
	}
}

static int grow_edges(struct unwind_memo *memo)
{
	uint32_t mask = memo->edge_mask * 2 + 1;
	struct edge *old = memo->edge;
	struct edge *edge = calloc((size_t)mask + 1, sizeof(*edge));
	uint32_t count = memo->edge_mask + 1;

	if (!edge)
		return -ENOMEM;
	memo->edge = edge;
	memo->edge_mask = mask;
	for (uint32_t i = 0; i < count; i++) {
		if (old[i].parent_tag != 0)
			*find_edge(memo, old[i].parent_tag, old[i].value) = old[i];
	}
	free(old);
	return 0;
}

static int grow_nodes(struct unwind_memo *memo)
{
	uint32_t capacity = memo->node_capacity * 2;
	int64_t *node = reallocarray(memo->node, capacity, sizeof(*node));

	if (!node)
		return -ENOMEM;
	memset(node + memo->node_capacity, 0, (capacity - memo->node_capacity) * sizeof(*node));
	memo->node = node;
	memo->node_capacity = capacity;
	return 0;
}

static bool lacks_edges(const struct unwind_memo *memo, uint32_t reads)
{
	return memo->edge_count + reads + 1 > memo->edge_mask / 4 * 3;
}

static bool lacks_nodes(const struct unwind_memo *memo, uint32_t reads)
{
	return memo->node_count + reads + 1 > memo->node_capacity;
}

/* Whether room for one more trace would cost more memory than we allow ourselves. */
static bool is_full(const struct unwind_memo *memo, uint32_t reads)
{
	size_t more = 0;

	if (!memo->edge)
		return false;
	if (lacks_edges(memo, reads))
		more += ((size_t)memo->edge_mask + 1) * sizeof(*memo->edge);
	if (lacks_nodes(memo, reads))
		more += memo->node_capacity * sizeof(*memo->node);
	return more > 0 && unwind_memo_bytes(memo) + more > memo->most;
}

/* Room for one whole trace, so that adding it can't fail half-way. */
static int make_room(struct unwind_memo *memo, uint32_t reads)
{
	while (lacks_edges(memo, reads)) {
		if (grow_edges(memo) < 0)
			return -ENOMEM;
	}
	while (lacks_nodes(memo, reads)) {
		if (grow_nodes(memo) < 0)
			return -ENOMEM;
	}
	return 0;
}

static uint32_t follow(struct unwind_memo *memo, uint32_t node, enum memo_tag tag, uint64_t value)
{
	struct edge *edge = find_edge(memo, node << 2 | tag, value);

	if (edge->parent_tag == 0) {
		*edge = (struct edge){
			.value = value, .parent_tag = node << 2 | tag, .child = memo->node_count++,
		};
		memo->edge_count++;
	}
	return edge->child;
}

/* The first walk that comes by decides what a node asks; all others must agree. */
static int unwind_memo_ask(struct unwind_memo *memo, uint32_t node, enum memo_kind kind,
			   int64_t where)
{
	int64_t question = (int64_t)((uint64_t)where << KIND_BITS) | kind;

	if (memo->node[node] == MEMO_NONE)
		memo->node[node] = question;
	return memo->node[node] == question ? 0 : -EILSEQ;
}

static int insert(struct unwind_memo *memo, const struct unwind_input *input,
		  const struct memo_trace *trace, uint32_t stack)
{
	uint32_t node = follow(memo, root_of(input), MEMO_ABSOLUTE, input->registers.rip);

	for (uint32_t i = 0; i < trace->count; i++) {
		const struct memo_read *read = &trace->read[i];
		int r = unwind_memo_ask(memo, node, read->kind, read->where);

		if (r < 0)
			return r;
		node = follow(memo, node, read->tag, read->value);
	}
	return unwind_memo_ask(memo, node, MEMO_LEAF, stack);
}

int unwind_memo_add(struct unwind_memo *memo, const struct unwind_input *input,
		    const struct memo_trace *trace, uint32_t stack)
{
	int flushed = 0, r = 0;

	if (is_full(memo, trace->count)) {
		drop(memo);
		flushed = 1;
	}
	if (!memo->edge)
		r = begin(memo);
	if (r == 0)
		r = make_room(memo, trace->count);
	if (r == 0)
		r = insert(memo, input, trace, stack);
	return r < 0 ? r : flushed;
}
