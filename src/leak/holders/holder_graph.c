/* SPDX-License-Identifier: MIT */
/*
 * holder_graph.c - what points to some blocks, and to what points to these, and so on.
 *
 * The first passes are a breadth-first search: each finds the holders of what the last one
 * found, so that the shortest ways come first and few blocks matter. Long lists
 * would need a pass for each element; therefore later passes take up new blocks at once,
 * and go through memory upwards and downwards in turn: a list built in the order of its
 * addresses, either way round, is then followed in one pass (as in Yen's improvement of the
 * Bellman-Ford algorithm).
 * All holders of a block are kept, not just the first: that may be a dead end, such
 * as a child's pointer to its parent. What leads to a root is known only at the end.
 * Rejected: an index of all pointers (as large as the heap); a way for each block, noted
 * in a forward search (a quarter of a heap of small blocks).
 */
#include "src/leak/holders/holder_graph.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "src/base/array.h"
#include "src/leak/blocks/graph_filter.h"

#define CHUNK		(1u << 20)
#define PAGE		4096u
#define MAX_FAILURES	4u	/* unreadable pages in a row before the chunk is given up */
#define STRICT_PASSES	6u	/* breadth first; after that as it comes */
#define BETTER_PASSES	4u	/* so many are made to find better than a word of a stack */
#define MAX_EDGES	(1u << 21)
#define MAX_SHARED	(256u << 20)	/* of shared mappings: reading them fills their holes */

