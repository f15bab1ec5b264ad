/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - an append-only store of call stacks and an index to find equal ones.
 *
 * Frames lie in large chunks that never move, so a borrowed stack stays valid
 * while others are added. The index is open addressing over 32-bit ids; the
 * full hash is kept per stack, so growing never touches a frame again.
 * Two stacks are equal when frames and flags are: a truncated stack is another
 * one than the whole stack with the same visible frames. Nothing is removed: a
 * session has some 100,000 stacks, and every id handed out must keep its meaning.
 * A trie over outer frames was rejected: it saves memory but makes reading a
 * stack a pointer chase, and sites read far more often than they intern.
 */
#include "src/live/stacks.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define CHUNK_FRAMES	65536u
#define FIRST_SLOTS	1024u
#define MAX_STACKS	(1u << 30)

_Static_assert(sizeof(struct frame) == 16, "compared and hashed as bytes, no padding");
_Static_assert(CHUNK_FRAMES >= STACKS_MAX_FRAMES, "one stack fits one chunk");

struct stack_entry {
	const struct frame *frame;
	uint64_t hash;
	uint32_t count;
	uint32_t flags;
};

struct stacks {
	struct stack_entry *entry;	/* [id - 1] */
	uint32_t count, capacity;
	uint32_t *slot;			/* id or 0 */
	uint32_t slot_mask;
	struct frame **chunk;
	uint32_t chunk_count, chunk_used;
	uint64_t seed;			/* the target chooses the frames, not their slots */
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_stack(const struct stacks *stacks, const struct frame *frame, uint32_t count,
			   uint32_t flags)
{
	uint64_t hash = mix(stacks->seed, ((uint64_t)count << 32) | flags);

	for (uint32_t i = 0; i < count; i++) {
		uint64_t head = ((uint64_t)frame[i].module << 32) | frame[i].flags;

		hash = mix(hash ^ head, frame[i].offset);
	}
	return hash;
}

int stacks_new(struct stacks **ret)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	stacks->slot = calloc(FIRST_SLOTS, sizeof(*stacks->slot));
	if (!stacks->slot) {
		stacks_free(stacks);
		return -ENOMEM;
	}
	stacks->slot_mask = FIRST_SLOTS - 1;
	/* Without entropy an unlucky order of slots is the worst that can happen. */
	if (getrandom(&stacks->seed, sizeof(stacks->seed), GRND_NONBLOCK) < 0)
		stacks->seed = (uint64_t)(uintptr_t)stacks;
	*ret = stacks;
	return 0;
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	for (uint32_t i = 0; i < stacks->chunk_count; i++)
		free(stacks->chunk[i]);
	free(stacks->chunk);
	free(stacks->entry);
	free(stacks->slot);
	free(stacks);
}

static bool entry_is(const struct stack_entry *entry, uint64_t hash, const struct frame *frame,
		     uint32_t count, uint32_t flags)
{
	return entry->hash == hash && entry->count == count && entry->flags == flags &&
	       (count == 0 || memcmp(entry->frame, frame, count * sizeof(*frame)) == 0);
}

/* The slot of an equal stack, or the empty one where it belongs. */
static uint32_t *find_slot(struct stacks *stacks, uint64_t hash, const struct frame *frame,
			   uint32_t count, uint32_t flags)
{
	for (uint32_t i = (uint32_t)hash & stacks->slot_mask;; i = (i + 1) & stacks->slot_mask) {
		uint32_t id = stacks->slot[i];

		if (id == 0 || entry_is(&stacks->entry[id - 1], hash, frame, count, flags))
			return &stacks->slot[i];
	}
}

static int grow_slots(struct stacks *stacks)
{
	uint32_t mask = stacks->slot_mask * 2 + 1;
	uint32_t *slot = calloc((size_t)mask + 1, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	for (uint32_t id = 1; id <= stacks->count; id++) {
		uint32_t i = (uint32_t)stacks->entry[id - 1].hash & mask;

		while (slot[i])
			i = (i + 1) & mask;
		slot[i] = id;
	}
	free(stacks->slot);
	stacks->slot = slot;
	stacks->slot_mask = mask;
	return 0;
}

static int grow_entries(struct stacks *stacks)
{
	uint32_t capacity = stacks->capacity ? stacks->capacity * 2 : 256;
	struct stack_entry *entry;

	if (stacks->count < stacks->capacity)
		return 0;
	if (capacity > MAX_STACKS)
		return -ENOMEM;
	entry = reallocarray(stacks->entry, capacity, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	stacks->entry = entry;
	stacks->capacity = capacity;
	return 0;
}

static int add_chunk(struct stacks *stacks)
{
	struct frame **chunk = reallocarray(stacks->chunk, stacks->chunk_count + 1, sizeof(*chunk));

	if (!chunk)
		return -ENOMEM;
	stacks->chunk = chunk;
	chunk[stacks->chunk_count] = reallocarray(NULL, CHUNK_FRAMES, sizeof(struct frame));
	if (!chunk[stacks->chunk_count])
		return -ENOMEM;
	stacks->chunk_count++;
	stacks->chunk_used = 0;
	return 0;
}

/* Room for everything that one more stack needs, so that adding it can't fail half-way. */
static int make_room(struct stacks *stacks, uint32_t count)
{
	int r = 0;

	if (stacks->chunk_count == 0 || stacks->chunk_used + count > CHUNK_FRAMES)
		r = add_chunk(stacks);
	if (r == 0)
		r = grow_entries(stacks);
	if (r == 0 && stacks->count >= stacks->slot_mask / 4 * 3)
		r = grow_slots(stacks);
	return r;
}

static uint32_t append(struct stacks *stacks, uint64_t hash, const struct frame *frame,
		       uint32_t count, uint32_t flags)
{
	struct frame *copy = stacks->chunk[stacks->chunk_count - 1] + stacks->chunk_used;

	if (count > 0)
		memcpy(copy, frame, count * sizeof(*frame));
	stacks->chunk_used += count;
	stacks->entry[stacks->count++] = (struct stack_entry){
		.frame = copy, .hash = hash, .count = count, .flags = flags,
	};
	return stacks->count;
}

int stacks_intern(struct stacks *stacks, const struct frame *frame, uint32_t count,
		  uint32_t flags, uint32_t *ret_id)
{
	uint64_t hash;
	uint32_t *slot;
	int r;

	if (count > STACKS_MAX_FRAMES) {
		count = STACKS_MAX_FRAMES;
		flags |= STACK_TRUNCATED;
	}
	hash = hash_stack(stacks, frame, count, flags);
	slot = find_slot(stacks, hash, frame, count, flags);
	if (*slot == 0) {
		r = make_room(stacks, count);
		if (r < 0)
			return r;
		slot = find_slot(stacks, hash, frame, count, flags);
		*slot = append(stacks, hash, frame, count, flags);
	}
	*ret_id = *slot;
	return 0;
}

struct stack stacks_get(const struct stacks *stacks, uint32_t id)
{
	const struct stack_entry *entry;

	if (id == 0 || id > stacks->count)
		return (struct stack){ 0 };
	entry = &stacks->entry[id - 1];
	return (struct stack){
		.frame_count = entry->count, .flags = entry->flags, .frame = entry->frame,
	};
}

uint32_t stacks_count(const struct stacks *stacks)
{
	return stacks->count;
}
