/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - an append-only store of call stacks and an index to find equal ones.
 *
 * Frames lie in large chunks that do not move while stacks are added, so a borrowed
 * stack stays valid. Before each stack's frames stands one that says whose they are.
 * The index is open addressing over places; the full hash is kept per stack, so growing
 * never touches a frame again.
 * Two stacks are equal when frames and flags are: a truncated stack is another
 * one than the whole stack with the same visible frames. Every id handed out keeps
 * its meaning: what stacks_sweep drops leaves an id of nothing. The rest moves together
 * then, frames within the chunks, so that it takes no memory to win some.
 * A trie over outer frames was rejected: it saves memory but makes reading a
 * stack a pointer chase, and sites read far more often than they intern.
 */
#include "src/modules/stacks.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "src/base/id_places.h"

#define CHUNK_FRAMES	65536u
#define FIRST_SLOTS	1024u
#define MAX_STACKS	(1u << 30)

_Static_assert(sizeof(struct frame) == 16, "compared and hashed as bytes, no padding");
_Static_assert(CHUNK_FRAMES > STACKS_MAX_FRAMES, "one stack fits one chunk");

struct stack_entry {
	const struct frame *frame;
	uint64_t hash;
	uint32_t count;
	uint32_t flags;
	uint32_t id;
	uint32_t kept : 1;		/* stacks_keep was called for it */
	uint32_t tag : 31;
};
struct stack_chunk {
	struct frame *frame;		/* before those of a stack one with its id, their count */
	uint32_t used;
};

struct stacks {
	struct stack_entry *entry;	/* by place */
	uint32_t count, capacity;
	struct id_places places;
	uint32_t *slot;			/* place + 1, or 0 */
	uint32_t slot_mask;
	struct stack_chunk *chunk;
	uint32_t chunk_count;
	uint64_t seed;			/* the target chooses the frames, not their slots */
	uint32_t hidden;		/* module whose frames are left out; 0: none */
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
		free(stacks->chunk[i].frame);
	id_places_done(&stacks->places);
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
		uint32_t at = stacks->slot[i];

		if (at == 0 || entry_is(&stacks->entry[at - 1], hash, frame, count, flags))
			return &stacks->slot[i];
	}
}

/* All stacks into the empty table slot. */
static void fill_slots(const struct stacks *stacks, uint32_t *slot, uint32_t mask)
{
	for (uint32_t at = 1; at <= stacks->count; at++) {
		uint32_t i = (uint32_t)stacks->entry[at - 1].hash & mask;

		while (slot[i])
			i = (i + 1) & mask;
		slot[i] = at;
	}
}

static int grow_slots(struct stacks *stacks)
{
	uint32_t mask = stacks->slot_mask * 2 + 1;
	uint32_t *slot = calloc((size_t)mask + 1, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	fill_slots(stacks, slot, mask);
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
	struct stack_chunk *chunk = reallocarray(stacks->chunk, stacks->chunk_count + 1,
						 sizeof(*chunk));

	if (!chunk)
		return -ENOMEM;
	stacks->chunk = chunk;
	chunk += stacks->chunk_count;
	*chunk = (struct stack_chunk){
		.frame = reallocarray(NULL, CHUNK_FRAMES, sizeof(struct frame)),
	};
	if (!chunk->frame)
		return -ENOMEM;
	stacks->chunk_count++;
	return 0;
}

/* Room for everything that one more stack needs, so that adding it can't fail half-way. */
static int make_room(struct stacks *stacks, uint32_t count)
{
	int r = 0;

	if (stacks->chunk_count == 0 ||
	    stacks->chunk[stacks->chunk_count - 1].used + count >= CHUNK_FRAMES)
		r = add_chunk(stacks);
	if (r == 0)
		r = grow_entries(stacks);
	if (r == 0 && stacks->count >= stacks->slot_mask / 4 * 3)
		r = grow_slots(stacks);
	return r;
}

/* pre: make_room. 0 or -ENOMEM. */
static int append(struct stacks *stacks, const struct stack_entry *like, uint32_t *ret_id)
{
	struct stack_chunk *chunk = &stacks->chunk[stacks->chunk_count - 1];
	struct frame *copy = chunk->frame + chunk->used + 1;
	int r = id_places_add(&stacks->places, stacks->count, ret_id);

	if (r < 0)
		return r;
	copy[-1] = (struct frame){ .module = *ret_id, .flags = like->count };
	if (like->count > 0)
		memcpy(copy, like->frame, like->count * sizeof(*copy));
	chunk->used += 1 + like->count;
	stacks->entry[stacks->count] = *like;
	stacks->entry[stacks->count].frame = copy;
	stacks->entry[stacks->count++].id = *ret_id;
	return 0;
}

static int intern(struct stacks *stacks, const struct frame *frame, uint32_t count,
		  uint32_t flags, uint32_t *ret_id)
{
	struct stack_entry wanted = { .frame = frame, .count = count, .flags = flags };
	uint32_t *slot;
	int r;

	if (count > STACKS_MAX_FRAMES) {
		wanted.count = STACKS_MAX_FRAMES;
		wanted.flags |= STACK_TRUNCATED;
	}
	wanted.hash = hash_stack(stacks, frame, wanted.count, wanted.flags);
	slot = find_slot(stacks, wanted.hash, frame, wanted.count, wanted.flags);
	if (*slot != 0) {
		*ret_id = stacks->entry[*slot - 1].id;
		return 0;
	}
	r = make_room(stacks, wanted.count);
	if (r == 0)
		r = append(stacks, &wanted, ret_id);
	if (r == 0)
		*find_slot(stacks, wanted.hash, frame, wanted.count, wanted.flags) = stacks->count;
	return r;
}

void stacks_hide_module(struct stacks *stacks, uint32_t module)
{
	stacks->hidden = module;
}

uint32_t stacks_drop_hidden(const struct stacks *stacks, struct frame *frame, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!stacks->hidden || frame[i].module != stacks->hidden)
			frame[kept++] = frame[i];
	return kept;
}

