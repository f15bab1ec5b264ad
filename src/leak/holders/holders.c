/* SPDX-License-Identifier: MIT */
/*
 * holders.c - who holds a block: chains of references from a root to it.
 *
 * holder_graph.c finds what points where, as far back as is needed; here the chains are read
 * off: for many blocks one each, the way that its breadth-first search left behind; for one
 * block all of them, by extending chains backwards, shortest first, each block at most
 * once in a chain and no more often than chains are wanted in all of them.
 * What no root leads to has a chain as well if other lost blocks hold it: that from the
 * block that nothing holds.
 */
#include "src/leak/holders/holders.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "src/leak/holders/holder_graph.h"
#include "src/leak/holders/holder_names.h"

#define DEFAULT_SECONDS		30
#define DEFAULT_PASSES		24u
#define DEFAULT_CHAINS		32u
#define DEFAULT_LINKS		64u
#define MAX_NODES		(1u << 18)
#define MAX_TRAILS		(1u << 16)
#define TRACE_HOLDERS		1024u	/* of one block */
#define FIND_HOLDERS		128u
#define MAX_NAMED		64u	/* roots of one block among which a name is looked for */

struct holders {
	struct holders_input input;
	struct holder_names *names;
};

int holders_new(const struct holders_input *input, struct holders **ret)
{
	struct holders *holders = calloc(1, sizeof(*holders));

	if (!holders)
		return -ENOMEM;
	holders->input = *input;
	if (holder_names_new(&holders->input, &holders->names) < 0) {
		free(holders);
		return -ENOMEM;
	}
	*ret = holders;
	return 0;
}

void holders_free(struct holders *holders)
{
	if (!holders)
		return;
	holder_names_free(holders->names);
	free(holders);
}

void holder_chains_done(struct holder_chains *chains)
{
	for (size_t i = 0; i < chains->count; i++)
		holder_chain_done(&chains->chain[i]);
	free(chains->chain);
	*chains = (struct holder_chains){ .count = 0 };
}

static struct graph_input graph_input_of(const struct holders *holders)
{
	const struct holders_input *input = &holders->input;

	return (struct graph_input){
		.picture = input->picture, .blocks = input->blocks, .roots = input->roots,
		.usable = input->usable, .context = input->context, .max_nodes = MAX_NODES,
		.max_passes = input->max_passes ? input->max_passes : DEFAULT_PASSES,
		.seconds = input->seconds > 0 ? input->seconds : DEFAULT_SECONDS,
	};
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void note_effort(const struct graph *graph, double begin, struct holder_chains *chains)
{
	chains->cut = chains->cut || graph->cut;
	chains->passes = graph->passes;
	chains->scanned_bytes = graph->scanned;
	chains->seconds = now() - begin;
}

static void set_step(const struct holders *holders, const struct graph *graph, uint32_t edge,
		     struct holder_step *ret)
{
	const struct graph_edge *at = &graph->edge[edge];
	const struct graph_node *to = &graph->node[at->to];

	*ret = (struct holder_step){ .place = at->place, .value = at->value,
				     .held = { to->address, to->bytes } };
	if (at->from != GRAPH_NONE)
		ret->holder = (struct block){ graph->node[at->from].address,
					      graph->node[at->from].bytes };
	else if (at->place == 0)
		ret->word = &holders->input.roots->word[at->word];
}

/* ---- one chain for each of many ---- */

struct finding {
	struct graph graph;
	uint32_t *target;	/* [address] -> node, GRAPH_NONE: no block there */
	size_t count;
	uint32_t *via;		/* [node]: the edge towards the target that a search came by */
	uint32_t *queue;
};

static void finding_done(struct finding *finding)
{
	graph_done(&finding->graph);
	free(finding->target);
	free(finding->via);
	free(finding->queue);
}

static bool all_found(void *context)
{
	struct finding *finding = context;

	for (size_t i = 0; i < finding->count; i++)
		if (finding->target[i] != GRAPH_NONE &&
		    !graph_is_found(&finding->graph, finding->target[i]))
			return false;
	return true;
}

/* Describes the edges in order, root first. */
static int describe(const struct holders *holders, const struct graph *graph,
		    const uint32_t *edge, size_t count, struct holder_chain *ret)
{
	_cleanup_free_ struct holder_step *step = calloc(count + 1, sizeof(*step));

	if (!step)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		set_step(holders, graph, edge[i], &step[i]);
	return holder_names_describe(holders->names, step, count, ret);
}

static void reverse(uint32_t *edge, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		uint32_t other = edge[i];

		edge[i] = edge[count - 1 - i];
		edge[count - 1 - i] = other;
	}
}

