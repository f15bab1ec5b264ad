/* SPDX-License-Identifier: MIT */
/*
 * heap_musl_slots.c - which slots of a group hold blocks, where in them, and how large.
 *
 * A slot that is neither available nor freed is in use. The four bytes before its first unit
 * belong to a block that begins there: zero, or a sign that the distance is in 32 bits before;
 * the slot's index and how many bytes are left at the slot's end, 5 meaning that
 * these say it themselves, 6 that the slot holds a group; the distance from the group's first
 * slot in units. Or they say (7) where in the slot the block begins: mallocng moves blocks about
 * in slots that are too large, and so does aligned_alloc.
 *
 * Neither malloc's header nor free's sign that a block is gone is written under the lock, so a
 * thread that waits there leaves a slot in use without a block: it counts as free. More
 * of those than threads could have left are no heap.
 */
#include "src/heap/musl/heap_musl.h"

#include <errno.h>
#include <string.h>

#include "src/heap/heap_bytes.h"

enum reserved { RESERVED_AT_END = 5, RESERVED_GROUP = 6, RESERVED_MOVED = 7 };

#define FAR_UNITS	0x10000u	/* distances that do not fit into 16 bits */

struct slot {
	struct musl_group *group;
	uint64_t low, end;	/* first unit; where its last 4 bytes begin, another's header */
	uint32_t index;
};
struct found {
	uint64_t address, bytes;
	uint32_t reserved;
};

/* Does a block of the slot begin at address? */
static bool read_header(struct musl *musl, const struct slot *slot, uint64_t address,
			struct found *ret)
{
	uint64_t units = (address - slot->group->mem) / MUSL_UNIT - 1;
	uint8_t bytes[8];

	/* The group's own header is before the first slot, so that all can be read. */
	if (!heap_pages_read(&musl->pages, address - 8, bytes, sizeof(bytes)) ||
	    (bytes[5] & 31u) != slot->index || bytes[5] >> 5 == RESERVED_MOVED)
		return false;
	if (bytes[4] ? heap_quarter(bytes, 6) || units < FAR_UNITS || heap_half(bytes, 0) != units
		     : heap_quarter(bytes, 6) != units)
		return false;
	ret->address = address;
	ret->reserved = bytes[5] >> 5;
	return true;
}

/*
 * units: where in the slot the block begins, as the slot says; of very far ones just the low 16
 * bits, and the block's own header decides.
 */
static bool find_moved(struct musl *musl, const struct slot *slot, uint64_t units,
		       struct found *ret)
{
	for (; units * MUSL_UNIT <= slot->end - slot->low; units += FAR_UNITS) {
		if (read_header(musl, slot, slot->low + units * MUSL_UNIT, ret))
			return true;
		if (musl->long_steps == 0)
			return false;
		musl->long_steps--;
	}
	return false;
}

/*
 * A header of zeros is that of a block as large as the first slot, or not written yet; then the
 * block is new, and a thread has its group at hand.
 */
static bool is_unwritten(struct musl *musl, const struct slot *slot)
{
	uint64_t words[8] = { 0 };
	size_t count = slot->end - slot->low < sizeof(words) ? (slot->end - slot->low) / 8
							     : ARRAY_SIZE(words);

	if (!heap_pages_read(&musl->pages, slot->low, words, count * 8))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (words[i])
			return false;
	}
	for (size_t i = 0; i < musl->at_hand_count; i++) {
		if (musl->at_hand[i] == slot->group->meta)
			return true;
	}
	return false;
}

/* False: the slot has no block, for the moment. */
static bool find_block(struct musl *musl, const struct slot *slot, struct found *ret)
{
	uint8_t bytes[4];

	if (!heap_pages_read(&musl->pages, slot->low - MUSL_HEADER, bytes, sizeof(bytes)) ||
	    (slot->index == 0 && heap_half(bytes, 0) == 0 && is_unwritten(musl, slot)))
		return false;
	if (bytes[1] == RESERVED_MOVED << 5)
		return find_moved(musl, slot, heap_quarter(bytes, 2), ret);
	return read_header(musl, slot, slot->low, ret);
}

