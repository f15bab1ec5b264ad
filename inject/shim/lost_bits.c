/* SPDX-License-Identifier: MIT */
/*
 * lost_bits.c - exact mode: blocks whose allocation was lost, so that their free need not be
 * recorded: nobody could tell what it was the free of, and there would be less room for others.
 *
 * The second half of the address table. A word stands for 512 bytes of memory: which 512 (its
 * place and 32 bits of it), and a bit for each 16 of them. What must not be is a bit that is set
 * while a block that was recorded lives there: its free would be missed, and it would be a leak.
 * So whoever records a block clears the bit first, bits are set and cleared by instructions that
 * lose nothing, and one is set only where the word still is for that memory.
 *
 * A free leaves the bit: what comes there next is lost, too, as a rule, and finds it set; two
 * locked instructions would be a tenth of what such a pair costs. (The hooks look here,
 * too: FIND_LOST in shim_quick.S.) So a word that is in use for
 * other memory may be so for nothing. It is left alone, and the free recorded, but at times it
 * gives way: the frees of what was lost there will be recorded, and that is all.
 */
#include "inject/arch/x86_64/shim_offsets.h"
#include "inject/shim/block_bits.h"

#define TRIES		3u

struct group {
	uint64_t *word;		/* NULL: none is kept of this address */
	uint64_t tag;		/* in the high half */
	uint64_t bit;
};

static struct group group_of(struct ring_control *control, uint64_t address)
{
	uint64_t *words = (uint64_t *)((uint8_t *)control + control->lost_offset);
	uint64_t number = address >> GROUP_SHIFT;
	uint64_t spread = (address >> ARENA_SHIFT) * SHIM_GOLDEN >> SHIM_HASH_SHIFT;

	if (control->lost_offset == 0 || address >> ADDRESS_BITS || address % (1u << GRANULE_SHIFT))
		return (struct group){ .word = NULL };
	return (struct group){
		.word = &words[(number ^ spread) & control->lost_mask],
		.tag = number >> PLACE_SHIFT << 32,
		.bit = 1ull << (address >> GRANULE_SHIFT & 31),
	};
}

static bool is_for(const struct group *group, uint64_t word)
{
	return (word ^ group->tag) >> 32 == 0;
}

/* One time in 16, each address at another beat. */
static bool gives_way(const struct ring_control *control, uint64_t address)
{
	return ((address >> GRANULE_SHIFT) + shim_load(&control->beat)) * SHIM_GOLDEN >> 60 == 0;
}

_Static_assert(RING_LOST_LEAST >= 1u << PLACE_SHIFT, "a word's tag would not tell groups apart");

bool shim_lost_set(struct ring_control *control, uint64_t address)
{
	struct group group = group_of(control, address);

	for (uint32_t i = 0; group.word && i < TRIES; i++) {
		uint64_t word = shim_load(group.word), others = (uint32_t)word;

		if (!is_for(&group, word)) {
			if (others != 0 && !gives_way(control, address))
				return false;
			others = 0;
		}
		if (others & group.bit || shim_exchange_if(group.word, word,
							   group.tag | others | group.bit))
			return true;
	}
	return false;
}

bool shim_lost_is_set(struct ring_control *control, uint64_t address)
{
	struct group group = group_of(control, address);
	uint64_t word = group.word ? shim_load(group.word) : 0;

	return (word & group.bit) && is_for(&group, word);
}

void shim_lost_clear(struct ring_control *control, uint64_t address)
{
	struct group group = group_of(control, address);

	if (shim_lost_is_set(control, address))
		(void)__atomic_fetch_and(group.word, ~group.bit, __ATOMIC_ACQ_REL);
}