/* Reads the way from a root off: into queue, root first. */
static size_t read_way(struct finding *finding, uint32_t target)
{
	const struct graph *graph = &finding->graph;
	uint32_t node = target;
	size_t count = 0;

	while (node != GRAPH_NONE && graph->node[node].way != GRAPH_NONE &&
	       count < graph->node_count) {
		finding->queue[count++] = graph->node[node].way;
		node = graph->edge[graph->node[node].way].from;
	}
	reverse(finding->queue, count);
	return count;
}

/* Looks for the nearest block that ends the search backwards from target; *ret_end says how. */
static uint32_t find_outermost(struct finding *finding, uint32_t target, enum holder_end *ret_end)
{
	const struct graph *graph = &finding->graph;
	uint32_t tail = 0, open = GRAPH_NONE;

	for (uint32_t i = 0; i < graph->node_count; i++)
		finding->via[i] = GRAPH_NONE;
	finding->queue[tail++] = target;
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t node = finding->queue[head], at = graph->node[node].first;

		if (!graph->node[node].complete && open == GRAPH_NONE)
			open = node;
		if (graph->node[node].complete && at == GRAPH_NONE) {
			*ret_end = HOLDER_UNHELD;
			return node;
		}
		for (; at != GRAPH_NONE; at = graph->edge[at].next) {
			uint32_t from = graph->edge[at].from;

			if (from == GRAPH_NONE || from == target ||
			    finding->via[from] != GRAPH_NONE)
				continue;
			finding->via[from] = at;
			finding->queue[tail++] = from;
		}
	}
	*ret_end = open != GRAPH_NONE ? HOLDER_CUT : HOLDER_CYCLE;
	if (open != GRAPH_NONE)
		return open;
	return graph->edge[graph->node[target].first].from;
}

/* The chain of a block that no root was found for. */
static size_t read_unrooted(struct finding *finding, uint32_t target, enum holder_end *ret_end)
{
	const struct graph *graph = &finding->graph;
	uint32_t node = find_outermost(finding, target, ret_end);
	size_t count = 0;

	while (node != target && count < graph->node_count) {
		finding->queue[count++] = finding->via[node];
		node = graph->edge[finding->via[node]].to;
	}
	return count;
}

/* Of a block's roots, all stacks and registers, the first of those with the best name. */
static uint32_t named_root(const struct holders *holders, const struct graph *graph,
			   uint32_t edge)
{
	uint32_t at = graph->node[graph->edge[edge].to].first;
	enum holder_naming best = HOLDER_NAMELESS;
	unsigned int left = MAX_NAMED;

	for (; at != GRAPH_NONE && left > 0 && best < HOLDER_NAMED; at = graph->edge[at].next) {
		enum holder_naming rating;
		struct holder_step step;

		if (graph->edge[at].from != GRAPH_NONE)
			continue;
		left--;
		set_step(holders, graph, at, &step);
		rating = holder_names_rate(holders->names, &step);
		if (rating > best) {
			best = rating;
			edge = at;
		}
	}
	return edge;
}

static int find_one(const struct holders *holders, struct finding *finding, uint32_t target,
		    struct holder_chain *ret)
{
	size_t count;

	ret->end = HOLDER_ROOTED;
	ret->target = finding->graph.node[target].address;
	if (finding->graph.node[target].way != GRAPH_NONE)
		count = read_way(finding, target);
	else
		count = read_unrooted(finding, target, &ret->end);
	if (ret->end == HOLDER_ROOTED && finding->graph.node[target].weak)
		finding->queue[0] = named_root(holders, &finding->graph, finding->queue[0]);
	return describe(holders, &finding->graph, finding->queue, count, ret);
}

static int add_targets(const struct holders *holders, struct finding *finding,
		       const uint64_t *address, size_t count)
{
	struct block block;

	finding->target = calloc(count + 1, sizeof(*finding->target));
	if (!finding->target)
		return -ENOMEM;
	finding->count = count;
	for (size_t i = 0; i < count; i++)
		finding->target[i] = blocks_find(holders->input.blocks, address[i], &block) ?
				     graph_add(&finding->graph, &block) : GRAPH_NONE;
	return 0;
}

static int find_all(const struct holders *holders, struct finding *finding,
		    struct holder_chains *chains)
{
	size_t nodes = (size_t)finding->graph.node_count + 1;
	int r = 0;

	finding->via = calloc(nodes, sizeof(*finding->via));
	finding->queue = calloc(nodes, sizeof(*finding->queue));
	if (!finding->via || !finding->queue)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < finding->count; i++) {
		struct holder_chain *chain = &chains->chain[i];

		if (finding->target[i] != GRAPH_NONE) {
			r = find_one(holders, finding, finding->target[i], chain);
		} else {
			chain->end = HOLDER_UNHELD;
			chain->text = strdup("");
			r = chain->text ? 0 : -ENOMEM;
		}
	}
	return r;
}