struct scan {
	struct graph *graph;
	uint64_t *word;		/* CHUNK bytes */
	bool eager, downwards;
	uint64_t shared_left;
	int error;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int graph_init(struct graph *graph, const struct graph_input *input)
{
	*graph = (struct graph){ .input = input, .filter = malloc(sizeof(*graph->filter)) };
	return graph->filter ? 0 : -ENOMEM;
}

void graph_done(struct graph *graph)
{
	free(graph->node);
	free(graph->edge);
	free(graph->filter);
	hashmap_done(&graph->index);
	*graph = (struct graph){ .input = NULL };
}

/* ---- nodes and edges ---- */

uint32_t graph_add(struct graph *graph, const struct block *block)
{
	uint32_t room = graph->node_room ? graph->node_room * 2 : 256;
	struct graph_node *grown;
	uint64_t known;

	if (hashmap_get(&graph->index, block->address, &known))
		return (uint32_t)known;
	if (graph->node_count >= graph->input->max_nodes) {
		graph->cut = true;
		return GRAPH_NONE;
	}
	if (graph->node_count == graph->node_room) {
		grown = reallocarray(graph->node, room, sizeof(*grown));
		if (!grown)
			return GRAPH_NONE;
		graph->node = grown;
		graph->node_room = room;
	}
	if (hashmap_put(&graph->index, block->address, graph->node_count) < 0)
		return GRAPH_NONE;
	graph->node[graph->node_count] = (struct graph_node){
		.address = block->address, .bytes = block->bytes, .first = GRAPH_NONE,
		.last = GRAPH_NONE, .way = GRAPH_NONE, .pass = graph->passes,
	};
	return graph->node_count++;
}

/* Takes up the pointer; its to, from, place and value are set. */
static int add_edge(struct graph *graph, const struct graph_edge *edge)
{
	uint32_t room = graph->edge_room ? graph->edge_room * 2 : 1024, at = graph->edge_count;
	struct graph_node *node = &graph->node[edge->to];
	struct graph_edge *grown;

	if (node->holders >= graph->input->max_holders || graph->edge_count >= MAX_EDGES) {
		graph->cut = true;
		return 0;
	}
	if (graph->edge_count == graph->edge_room) {
		grown = reallocarray(graph->edge, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		graph->edge = grown;
		graph->edge_room = room;
	}
	graph->edge[at] = *edge;
	graph->edge[at].next = GRAPH_NONE;
	graph->edge_count++;
	if (node->first == GRAPH_NONE)
		node->first = at;
	else
		graph->edge[node->last].next = at;
	node->last = at;
	node->holders++;
	return 0;
}

/* A later pass sees again what an earlier, cut or eager one has taken up. */
static bool is_known(const struct graph *graph, uint32_t to, uint64_t place, uint32_t word)
{
	uint32_t at = graph->node[to].first;

	for (; at != GRAPH_NONE; at = graph->edge[at].next)
		if (graph->edge[at].place == place && graph->edge[at].word == word)
			return true;
	return false;
}

/* ---- one pass ---- */

/* The searched node that word points into, or GRAPH_NONE. */
static uint32_t find_wanted(const struct graph *graph, uint64_t word)
{
	struct block block;
	uint64_t node;

	if (!blocks_find(graph->input->blocks, word, &block) ||
	    block_pointer_halved(&block, word) ||
	    !hashmap_get(&graph->index, block.address, &node) ||
	    !graph->node[node].wanted)
		return GRAPH_NONE;
	return (uint32_t)node;
}

static void want(struct graph *graph, uint32_t node)
{
	graph->node[node].wanted = true;
	filter_add(graph->filter, graph->node[node].address, graph->node[node].bytes);
}

/* The block that place lies in, as a node that matters from now on; GRAPH_NONE: it is none. */
static uint32_t take_holder(struct scan *scan, uint64_t place)
{
	struct graph *graph = scan->graph;
	const struct graph_input *input = graph->input;
	uint32_t before = graph->node_count, node;
	struct block block;

	if (!blocks_find(input->blocks, place, &block) ||
	    (input->usable && !input->usable(input->context, &block)))
		return GRAPH_NONE;
	node = graph_add(graph, &block);
	if (node == before && scan->eager)
		want(graph, node);
	return node;
}

/* A word of a heap segment that may be a pointer to a searched block. */
static void take_heap_word(struct scan *scan, uint64_t place, uint64_t value)
{
	struct graph *graph = scan->graph;
	uint32_t to = find_wanted(graph, value), from;

	if (to == GRAPH_NONE || place - graph->node[to].address < graph->node[to].bytes ||
	    is_known(graph, to, place, 0))
		return;
	if (graph->node[to].holders >= graph->input->max_holders) {
		graph->cut = true;
		return;
	}
	from = take_holder(scan, place);
	if (from != GRAPH_NONE)
		scan->error = add_edge(graph, &(struct graph_edge){
			.place = place, .value = value, .to = to, .from = from });
}

static void take_root_word(struct scan *scan, uint64_t place, uint64_t value, uint32_t word)
{
	struct graph *graph = scan->graph;
	uint32_t to = find_wanted(graph, value);

	if (to != GRAPH_NONE && !is_known(graph, to, place, word))
		scan->error = add_edge(graph, &(struct graph_edge){
			.place = place, .value = value, .to = to, .from = GRAPH_NONE,
			.word = word });
}

static void scan_words(struct scan *scan, uint64_t low, size_t count, bool heap)
{
	const struct graph_filter *filter = scan->graph->filter;

	for (size_t k = 0; k < count && !scan->error; k++) {
		size_t i = scan->downwards ? count - 1 - k : k;

		if (!filter_may_hold(filter, scan->word[i]))
			continue;
		if (heap)
			take_heap_word(scan, low + i * 8, scan->word[i]);
		else
			take_root_word(scan, low + i * 8, scan->word[i], 0);
	}
}

static bool is_over(struct scan *scan)
{
	if (scan->error)
		return true;
	if (now() < scan->graph->deadline)
		return false;
	scan->graph->cut = true;
	return true;
}

/* A chunk. Pages that can't be read are left out; after some of them, the rest too. */
static void scan_chunk(struct scan *scan, uint64_t low, uint64_t high, bool heap)
{
	unsigned int failures = 0;
	uint64_t at = low;

	while ((at = picture_skip_hole(scan->graph->input->picture, at)) < high &&
	       failures < MAX_FAILURES) {
		size_t got = picture_read_some(scan->graph->input->picture, at, scan->word,
					       high - at) & ~(size_t)7;

		scan->graph->scanned += got;
		scan_words(scan, at, got / 8, heap);
		failures = got ? 0 : failures + 1;
		at = ((at + got) | (PAGE - 1)) + 1;
	}
}

/* [low, high), all of it mapped. */
static void scan_mapped(struct scan *scan, uint64_t low, uint64_t high, bool heap)
{
	uint64_t chunks = (high - low + CHUNK - 1) / CHUNK;

	for (uint64_t i = 0; i < chunks && !is_over(scan); i++) {
		uint64_t at = low + (scan->downwards ? chunks - 1 - i : i) * CHUNK;

		scan_chunk(scan, at, high - at < CHUNK ? high : at + CHUNK, heap);
	}
}

/* The first mapping that ends above address. */
static size_t first_map(const struct procmaps *maps, uint64_t address)
{
	return ARRAY_BISECT(maps->count, i, maps->map[i].end <= address);
}

/* What of [low, high) the picture has and may be read. */
static void scan_range(struct scan *scan, uint64_t low, uint64_t high, bool heap)
{
	const struct procmaps *maps = &scan->graph->input->picture->maps;
	size_t first = first_map(maps, low), last = first_map(maps, high - 1);

	last = last < maps->count ? last + 1 : last;
	for (size_t k = 0; k < last - first && !is_over(scan); k++) {
		const struct procmap *map = &maps->map[scan->downwards ? last - 1 - k : first + k];
		uint64_t from = map->start > low ? map->start : low;
		uint64_t to = map->end < high ? map->end : high;

		if (from >= to || !(map->prot & PROCMAP_R))
			continue;
		if (map->prot & PROCMAP_SHARED) {
			if (to - from > scan->shared_left)
				continue;
			scan->shared_left -= to - from;
		}
		scan_mapped(scan, from, to, heap);
	}
}

static void scan_roots_of(struct scan *scan, enum root_class class)
{
	const struct roots *roots = scan->graph->input->roots;

	for (size_t i = 0; i < roots->count && !is_over(scan); i++)
		if (roots->root[i].class == class)
			scan_range(scan, roots->root[i].low, roots->root[i].high, false);
	for (size_t i = 0; i < roots->word_count && !scan->error; i++)
		if (roots->word[i].class == class &&
		    filter_may_hold(scan->graph->filter, roots->word[i].value))
			take_root_word(scan, 0, roots->word[i].value, (uint32_t)i);
}

/* Those that say most come first: of equal ways the first is taken. */
static void scan_roots(struct scan *scan)
{
	scan_roots_of(scan, ROOT_GLOBALS);
	scan_roots_of(scan, ROOT_TLS);
	scan_roots_of(scan, ROOT_STACKS);
	scan_roots_of(scan, ROOT_REGISTERS);
}

static void scan_heap(struct scan *scan)
{
	const struct ranges *segments = blocks_segments(scan->graph->input->blocks);

	if (!segments)
		scan->error = -ENOMEM;
	for (size_t k = 0; segments && k < segments->count && !is_over(scan); k++) {
		size_t i = scan->downwards ? segments->count - 1 - k : k;

		scan_range(scan, segments->range[i].low, segments->range[i].high, true);
	}
}

/* ---- between passes ---- */

/* Nodes in the order in which they were reached, and where each edge leads on from. */
struct search {
	uint32_t *queue;
	uint32_t tail;
	uint32_t *first, *next;	/* [node], [edge]: the edges that stand in a node */
};

static void search_done(struct search *search)
{
	free(search->queue);
	free(search->first);
	free(search->next);
}

static int search_init(const struct graph *graph, struct search *ret)
{
	ret->queue = calloc((size_t)graph->node_count + 1, sizeof(uint32_t));
	ret->first = calloc((size_t)graph->node_count + 1, sizeof(uint32_t));
	ret->next = calloc((size_t)graph->edge_count + 1, sizeof(uint32_t));
	if (!ret->queue || !ret->first || !ret->next)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->node_count; i++)
		ret->first[i] = GRAPH_NONE;
	for (uint32_t i = graph->edge_count; i-- > 0;) {
		uint32_t from = graph->edge[i].from;

		if (from == GRAPH_NONE)
			continue;
		ret->next[i] = ret->first[from];
		ret->first[from] = i;
	}
	return 0;
}

static bool is_weak(const struct graph *graph, const struct graph_edge *edge)
{
	const struct roots *roots = graph->input->roots;
	const struct root *root = edge->place ? roots_find(roots, edge->place) : NULL;
	enum root_class class = edge->place == 0 ? roots->word[edge->word].class :
				root ? root->class : ROOT_GLOBALS;

	return class == ROOT_STACKS || class == ROOT_REGISTERS;
}

static void set_way(struct graph *graph, struct search *search, uint32_t edge, bool weak)
{
	struct graph_node *node = &graph->node[graph->edge[edge].to];

	if (node->way != GRAPH_NONE)
		return;
	node->way = edge;
	node->weak = weak;
	search->queue[search->tail++] = graph->edge[edge].to;
}

/* Breadth first from the roots along the edges. */
static void find_ways_from(struct graph *graph, struct search *search, bool weak)
{
	uint32_t head = search->tail;

	for (uint32_t i = 0; i < graph->edge_count; i++)
		if (graph->edge[i].from == GRAPH_NONE && is_weak(graph, &graph->edge[i]) == weak)
			set_way(graph, search, i, weak);
	for (; head < search->tail; head++)
		for (uint32_t i = search->first[search->queue[head]]; i != GRAPH_NONE;
		     i = search->next[i])
			set_way(graph, search, i, weak);
}

/* Sets every node's way. */
static int find_ways(struct graph *graph)
{
	_cleanup_(search_done) struct search search = { .queue = NULL };

	if (search_init(graph, &search) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->node_count; i++)
		graph->node[i].way = GRAPH_NONE;
	find_ways_from(graph, &search, false);
	find_ways_from(graph, &search, true);
	return 0;
}

bool graph_is_found(const struct graph *graph, uint32_t node)
{
	return graph->node[node].way != GRAPH_NONE &&
	       (!graph->node[node].weak || graph->passes >= BETTER_PASSES);
}

/*
 * Queues what matters: the blocks asked for that have no way yet (all of them where all ways
 * are wanted), and everything found to lead to these. Each is marked as wanted meanwhile.
 */
static uint32_t queue_matters(struct graph *graph, uint32_t *queue)
{
	uint32_t tail = 0;

	for (uint32_t i = 0; i < graph->node_count; i++) {
		struct graph_node *node = &graph->node[i];

		node->wanted = i < graph->asked && (graph->input->all_ways ||
						    !graph_is_found(graph, i));
		if (node->wanted)
			queue[tail++] = i;
	}
	for (uint32_t head = 0; head < tail; head++)
		for (uint32_t i = graph->node[queue[head]].first; i != GRAPH_NONE;
		     i = graph->edge[i].next) {
			uint32_t from = graph->edge[i].from;

			if (from == GRAPH_NONE || graph->node[from].wanted)
				continue;
			graph->node[from].wanted = true;
			queue[tail++] = from;
		}
	return tail;
}

/* Makes every node wanted that matters and whose holders are not known yet: *ret_count. */
static int want_incomplete(struct graph *graph, uint32_t *ret_count)
{
	_cleanup_free_ uint32_t *queue = calloc((size_t)graph->node_count + 1, sizeof(*queue));
	uint32_t count = 0, tail;

	if (!queue)
		return -ENOMEM;
	filter_clear(graph->filter);
	tail = queue_matters(graph, queue);
	for (uint32_t i = 0; i < tail; i++) {
		struct graph_node *node = &graph->node[queue[i]];

		node->wanted = !node->complete;
		if (node->complete)
			continue;
		want(graph, queue[i]);
		count++;
	}
	*ret_count = count;
	return 0;
}

static void end_pass(struct graph *graph, uint32_t known_before)
{
	graph->passes++;
	if (now() >= graph->deadline) {
		graph->cut = true;
		return;
	}
	for (uint32_t i = 0; i < known_before; i++)
		graph->node[i].complete = graph->node[i].complete || graph->node[i].wanted;
}

static int run_pass(struct graph *graph, uint64_t *word)
{
	struct scan scan = {
		.graph = graph, .word = word, .eager = graph->passes >= STRICT_PASSES,
		.downwards = graph->passes >= STRICT_PASSES && graph->passes % 2,
		.shared_left = MAX_SHARED,
	};
	uint32_t known_before = graph->node_count;

	scan_roots(&scan);
	scan_heap(&scan);
	end_pass(graph, known_before);
	return scan.error ? scan.error : find_ways(graph);
}

int graph_run(struct graph *graph, bool (*is_enough)(void *context), void *context)
{
	_cleanup_free_ uint64_t *word = malloc(CHUNK);
	uint32_t count = 0;
	int r = word ? 0 : -ENOMEM;

	graph->asked = graph->node_count;
	graph->deadline = now() + graph->input->seconds;
	if (r == 0)
		r = want_incomplete(graph, &count);
	while (r == 0 && count > 0) {
		if (graph->passes >= graph->input->max_passes || now() >= graph->deadline) {
			graph->cut = true;
			break;
		}
		r = run_pass(graph, word);
		if (r == 0 && is_enough(context))
			break;
		if (r == 0)
			r = want_incomplete(graph, &count);
	}
	return r;
}