static bool has_hidden(const struct stacks *stacks, const struct frame *frame, uint32_t count)
{
	for (uint32_t i = 0; stacks->hidden && i < count; i++)
		if (frame[i].module == stacks->hidden)
			return true;
	return false;
}

int stacks_intern(struct stacks *stacks, const struct frame *frame, uint32_t count,
		  uint32_t flags, uint32_t *ret_id)
{
	_cleanup_free_ struct frame *shown = NULL;

	if (!has_hidden(stacks, frame, count))
		return intern(stacks, frame, count, flags, ret_id);
	shown = calloc(count, sizeof(*shown));
	if (!shown)
		return -ENOMEM;
	memcpy(shown, frame, count * sizeof(*shown));
	return intern(stacks, shown, stacks_drop_hidden(stacks, shown, count), flags, ret_id);
}

/* NULL: there is none, or no more. */
static struct stack_entry *find_entry(const struct stacks *stacks, uint32_t id)
{
	uint32_t place = id_places_get(&stacks->places, id);

	return place == ID_PLACES_NONE ? NULL : &stacks->entry[place];
}

struct stack stacks_get(const struct stacks *stacks, uint32_t id)
{
	const struct stack_entry *entry = find_entry(stacks, id);

	if (!entry)
		return (struct stack){ 0 };
	return (struct stack){
		.frame_count = entry->count, .flags = entry->flags, .frame = entry->frame,
	};
}

void stacks_foresee(const struct stacks *stacks, uint32_t id)
{
	const struct stack_entry *entry = find_entry(stacks, id);

	if (entry)
		__builtin_prefetch(entry);
}

uint32_t stacks_tag(const struct stacks *stacks, uint32_t id)
{
	const struct stack_entry *entry = find_entry(stacks, id);

	return entry ? entry->tag : 0;
}

void stacks_set_tag(struct stacks *stacks, uint32_t id, uint32_t tag)
{
	struct stack_entry *entry = find_entry(stacks, id);

	if (entry)
		entry->tag = tag & 0x7fffffffu;
}

bool stacks_is_dropped(const struct stacks *stacks, uint32_t id)
{
	return id != 0 && id <= stacks->places.last && !find_entry(stacks, id);
}

uint32_t stacks_count(const struct stacks *stacks)
{
	return stacks->places.last;
}

uint32_t stacks_kept_count(const struct stacks *stacks)
{
	return stacks->count;
}

size_t stacks_bytes(const struct stacks *stacks)
{
	return (size_t)stacks->chunk_count * CHUNK_FRAMES * sizeof(struct frame) +
	       stacks->count * sizeof(*stacks->entry) +
	       ((size_t)stacks->slot_mask + 1) * sizeof(*stacks->slot) +
	       id_places_bytes(&stacks->places);
}

/* ---- less of them ---- */

void stacks_keep(struct stacks *stacks, uint32_t id)
{
	struct stack_entry *entry = find_entry(stacks, id);

	if (entry)
		entry->kept = 1;
}

/* Where the frames that stay are moved to: always before, or where, they are. */
struct mover {
	uint32_t chunk, used;
};

static void move_stack(struct stacks *stacks, struct mover *to, const struct frame *from,
		       struct stack_entry *entry)
{
	struct frame *copy;

	if (to->used + entry->count >= CHUNK_FRAMES) {
		stacks->chunk[to->chunk++].used = to->used;
		to->used = 0;
	}
	copy = stacks->chunk[to->chunk].frame + to->used;
	memmove(copy, from, (entry->count + 1) * sizeof(*copy));
	entry->frame = copy + 1;
	to->used += 1 + entry->count;
}

/* Of each chunk what stays; those that are empty then are given back. */
static void sweep_frames(struct stacks *stacks)
{
	struct mover to = { 0 };

	for (uint32_t i = 0; i < stacks->chunk_count; i++) {
		uint32_t used = stacks->chunk[i].used, next;

		for (uint32_t at = 0; at < used; at = next) {
			const struct frame *from = stacks->chunk[i].frame + at;
			struct stack_entry *entry = find_entry(stacks, from->module);

			next = at + 1 + from->flags;
			if (entry && entry->kept)
				move_stack(stacks, &to, from, entry);
		}
	}
	if (stacks->chunk_count == 0)
		return;
	stacks->chunk[to.chunk].used = to.used;
	while (stacks->chunk_count > to.chunk + 1)
		free(stacks->chunk[--stacks->chunk_count].frame);
}

static void sweep_entries(struct stacks *stacks)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < stacks->count; i++) {
		struct stack_entry *entry = &stacks->entry[i];

		if (!entry->kept) {
			id_places_set(&stacks->places, entry->id, ID_PLACES_NONE);
			continue;
		}
		entry->kept = 0;
		id_places_set(&stacks->places, entry->id, count);
		stacks->entry[count++] = *entry;
	}
	stacks->count = count;
}

int stacks_sweep(struct stacks *stacks, uint32_t *ret_dropped)
{
	uint32_t before = stacks->count;
	int r = id_places_begin(&stacks->places);

	if (r < 0)
		return r;
	sweep_frames(stacks);
	sweep_entries(stacks);
	memset(stacks->slot, 0, ((size_t)stacks->slot_mask + 1) * sizeof(*stacks->slot));
	fill_slots(stacks, stacks->slot, stacks->slot_mask);
	*ret_dropped = before - stacks->count;
	return 0;
}