int holders_find(struct holders *holders, const uint64_t *address, size_t count,
		 struct holder_chains *ret)
{
	_cleanup_(finding_done) struct finding finding = { .count = 0 };
	struct graph_input input = graph_input_of(holders);
	struct holder_chains chains = { .count = 0 };
	double begin = now();
	int r;

	input.max_holders = FIND_HOLDERS;
	r = graph_init(&finding.graph, &input);
	if (r == 0)
		r = add_targets(holders, &finding, address, count);
	if (r == 0)
		r = graph_run(&finding.graph, all_found, &finding);
	chains.chain = r == 0 ? calloc(count + 1, sizeof(*chains.chain)) : NULL;
	if (!chains.chain)
		return -ENOMEM;
	chains.count = count;
	r = find_all(holders, &finding, &chains);
	note_effort(&finding.graph, begin, &chains);
	if (r < 0)
		holder_chains_done(&chains);
	else
		*ret = chains;
	return r;
}

/* ---- all chains of one ---- */

/* A chain as far back as it has been followed. */
struct trail {
	uint32_t edge;
	uint32_t before;	/* the trail that this one extends; GRAPH_NONE: none */
	uint32_t length;
};
struct tracing {
	struct graph graph;
	const struct holders *holders;
	struct trail *trail;		/* MAX_TRAILS; a queue and the chains at once */
	uint32_t tail;
	uint32_t *visits;		/* [node] */
	uint32_t visits_room;
	uint32_t *rooted, *unheld;	/* trails that have come to an end */
	size_t rooted_count, unheld_count, max_chains;
	uint32_t cycle, open;		/* a trail that came round, that could go on; GRAPH_NONE */
	unsigned int max_links;
	bool cut;			/* there are more trails than were followed */
};

static void tracing_done(struct tracing *tracing)
{
	graph_done(&tracing->graph);
	free(tracing->trail);
	free(tracing->visits);
	free(tracing->rooted);
	free(tracing->unheld);
}

/* Whether node is on the trail already, the target included. */
static bool is_on(const struct tracing *tracing, uint32_t trail, uint32_t node)
{
	while (trail != GRAPH_NONE) {
		const struct graph_edge *edge = &tracing->graph.edge[tracing->trail[trail].edge];

		if (edge->to == node)
			return true;
		trail = tracing->trail[trail].before;
	}
	return false;
}

/* Extends before (GRAPH_NONE: begins) by every pointer to node. */
static void extend(struct tracing *tracing, uint32_t node, uint32_t before)
{
	uint32_t length = before == GRAPH_NONE ? 1 : tracing->trail[before].length + 1;
	uint32_t at = tracing->graph.node[node].first;

	if (length > tracing->max_links || tracing->visits[node] >= tracing->max_chains) {
		tracing->cut = true;
		return;
	}
	tracing->visits[node]++;
	for (; at != GRAPH_NONE; at = tracing->graph.edge[at].next) {
		if (tracing->tail == MAX_TRAILS) {
			tracing->cut = true;
			return;
		}
		tracing->trail[tracing->tail++] = (struct trail){ at, before, length };
	}
}

static void follow(struct tracing *tracing, uint32_t trail)
{
	uint32_t from = tracing->graph.edge[tracing->trail[trail].edge].from;
	const struct graph_node *node;

	if (from == GRAPH_NONE) {
		tracing->rooted[tracing->rooted_count++] = trail;
		return;
	}
	if (is_on(tracing, trail, from)) {
		if (tracing->cycle == GRAPH_NONE)
			tracing->cycle = tracing->trail[trail].before;
		return;
	}
	node = &tracing->graph.node[from];
	if (node->first != GRAPH_NONE)
		extend(tracing, from, trail);
	else if (node->complete && tracing->unheld_count < tracing->max_chains)
		tracing->unheld[tracing->unheld_count++] = trail;
	else if (!node->complete && tracing->open == GRAPH_NONE)
		tracing->open = trail;
}

/* graph_run's question; node 0 is the target. Without memory the search ends. */
static bool has_enough(void *context)
{
	struct tracing *tracing = context;
	uint32_t nodes = tracing->graph.node_count, *grown;

	if (nodes > tracing->visits_room) {
		grown = reallocarray(tracing->visits, nodes, sizeof(*grown));
		if (!grown)
			return true;
		tracing->visits = grown;
		tracing->visits_room = nodes;
	}
	memset(tracing->visits, 0, nodes * sizeof(*tracing->visits));
	tracing->tail = 0;
	tracing->rooted_count = tracing->unheld_count = 0;
	tracing->cycle = tracing->open = GRAPH_NONE;
	tracing->cut = false;
	extend(tracing, 0, GRAPH_NONE);
	for (uint32_t head = 0; head < tracing->tail &&
	     tracing->rooted_count < tracing->max_chains; head++)
		follow(tracing, head);
	return tracing->rooted_count == tracing->max_chains;
}

