/* SPDX-License-Identifier: MIT */
/*
 * mark_cliques.c - see mark_cliques.h.
 *
 * One byte string: for each leader that claimed any, the distance of its address from the
 * previous such leader's, then the number and the bytes of what it claimed. A signpost now and
 * then keeps finding a leader short. Nothing is ever taken out: a leader that is claimed itself
 * stays, and its sums are found again and added to those of the one who claims it.
 * Rejected: what each leader claimed, one by one, 2 to 6 bytes for all lost blocks: nobody asks.
 */
#include "src/leak/blocks/mark_cliques.h"

#include <errno.h>
#include <stdlib.h>

#include "src/base/array.h"

#define SIGNPOST_BYTES	128u	/* from one signpost to the next, at least */
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
	uint64_t leader;	/* of begin */
	uint64_t previous;	/* the last leader that is in the log, 0: none */
	struct clique open;	/* of leader */
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

/* The last signpost from which leader can be reached; NULL: it is before all. */
static const struct signpost *signpost_for(const struct cliques *cliques, uint64_t leader)
{
	size_t low = ARRAY_BISECT(cliques->signpost_count, i, cliques->signpost[i].before < leader);

	return low ? &cliques->signpost[low - 1] : NULL;
}

/* The next leader of the log; its address is at plus the distance that is there. */
static uint64_t next_leader(const struct cliques *cliques, size_t *offset, uint64_t at,
			    struct clique *ret)
{
	at += get_number(cliques, offset);
	ret->count = get_number(cliques, offset);
	ret->bytes = get_number(cliques, offset);
	return at;
}

struct clique cliques_of(const struct cliques *cliques, uint64_t leader)
{
	const struct signpost *from = signpost_for(cliques, leader);
	size_t offset = from ? from->offset : SIZE_MAX;
	uint64_t at = from ? from->before : 0;
	struct clique clique;

	while (offset < cliques->count && at < leader) {
		at = next_leader(cliques, &offset, at, &clique);
		if (at == leader)
			return clique;
	}
	return (struct clique){ 0, 0 };
}

void cliques_begin(struct cliques *cliques, uint64_t leader)
{
	cliques->leader = leader;
	cliques->open = (struct clique){ 0, 0 };
}

void cliques_claim(struct cliques *cliques, uint64_t address, uint64_t bytes)
{
	struct clique former = { 0, 0 };

	if (address < cliques->leader)
		former = cliques_of(cliques, address);
	cliques->open.count += 1 + former.count;
	cliques->open.bytes += bytes + former.bytes;
}

int cliques_end(struct cliques *cliques)
{
	int error;

	if (!cliques->open.count)
		return 0;
	error = put_signpost(cliques);
	if (!error)
		error = put_number(cliques, cliques->leader - cliques->previous);
	if (!error)
		error = put_number(cliques, cliques->open.count);
	if (!error)
		error = put_number(cliques, cliques->open.bytes);
	cliques->previous = cliques->leader;
	return error;
}

size_t cliques_memory(const struct cliques *cliques)
{
	return cliques->room + cliques->signpost_room * sizeof(struct signpost);
}
