/* SPDX-License-Identifier: MIT */
/*
 * mark_flow.c - marks blocks, and follows what marked blocks lead to.
 *
 * A block that is marked goes on its worker's stack, from there through a short queue in which its
 * record is fetched, and its links through another in which the lines of their targets are, so
 * that ten or more misses are always under way. A stack that is full leaves its blocks pending:
 * bits, not a list, so there is no depth that needs memory.
 */
#include "src/leak/mark/mark_work.h"

#include "src/leak/mark/mark_records.h"

#define SOON	8u		/* blocks whose records are being fetched */
#define TARGETS	16u		/* places whose lines are */
#define SPARE	256u		/* a stack of more is shared with a worker that has none */

const uint8_t *mark_record(const struct marker *marker, uint64_t start)
{
	const uint8_t *records = mark_chunk(marker, start)->records;
	const struct line *line = map_line(marker->map, start);
	uint64_t before = line->unread & (map_bit(start) - 1);

	if (!records || !line->records)
		return NULL;
	records += line->records - 1;
	for (unsigned int skip = (unsigned int)__builtin_popcountll(before); skip;) {
		uint8_t first = *records;

		records += link_bytes(first);
		skip -= link_is_last(first);
	}
	return records;
}

void mark_push(struct worker *worker, uint64_t start)
{
	if (!(map_line(worker->marker->map, start)->unread & map_bit(start)))
		return;
	if (worker->stack_count < STACK_ROOM)
		worker->stack[worker->stack_count++] = start;
	else
		mark_pending_add(worker->marker, start);
}

void mark_reach(struct worker *worker, uint64_t start)
{
	struct marker *marker = worker->marker;

	if (!bits_set(&map_line(marker->map, start)->reach, map_bit(start)))
		return;
	if (__atomic_load_n(&mark_chunk(marker, start)->streamed, __ATOMIC_SEQ_CST))
		mark_push(worker, start);
	else if (mark_is_large(marker->map, start))
		mark_large_add(worker, start);
	/* Else the one who streams it sees that it is marked. */
}

static void place_reachable(struct worker *worker, uint64_t start, uint64_t place)
{
	struct line *line = map_line(worker->marker->map, start);

	if (bits_load(&line->reach) & map_bit(start))
		return;
	if (place == start << 4) {
		mark_reach(worker, start);
		return;
	}
	bits_set(&line->loose, map_bit(start));
	place = mark_idiom_place(worker->marker, start, place);
	if (!(place & 7) && (worker->marker->input->heuristics || worker->marker->map->aligned))
		mark_hit(worker, place);
}

static void place_possible(struct worker *worker, uint64_t start)
{
	struct line *line = map_line(worker->marker->map, start);

	if (!(bits_load(&line->reach) & map_bit(start)) && bits_set(&line->loose, map_bit(start)))
		mark_push(worker, start);
}

static void place_lost(struct worker *worker, uint64_t start)
{
	struct marker *marker = worker->marker;
	struct line *line = map_line(marker->map, start);
	struct block block;

	if (!(line_lost(line) & ~line->hit & map_bit(start)) || start == marker->lost_leader)
		return;
	line->hit |= map_bit(start);
	block = map_block(marker->map, map_segment_of(marker->map, start), start);
	cliques_claim(marker->map->cliques, block.address, block.bytes);
	mark_push(worker, start);
}

void mark_place(struct worker *worker, uint64_t start, uint64_t place)
{
	switch (worker->marker->mode) {
	case MARK_REACHABLE:
		place_reachable(worker, start, place);
		break;
	case MARK_POSSIBLE:
		place_possible(worker, start);
		break;
	case MARK_LOST:
		place_lost(worker, start);
		break;
	}
}

/* A block that has no record: it has to be read. */
static void follow_unread(struct worker *worker, uint64_t start)
{
	struct marker *marker = worker->marker;

	if (mark_is_large(marker->map, start))
		mark_large_add(worker, start);
	else
		mark_pending_add(marker, start);
}

/* A queue of places; full when count is TARGETS. */
struct targets {
	uint64_t place[TARGETS];
	unsigned int first, count;
};

static void take_target(struct worker *worker, struct targets *targets)
{
	uint64_t place = targets->place[targets->first % TARGETS];
	uint64_t start = map_start(worker->marker->map, place >> 4);

	targets->first++;
	targets->count--;
	/* A link is made only for a place in a block. */
	if (start != BLOCK_NONE)
		mark_place(worker, start, place);
}

static void add_target(struct worker *worker, struct targets *targets, struct link link)
{
	unsigned int byte = link.kind == LINK_LOOSE ? 2 : link.half ? 8 : 0;	/* 2: no idiom */

	__builtin_prefetch(map_line(worker->marker->map, link.index), 1);
	if (targets->count == TARGETS)
		take_target(worker, targets);
	targets->place[(targets->first + targets->count++) % TARGETS] = link.index << 4 | byte;
}

static void follow(struct worker *worker, struct targets *targets, uint64_t start)
{
	const uint8_t *at = mark_record(worker->marker, start);
	uint8_t first = at ? __atomic_load_n(at, __ATOMIC_RELAXED) : RECORD_UNREAD;

	if (first == RECORD_UNREAD)
		follow_unread(worker, start);
	if (first == RECORD_UNREAD || first == RECORD_EMPTY)
		return;
	for (;; at += link_bytes(first), first = *at) {
		add_target(worker, targets, link_get(at, start));
		if (link_is_last(first))
			break;
	}
}

/* Blocks that will be followed next, in the order in which their records were asked for. */
struct soon {
	uint64_t start[SOON];
	unsigned int first, count;
};

static void fill_soon(struct worker *worker, struct soon *soon)
{
	const struct marker *marker = worker->marker;

	while (soon->count < SOON && worker->stack_count) {
		uint64_t start = worker->stack[--worker->stack_count];
		const uint8_t *records = mark_chunk(marker, start)->records;

		if (records)
			__builtin_prefetch(records + map_line(marker->map, start)->records);
		soon->start[(soon->first + soon->count++) % SOON] = start;
	}
}

/* Leaves half of the stack, its older end, to those who have nothing to do. */
static void share(struct worker *worker)
{
	struct marker *marker = worker->marker;
	size_t half = worker->stack_count / 2;

	if (worker->stack_count < SPARE ||
	    __atomic_load_n(&marker->busy, __ATOMIC_RELAXED) == marker->workers ||
	    __atomic_load_n(&marker->pending, __ATOMIC_RELAXED))
		return;
	for (size_t i = 0; i < half; i++)
		mark_pending_add(marker, worker->stack[i]);
	for (size_t i = half; i < worker->stack_count; i++)
		worker->stack[i - half] = worker->stack[i];
	worker->stack_count -= half;
}

void mark_flow(struct worker *worker)
{
	struct targets targets = { .count = 0 };
	struct soon soon = { .count = 0 };

	for (;;) {
		fill_soon(worker, &soon);
		if (soon.count) {
			soon.count--;
			follow(worker, &targets, soon.start[soon.first++ % SOON]);
		} else if (targets.count) {
			take_target(worker, &targets);
		} else {
			break;
		}
		share(worker);
	}
}