/* As malloc_usable_size; all there is when the program has written behind its block. */
static uint64_t usable_bytes(struct musl *musl, const struct slot *slot, const struct found *found)
{
	uint64_t most = slot->end - found->address, rest = found->reserved;
	uint8_t bytes[5];

	if (rest == RESERVED_AT_END) {
		if (!heap_pages_read(&musl->pages, slot->end - 5, bytes, sizeof(bytes)) ||
		    bytes[0] || heap_half(bytes, 1) < RESERVED_AT_END)
			return most;
		rest = heap_half(bytes, 1);
	}
	return rest <= most ? most - rest : most;
}

static void count_free(struct musl *musl, const struct slot *slot)
{
	musl->sums.free_count++;
	musl->sums.free_bytes += slot->end - slot->low;
}

/* The group in the slot must be one that is known, in no other slot, and fit. */
static int claim_group(struct musl *musl, const struct slot *slot, const struct found *found)
{
	struct musl_group *group = musl_group_at(musl, found->address);

	if (!group || group->map_bytes || group->donated || group->claimed ||
	    MUSL_UNIT + (group->last + 1) * musl_stride(group) >
		    slot->end + MUSL_HEADER - found->address)
		return musl_fail(musl, -EAGAIN, "a slot holds no group at %#llx",
				 (unsigned long long)found->address);
	group->claimed = true;
	return 0;
}

static int take_slot(struct musl *musl, const struct slot *slot, struct heap *heap)
{
	struct found found = { 0 };

	if (!find_block(musl, slot, &found)) {
		count_free(musl, slot);
		if (++musl->sums.halfway > MUSL_MAX_HALFWAY + musl->picture->thread_count)
			return musl_fail(musl, -EAGAIN, "a slot in use has no block at %#llx",
					 (unsigned long long)slot->low);
		return 0;
	}
	if (found.reserved == RESERVED_GROUP)
		return claim_group(musl, slot, &found);
	found.bytes = usable_bytes(musl, slot, &found);
	/* malloc(0): what points to it holds it, for which it needs a byte. */
	found.bytes += found.bytes == 0;
	musl->sums.live_count++;
	musl->sums.live_bytes += found.bytes;
	return heap ? blocks_add(heap->blocks, found.address, found.bytes) : 0;
}

static int walk_group(struct musl *musl, struct musl_group *group, struct heap *heap)
{
	uint64_t stride = musl_stride(group);
	int r = 0;

	for (uint32_t i = 0; i <= group->last && r == 0; i++) {
		struct slot slot = { .group = group, .index = i };

		slot.low = group->mem + MUSL_UNIT + i * stride;
		slot.end = slot.low + stride - MUSL_HEADER;
		if (group->free >> i & 1)
			count_free(musl, &slot);
		else
			r = take_slot(musl, &slot, heap);
	}
	musl->sums.mapped += group->size_class == MUSL_ALONE;
	return r;
}

int musl_walk_slots(struct musl *musl, struct heap *heap)
{
	int r = 0;

	musl->sums = (struct musl_sums){ 0 };
	musl->long_steps = 1u << 20;
	for (size_t i = 0; i < musl->group_count; i++)
		musl->group[i].claimed = false;
	for (size_t i = 0; i < musl->group_count && r == 0; i++)
		r = walk_group(musl, &musl->group[i], heap);
	for (size_t i = 0; i < musl->group_count && r == 0; i++) {
		const struct musl_group *group = &musl->group[i];

		if (!group->map_bytes && !group->donated && !group->claimed)
			r = musl_fail(musl, -EAGAIN, "no slot holds the group at %#llx",
				      (unsigned long long)group->mem);
	}
	return r;
}
