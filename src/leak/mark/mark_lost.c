/* SPDX-License-Identifier: MIT */
/*
 * mark_lost.c - the third phase: which lost block is to blame for which.
 *
 * As memcheck does it, in ascending order of addresses: a block that nobody has claimed becomes a
 * leader and claims all that it leads to and that is still unclaimed, earlier leaders included
 * (with what they have claimed), so that of a cycle one leader is left. The order is the meaning,
 * so one worker does it alone, in memory: the links between lost blocks were collected by all
 * of them before. Rejected: strongly connected components, which give other leaders than
 * memcheck where a block is led to from two sides.
 */
#include "src/leak/mark/mark_work.h"

static void claim_all(struct worker *worker, const struct segment *segment, uint64_t leader)
{
	struct marker *marker = worker->marker;
	struct cliques *cliques = marker->map->cliques;

	marker->lost_leader = leader;
	cliques_begin(cliques, map_address(segment, leader));
	mark_push(worker, leader);
	do
		mark_flow(worker);
	while (mark_large_job(worker) || mark_pending_job(worker));
	if (!marker->error)
		marker->error = cliques_end(cliques);
}

static void lead_line(struct worker *worker, const struct segment *segment, uint64_t number)
{
	const struct line *line = &worker->marker->map->line[number];

	for (uint64_t left = line_lost(line) & line->unread; left; left &= left - 1)
		if (!(line->hit & left & -left))
			claim_all(worker, segment, number * LINE_GRANULES + bit_lowest(left));
}

void mark_lost(struct worker *worker)
{
	struct marker *marker = worker->marker;
	const struct blocks *map = marker->map;

	for (size_t i = 0; i < map->segment_count; i++) {
		const struct segment *segment = &map->segment[map->sorted[i]];
		uint64_t granules = (segment->high - 1 - segment->base) >> segment->shift;
		uint64_t last = (segment->first + granules) / LINE_GRANULES;

		for (uint64_t line = map_line_from(map, segment->first / LINE_GRANULES, last);
		     line != BLOCK_NONE && !marker->error;
		     line = line < last ? map_line_from(map, line + 1, last) : BLOCK_NONE)
			lead_line(worker, segment, line);
	}
}
