/* SPDX-License-Identifier: MIT */
/*
 * leak_graph.c - see leak_graph.h.
 *
 * The reference is as simple as can be: a sorted array, a list of what is to be scanned, one
 * read a page. It is written from memcheck's description of its states; where only the usable
 * size is known, all sizes that may have been asked for are tried.
 */
#include "tests/unit/leak_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

void graph_init(struct graph *graph)
{
	*graph = (struct graph){ .heuristics = MARK_ALL_HEURISTICS };
	graph->picture.mem = memfd_create("graph", MFD_CLOEXEC);
	assert_true(graph->picture.mem >= 0);
	assert_int_equal(ftruncate(graph->picture.mem, 1ll << 46), 0);
	assert_int_equal(blocks_new(&graph->blocks), 0);
}

void graph_done(struct graph *graph)
{
	blocks_free(graph->blocks);
	picture_done(&graph->picture);
	free(graph->roots.root);
	free(graph->roots.word);
	free(graph->block);
}

void graph_segment(struct graph *graph, uint64_t low, uint64_t high, unsigned int granule)
{
	assert_int_equal(blocks_add_segment(graph->blocks, low, high, granule), 0);
}

size_t graph_add(struct graph *graph, uint64_t address, uint64_t bytes)
{
	if (graph->count == graph->room) {
		graph->room = graph->room * 2 + 16;
		graph->block = reallocarray(graph->block, graph->room, sizeof(*graph->block));
		assert_non_null(graph->block);
	}
	assert_int_equal(blocks_add(graph->blocks, address, bytes), 0);
	graph->block[graph->count] = (struct graph_block){ .address = address, .bytes = bytes };
	return graph->count++;
}

void graph_hole(struct graph *graph, uint64_t low, uint64_t high)
{
	assert_int_equal(ranges_add(&graph->picture.holes, low, high), 0);
	ranges_normalize(&graph->picture.holes);
}

void graph_word(struct graph *graph, uint64_t address, uint64_t value)
{
	assert_int_equal(pwrite(graph->picture.mem, &value, sizeof(value), (off_t)address),
			 sizeof(value));
}

void graph_root(struct graph *graph, uint64_t low, uint64_t high)
{
	struct roots *roots = &graph->roots;

	roots->root = reallocarray(roots->root, roots->count + 1, sizeof(*roots->root));
	assert_non_null(roots->root);
	roots->root[roots->count++] = (struct root){ .low = low, .high = high };
	roots->bytes += high - low;
}

void graph_register(struct graph *graph, uint64_t value)
{
	struct roots *roots = &graph->roots;

	roots->word = reallocarray(roots->word, roots->word_count + 1, sizeof(*roots->word));
	assert_non_null(roots->word);
	roots->word[roots->word_count++] = (struct root_word){ .value = value };
}

/* ---- the reference ---- */

#define UNREACHED BLOCK_DEFINITELY_LOST

struct reference {
	struct graph *graph;
	size_t *stack;
	size_t count;
	size_t leader;		/* SIZE_MAX: not in the last phase */
};

static int by_address(const void *a, const void *b)
{
	const struct graph_block *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static struct graph_block *find(const struct graph *graph, uint64_t pointer)
{
	size_t low = 0, high = graph->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		struct graph_block *block = &graph->block[middle];

		if (pointer < block->address)
			high = middle;
		else if (pointer - block->address >= block->bytes)
			low = middle + 1;
		else
			return block;
	}
	return NULL;
}

static uint64_t asked_of(void *context, uint64_t address)
{
	const struct graph_block *block = find(context, address);

	return block && block->address == address ? block->asked : 0;
}

struct mark_input graph_input(struct graph *graph, unsigned int workers, size_t memory)
{
	return (struct mark_input){ .picture = &graph->picture,
				    .blocks = graph->blocks,
				    .roots = &graph->roots,
				    .heuristics = graph->heuristics,
				    .workers = workers,
				    .memory = memory,
				    .asked = asked_of, .context = graph };
}

static uint64_t word_in(const struct graph *graph, const struct graph_block *block, uint64_t offset)
{
	if (offset + 8 > block->bytes)
		return 0;
	return picture_word(&graph->picture, block->address + offset);
}

static bool is_code(const struct graph *graph, uint64_t address)
{
	const struct procmap *map = procmaps_find(&graph->picture.maps, address);

	return map && map->inode && (map->prot & PROCMAP_X);
}