static int describe_trail(struct tracing *tracing, uint32_t trail, enum holder_end end,
			  struct holder_chain *ret)
{
	size_t count = tracing->trail[trail].length, i = 0;
	_cleanup_free_ uint32_t *edge = calloc(count, sizeof(*edge));

	if (!edge)
		return -ENOMEM;
	for (; trail != GRAPH_NONE && i < count; trail = tracing->trail[trail].before)
		edge[i++] = tracing->trail[trail].edge;
	ret->end = end;
	ret->target = tracing->graph.node[0].address;
	return describe(tracing->holders, &tracing->graph, edge, count, ret);
}

/* Whether the last chain is, for who reads it, the one before: by another pointer of the same. */
static bool is_repeated(const struct holder_chains *chains)
{
	const struct holder_chain *last = &chains->chain[chains->count - 1], *before = last - 1;

	if (chains->count < 2 || strcmp(last->text, before->text) != 0 ||
	    last->count != before->count || last->left_out != before->left_out)
		return false;
	for (size_t i = 0; i < last->count; i++)
		if (last->link[i].base != before->link[i].base)
			return false;
	return true;
}

static int add_chain(struct tracing *tracing, uint32_t trail, enum holder_end end,
		     struct holder_chains *chains)
{
	int r = describe_trail(tracing, trail, end, &chains->chain[chains->count++]);

	if (r == 0 && is_repeated(chains))
		holder_chain_done(&chains->chain[--chains->count]);
	return r;
}

static int describe_all(struct tracing *tracing, struct holder_chains *chains)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < tracing->rooted_count; i++)
		r = add_chain(tracing, tracing->rooted[i], HOLDER_ROOTED, chains);
	for (size_t i = 0; r == 0 && tracing->rooted_count == 0 && i < tracing->unheld_count; i++)
		r = add_chain(tracing, tracing->unheld[i], HOLDER_UNHELD, chains);
	if (r == 0 && chains->count == 0 && tracing->open != GRAPH_NONE)
		r = add_chain(tracing, tracing->open, HOLDER_CUT, chains);
	else if (r == 0 && chains->count == 0 && tracing->cycle != GRAPH_NONE)
		r = add_chain(tracing, tracing->cycle, HOLDER_CYCLE, chains);
	return r;
}

static int trace_block(struct tracing *tracing, const struct block *block,
		       struct holder_chains *chains)
{
	int r = graph_add(&tracing->graph, block) == GRAPH_NONE ? -ENOMEM : 0;

	tracing->trail = calloc(MAX_TRAILS, sizeof(*tracing->trail));
	tracing->rooted = calloc(tracing->max_chains, sizeof(*tracing->rooted));
	tracing->unheld = calloc(tracing->max_chains, sizeof(*tracing->unheld));
	chains->chain = calloc(tracing->max_chains, sizeof(*chains->chain));
	if (r < 0 || !tracing->trail || !tracing->rooted || !tracing->unheld || !chains->chain)
		return -ENOMEM;
	r = graph_run(&tracing->graph, has_enough, tracing);
	return r == 0 ? describe_all(tracing, chains) : r;
}

int holders_trace(struct holders *holders, uint64_t address, size_t max_chains,
		  unsigned int max_links, struct holder_chains *ret)
{
	_cleanup_(tracing_done) struct tracing tracing = {
		.holders = holders, .max_chains = max_chains ? max_chains : DEFAULT_CHAINS,
		.max_links = max_links ? max_links : DEFAULT_LINKS,
	};
	struct graph_input input = graph_input_of(holders);
	struct holder_chains chains = { .count = 0 };
	double begin = now();
	struct block block;
	int r;

	if (!blocks_find(holders->input.blocks, address, &block))
		return -ENOENT;
	input.max_holders = TRACE_HOLDERS;
	input.all_ways = true;
	r = graph_init(&tracing.graph, &input);
	if (r == 0)
		r = trace_block(&tracing, &block, &chains);
	chains.cut = tracing.cut || tracing.rooted_count == tracing.max_chains;
	note_effort(&tracing.graph, begin, &chains);
	if (r < 0)
		holder_chains_done(&chains);
	else
		*ret = chains;
	return r;
}
