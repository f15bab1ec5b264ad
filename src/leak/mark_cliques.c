/* SPDX-License-Identifier: MIT */
/*
 * mark_cliques.c - see mark_cliques.h.
 *
 * One byte string: for each leader that claimed any, the distance of its address from the
 * previous such leader's, then the distances of what it claimed from one to the next, then 0.
 * A signpost now and then keeps finding a leader short. Nothing is ever taken out: a leader
 * that is claimed itself stays, and is found again by its own address.
 * Rejected: the leader's number at each block, 4 to 8 bytes for all lost blocks.
 */
#include "src/leak/mark_cliques.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define SIGNPOST_BYTES	512u	/* from one signpost to the next, at least */
#define NUMBER_BYTES	10u	/* of an encoded number, at most */

struct signpost {
	uint64_t before;	/* address of the leader before the one here, 0: none */
	uint64_t offset;
};
struct cliques {
	uint8_t *byte;
	size_t count, room;
	struct signpost *signpost;
	size_t signpost_count, signpost_room;
	uint64_t leader, leader_index;	/* of begin */
	uint64_t previous;		/* the last leader that is in the log, 0: none */
	uint64_t last;			/* index of the last claim */
	bool open;			/* leader has claimed */
};

int cliques_new(struct cliques **ret)
{
	struct cliques *cliques = calloc(1, sizeof(*cliques));

	if (!cliques)
		return -ENOMEM;
	*ret = cliques;
	return 0;
}

void cliques_free(struct cliques *cliques)
{
	if (!cliques)
		return;
	free(cliques->byte);
	free(cliques->signpost);
	free(cliques);
}

static int put_number(struct cliques *cliques, uint64_t number)
{
	if (cliques->room - cliques->count < NUMBER_BYTES) {
		size_t room = cliques->room + cliques->room / 4 + 4096;
		uint8_t *grown = realloc(cliques->byte, room);

		if (!grown)
			return -ENOMEM;
		cliques->byte = grown;
		cliques->room = room;
	}
	for (; number > 127; number >>= 7)
		cliques->byte[cliques->count++] = (uint8_t)(number | 128);
	cliques->byte[cliques->count++] = (uint8_t)number;
	return 0;
}

static uint64_t get_number(const struct cliques *cliques, size_t *offset)
{
	uint64_t number = 0;

	for (unsigned int shift = 0;; shift += 7) {
		uint8_t byte = cliques->byte[(*offset)++];

		number |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return number;
	}
}

/* The distance from one index to another as a number that is small both ways, never 0. */
static uint64_t distance(uint64_t from, uint64_t to)
{
	return to > from ? (to - from) << 1 : (from - to) << 1 | 1;
}

static uint64_t move(uint64_t from, uint64_t distance)
{
	return distance & 1 ? from - (distance >> 1) : from + (distance >> 1);
}

static int put_signpost(struct cliques *cliques)
{
	size_t count = cliques->signpost_count;

	if (count && cliques->count - cliques->signpost[count - 1].offset < SIGNPOST_BYTES)
		return 0;
	if (count == cliques->signpost_room) {
		size_t room = count + count / 4 + 64;
		struct signpost *grown = reallocarray(cliques->signpost, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		cliques->signpost = grown;
		cliques->signpost_room = room;
	}
	cliques->signpost[count] = (struct signpost){ cliques->previous, cliques->count };
	cliques->signpost_count++;
	return 0;
}

void cliques_begin(struct cliques *cliques, uint64_t leader, uint64_t index)
{
	cliques->leader = leader;
	cliques->leader_index = index;
	cliques->open = false;
}

static int open_clique(struct cliques *cliques)
{
	int error = put_signpost(cliques);

	if (!error)
		error = put_number(cliques, cliques->leader - cliques->previous);
	if (error)
		return error;
	cliques->previous = cliques->leader;
	cliques->last = cliques->leader_index;
	cliques->open = true;
	return 0;
}

int cliques_claim(struct cliques *cliques, uint64_t index)
{
	int error = cliques->open ? 0 : open_clique(cliques);

	if (!error)
		error = put_number(cliques, distance(cliques->last, index));
	cliques->last = index;
	return error;
}

int cliques_end(struct cliques *cliques)
{
	return cliques->open ? put_number(cliques, 0) : 0;
}

/* The last signpost from which leader can be reached; NULL: it is before all. */
static const struct signpost *signpost_for(const struct cliques *cliques, uint64_t leader)
{
	size_t low = 0, high = cliques->signpost_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cliques->signpost[middle].before < leader)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &cliques->signpost[low - 1] : NULL;
}

/* Where the claims of leader begin; SIZE_MAX: it has none. */
static size_t find_leader(const struct cliques *cliques, uint64_t leader)
{
	const struct signpost *from = signpost_for(cliques, leader);
	size_t offset = from ? from->offset : SIZE_MAX;
	uint64_t at = from ? from->before : 0;

	while (offset < cliques->count) {
		at += get_number(cliques, &offset);
		if (at >= leader)
			return at == leader ? offset : SIZE_MAX;
		while (get_number(cliques, &offset))
			;
	}
	return SIZE_MAX;
}

int cliques_each(const struct cliques *cliques, uint64_t leader, uint64_t index,
		 int (*each)(void *context, uint64_t index), void *context)
{
	size_t offset = find_leader(cliques, leader);
	uint64_t number;
	int result = 0;

	if (offset == SIZE_MAX)
		return 0;
	while (!result && (number = get_number(cliques, &offset))) {
		index = move(index, number);
		result = each(context, index);
	}
	return result;
}

size_t cliques_memory(const struct cliques *cliques)
{
	return cliques->room + cliques->signpost_room * sizeof(struct signpost);
}