static bool is_vtable(const struct graph *graph, uint64_t address)
{
	const struct procmap *map = procmaps_find(&graph->picture.maps, address);
	int functions = 0;

	if (address % 8 || address < 4096 || !map || !map->inode || !(map->prot & PROCMAP_R))
		return false;
	for (uint64_t at = address; at <= address + 160 && at + 8 <= map->end; at += 8) {
		uint64_t word = picture_word(&graph->picture, at);

		if (word && !is_code(graph, word))
			return false;
		if (word && ++functions == 2)
			return true;
	}
	return false;
}

/* Whether some size that may have been asked for passes test. */
static bool some_size(const struct graph_block *block, uint64_t slack,
		      bool (*test)(uint64_t size, uint64_t word), uint64_t word)
{
	if (block->asked)
		return test(block->asked, word);
	for (uint64_t size = block->bytes; size && block->bytes - size < slack; size--)
		if (test(size, word))
			return true;
	return false;
}

static bool string_of(uint64_t size, uint64_t capacity)
{
	return capacity < size && 24 + capacity + 1 == size;
}
static bool length_of(uint64_t size, uint64_t length)
{
	return length && size > 8 && size - 8 == length;
}
static bool array_of(uint64_t size, uint64_t elements)
{
	return elements && size > 8 && (size - 8) % elements == 0;
}
static bool empty_array_of(uint64_t size, uint64_t elements)
{
	return elements == 0 && size == 8;
}

/* The first eight bytes of the block, zeros beyond its end. */
static uint64_t head_of(const struct graph *graph, const struct graph_block *block)
{
	uint64_t word = picture_word(&graph->picture, block->address);

	return block->bytes < 8 ? word & ((1ull << block->bytes * 8) - 1) : word;
}

/* A kind of sds: its header's bytes, and what stands in them. */
static bool sds_of(const struct graph *graph, const struct graph_block *block, uint64_t header,
		   uint64_t length, uint64_t room)
{
	uint64_t coarse = block->bytes / 4 > 24 ? block->bytes / 4 : 24;
	uint64_t most = block->asked ? block->asked : block->bytes;
	uint64_t kind = head_of(graph, block) >> (header - 1) * 8 & 7;

	return kind == (header - 1) / 2 && length <= room && header + room < most &&
	       most - header - room - 1 < (block->asked ? 1 : coarse) &&
	       (word_in(graph, block, header + length) & 0xff) == 0;
}

static bool is_sds(const struct graph *graph, const struct graph_block *block)
{
	uint64_t first = head_of(graph, block);

	return sds_of(graph, block, 1, first >> 3 & 31, first >> 3 & 31) ||
	       sds_of(graph, block, 3, first & 0xff, first >> 8 & 0xff) ||
	       sds_of(graph, block, 5, first & 0xffff, first >> 16 & 0xffff);
}

static bool by_heuristic(const struct graph *graph, const struct graph_block *block,
			 uint64_t pointer)
{
	uint64_t offset = pointer - block->address, first = word_in(graph, block, 0);
	uint64_t second = word_in(graph, block, 8);
	uint64_t coarse = block->bytes / 4 > 24 ? block->bytes / 4 : 24;
	uint64_t exact = block->bytes < 128 << 10 ? 16 : 4096;

	if ((graph->heuristics & MARK_SDS) && offset < 8 && offset % 2)
		offset = 8;
	if ((graph->heuristics & MARK_SDS) && offset == 8 && is_sds(graph, block))
		return true;
	if ((graph->heuristics & MARK_STDSTRING) && offset == 24 && first <= second &&
	    some_size(block, coarse, string_of, second))
		return true;
	if ((graph->heuristics & MARK_LENGTH64) && offset == 8 &&
	    some_size(block, coarse, length_of, first))
		return true;
	if ((graph->heuristics & MARK_NEWARRAY) && offset == 8 &&
	    (some_size(block, exact, array_of, first) ||
	     some_size(block, coarse, empty_array_of, first)))
		return true;
	return (graph->heuristics & MARK_MULTIPLE_INHERITANCE) && offset % 8 == 0 &&
	       is_vtable(graph, word_in(graph, block, offset)) && is_vtable(graph, first);
}

static void push(struct reference *r, struct graph_block *block)
{
	if (block->pending)
		return;
	block->pending = true;
	r->stack[r->count++] = (size_t)(block - r->graph->block);
}

static bool is_half(const struct graph_block *block, uint64_t pointer)
{
	const uint64_t border = 1ull << 32;
	uint64_t last = block->address + block->bytes - 1, low = pointer % border;
	uint64_t nearest = low < border / 2 ? pointer - low : pointer - low + border;

	return pointer != block->address && (low < 65536 || low >= border - 65536) &&
	       block->address < nearest && nearest <= last;
}

