/* SPDX-License-Identifier: MIT */
/* reader_private.h - the reader's state; reader.c explains it. */
#ifndef MEMATTACH_READER_PRIVATE_H
#define MEMATTACH_READER_PRIVATE_H

#include "src/ring/reader.h"

#define HOLES_MAX	256u
#define POSITION_MASK	((1ull << 48) - 1u)
#define RELIEVED	0.5	/* of a ring in use: no longer pressed */
#define AHEAD		32u	/* a power of two, more than the first stage is ahead */
#define LINE_WORDS	(RING_LINE / 8u)

struct reader_hole {
	uint64_t position;
	uint32_t lines;
};

/* What was found out about the record at position. */
struct reader_ahead {
	uint64_t position;
	struct reader_hint hint;
};

struct reader_ring {
	struct ring_head *shared;
	uint64_t *words;		/* the ring's lines, shared */
	uint64_t tail, published;	/* released; as the target was told */
	uint64_t parsed;		/* everything below was taken or is a hole */
	uint64_t seen;			/* head at the last look */
	uint64_t head;			/* head at this look; becomes seen when it is dealt with */
	uint64_t limit;			/* of this drain: head, or the first unparsable slot */
	uint64_t bound;			/* what can't be parsed was reserved after this TSC */
	uint64_t prefix;		/* latest time handed over from this ring, in slot order */
	uint32_t hole_count, hole_cursor;
	struct reader_hole hole[HOLES_MAX];
	struct reader_ahead ahead[AHEAD];	/* by position */

	/* The next record of the merge: a checked copy. */
	struct ring_record record;
	uint64_t position;
	uint32_t lines;
	bool from_hole;
};

struct reader {
	struct ring_control *control;
	uint64_t (*clock)(void);
	uint64_t ring_lines;
	uint32_t ring_count;
	uint64_t not_after;	/* reader_hold; 0: none */
	bool finishing;
	uint64_t now, last;		/* T of this drain and of the one before */
	uint64_t complete;		/* the T that records were really held against */
	uint64_t corrupt, abandoned;
	uint64_t unreachable;		/* at the end: rings not parsed to their heads */
	struct reader_losses base;
	reader_foresee_fn foresee;	/* NULL: none */
	void *foresee_context;
	uint32_t heap_count;
	uint16_t heap[RING_MAX_RINGS];	/* rings with a next record, earliest first */
	struct reader_ring ring[];
};

/* Pairs with the shim's release store of a commit word, and of head. */
static inline uint64_t ring_load_acquire(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint64_t ring_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline uint64_t *ring_line(const struct reader *reader, const struct reader_ring *ring,
				  uint64_t position)
{
	return ring->words + (position & (reader->ring_lines - 1u)) * LINE_WORDS;
}

/* What the target has counted since its ring began. */
void reader_losses_sum(const struct reader *reader, struct reader_losses *ret);

/* After a record of ring was taken: foresee() what will be taken soon (reader_ahead.c). */
void reader_look_ahead(const struct reader *reader, struct reader_ring *ring);

#endif