static void meet(struct reference *r, uint64_t pointer, bool prior_definite)
{
	struct graph_block *block = find(r->graph, pointer);
	bool start;

	if (!block || block->kind == BLOCK_REACHABLE || is_half(block, pointer))
		return;
	start = pointer == block->address || by_heuristic(r->graph, block, pointer);
	if (start && prior_definite) {
		block->kind = BLOCK_REACHABLE;
		push(r, block);
	} else if (block->kind == UNREACHED) {
		block->kind = BLOCK_POSSIBLY_LOST;
		push(r, block);
	}
}

static void claim(struct reference *r, uint64_t pointer)
{
	struct graph_block *block = find(r->graph, pointer);

	if (!block || is_half(block, pointer) || block->kind != UNREACHED ||
	    block == &r->graph->block[r->leader])
		return;
	block->kind = BLOCK_INDIRECTLY_LOST;
	block->clique = r->leader;
	push(r, block);
}

static void scan(struct reference *r, uint64_t low, uint64_t high, bool prior_definite)
{
	uint64_t word[512];

	for (uint64_t at = low; at < high; at += sizeof(word)) {
		size_t bytes = high - at < sizeof(word) ? high - at : sizeof(word);

		memset(word, 0, sizeof(word));
		picture_read_some(&r->graph->picture, at, word, bytes);
		for (size_t i = 0; i < bytes / 8; i++) {
			if (r->leader == SIZE_MAX)
				meet(r, word[i], prior_definite);
			else
				claim(r, word[i]);
		}
	}
}

static void process(struct reference *r)
{
	while (r->count) {
		struct graph_block *block = &r->graph->block[r->stack[--r->count]];

		block->pending = false;
		scan(r, block->address, block->address + block->bytes,
		     block->kind != BLOCK_POSSIBLY_LOST);
	}
}

void graph_reference(struct graph *graph)
{
	struct reference r = { .graph = graph, .leader = SIZE_MAX };

	r.stack = calloc(graph->count + 1, sizeof(*r.stack));
	qsort(graph->block, graph->count, sizeof(*graph->block), by_address);
	for (size_t i = 0; i < graph->count; i++)
		graph->block[i].kind = UNREACHED;
	for (size_t i = 0; i < graph->roots.count; i++)
		scan(&r, graph->roots.root[i].low, graph->roots.root[i].high, true);
	for (size_t i = 0; i < graph->roots.word_count; i++)
		meet(&r, graph->roots.word[i].value, true);
	process(&r);
	for (size_t i = 0; i < graph->count; i++) {
		if (graph->block[i].kind != UNREACHED)
			continue;
		r.leader = i;
		push(&r, &graph->block[i]);
		process(&r);
	}
	free(r.stack);
}

/* ---- the comparison ---- */

/* The leader that is left in the end of who claimed block. */
static size_t final_leader(const struct graph *graph, const struct graph_block *block)
{
	while (block->kind == BLOCK_INDIRECTLY_LOST)
		block = &graph->block[block->clique];
	return (size_t)(block - graph->block);
}

static void check_cliques(const struct graph *graph)
{
	struct clique *known = calloc(graph->count + 1, sizeof(*known));

	assert_non_null(known);
	for (size_t i = 0; i < graph->count; i++) {
		struct clique *clique = &known[final_leader(graph, &graph->block[i])];

		if (graph->block[i].kind != BLOCK_INDIRECTLY_LOST)
			continue;
		clique->count++;
		clique->bytes += graph->block[i].bytes;
	}
	for (size_t i = 0; i < graph->count; i++) {
		struct clique clique = mark_of_leader(graph->blocks, graph->block[i].address);

		assert_int_equal(clique.count, known[i].count);
		assert_int_equal(clique.bytes, known[i].bytes);
	}
	free(known);
}

void graph_check(struct graph *graph, unsigned int workers, size_t memory)
{
	struct mark_input input = graph_input(graph, workers, memory);
	uint64_t count[BLOCK_KINDS] = { 0 }, bytes[BLOCK_KINDS] = { 0 }, all = 0;
	struct mark_sums sums;

	assert_int_equal(mark_run(&input, &sums), 0);
	for (size_t i = 0; i < graph->count; i++) {
		const struct graph_block *block = &graph->block[i];

		assert_int_equal(mark_kind(graph->blocks, block->address), block->kind);
		count[block->kind]++;
		bytes[block->kind] += block->bytes;
		all += block->bytes - picture_hole_bytes(&graph->picture, block->address,
							 block->address + block->bytes);
	}
	assert_memory_equal(sums.count, count, sizeof(count));
	assert_memory_equal(sums.bytes, bytes, sizeof(bytes));
	assert_int_equal(sums.scanned_bytes, all + graph->roots.bytes);
	check_cliques(graph);
}
