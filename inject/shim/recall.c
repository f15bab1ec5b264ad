/* SPDX-License-Identifier: MIT */
/*
 * recall.c - a walk that was made before is not made again.
 *
 * A program that allocates in a loop comes by the same paths in the same order. So what came
 * after the last path before, from the same call at the same depth, is tried first: if all
 * return addresses lie where they lay, and all words that the walk depended on hold what they
 * held, it would be the same walk (docs/RECOGNITION.md). One comparison does not wait for
 * another, as the steps of a walk do.
 *
 * Only paths that came more than once are remembered: where each is another one, to copy them
 * would be for nothing. So is looking for them where they come in ever other orders (compilers):
 * there it rests, and is tried again in a while.
 */
#include "inject/shim/shadow.h"

#define SETS (SHADOW_MEMOS / SHADOW_WAYS)
#define PATIENCE 4u
#define TRIES 64u	/* that may fail in a row */
#define REST 1024u	/* calls after those */

uint64_t shim_recall_key(struct shadow *shadow, uint64_t sp, uint64_t ra)
{
	if (shadow->recall_rest > 0) {
		shadow->recall_rest--;
		return 0;
	}
	/* last, a hash, comes late, and the record's clock waits for what is made of it. */
	return (shadow->last ^ sp * SHIM_GOLDEN ^ ra * SHIM_GOLDEN >> 8) | 1;
}

static uint32_t set_of(uint64_t key)
{
	return (uint32_t)(key >> 40) % SETS * SHADOW_WAYS;
}

/* What differs, 0: nothing. */
static uint64_t frames_differ(const struct shadow_memo *memo, const uint8_t *sp)
{
	const struct shadow_group *end = memo->group + memo->groups;
	uint64_t differs = 0;

	for (const struct shadow_group *group = memo->group; group < end; group++)
#pragma GCC unroll 4
		for (uint32_t i = 0; i < MEMO_GROUP; i++)
			differs |= *(const uint64_t *)(sp + group->at[i]) ^ group->ra[i];
	return differs;
}

/* pre: all words from call's return address up to high may be read. */
static bool memo_holds(const struct shadow_memo *memo, const struct shim_call *call, uint64_t high)
{
	uint64_t sp = (uint64_t)&call->caller, differs;

	if (memo->sp != sp || memo->reach > high - sp ||
	    (memo->live_rbp && memo->rbp != call->rbp) ||
	    (memo->live_rbx && memo->rbx != call->rbx))
		return false;
	/* Slots ascend: they all lie between these two. */
	differs = frames_differ(memo, (const uint8_t *)sp);
	for (uint32_t i = 0; i < memo->checks; i++) {
		uint64_t address = memo->check[i].address;

		if (address < sp || address > high - 8)
			return false;
		differs |= *(const uint64_t *)address ^ memo->check[i].value;
	}
	return differs == 0;
}

static void failed(struct shadow *shadow)
{
	if (++shadow->recall_fails < TRIES)
		return;
	shadow->recall_fails = 0;
	shadow->recall_rest = REST;
}

uint64_t shim_recall(const struct ring_control *control, struct shadow_place *place,
		     const struct shim_call *call, uint64_t high, uint64_t generation,
		     uint64_t key)
{
	struct shadow *shadow = &place->shadow;
	uint32_t first = set_of(key);

	for (uint32_t i = first; i < first + SHADOW_WAYS; i++) {
		const struct shadow_memo *memo = &place->memo[i];

		if (shadow->memo_key[i] != key)
			continue;
		/* To be found once, and not again for each of its fields. */
		__asm__("" : "+r"(memo));
		if (memo->generation != generation ||
		    memo->epoch != shim_load(&control->path_epoch) ||
		    !memo_holds(memo, call, high))
			break;
		shadow->recall_fails = 0;
		return memo->name;
	}
	failed(shadow);
	return 0;
}

/*
 * The place that key has already, or a free one; SHADOW_MEMOS: it gets none. Who finds its
 * set full takes another's place one time in PATIENCE only: more than have room there, one after
 * the other, would else drive each other out each time.
 */
static uint32_t memo_place(struct shadow *shadow, uint64_t key)
{
	uint32_t first = set_of(key);

	for (uint32_t i = first; i < first + SHADOW_WAYS; i++)
		if (shadow->memo_key[i] == key || shadow->memo_key[i] == 0)
			return i;
	if (++shadow->memo_turn % PATIENCE != 0)
		return SHADOW_MEMOS;
	return first + shadow->memo_turn / PATIENCE % SHADOW_WAYS;
}

/* Of shadow's frames those from first on, counted from the innermost one. */
static void set_group(struct shadow_group *group, const struct shadow *shadow, uint32_t first,
		      uint64_t sp)
{
	for (uint32_t i = 0; i < MEMO_GROUP; i++) {
		uint32_t last = shadow->frames - 1, at = first + i < last ? first + i : last;
		const struct shadow_frame *frame = &shadow->frame[last - at];

		group->ra[i] = frame->ra;
		group->at[i] = (uint32_t)(frame->slot - sp);
	}
}

static void set_frames(struct shadow_memo *memo, const struct shadow *shadow)
{
	memo->sp = shadow->frame[shadow->frames - 1].slot;
	memo->reach = shadow->frame[0].slot + 8 - memo->sp;
	memo->groups = (shadow->frames + MEMO_GROUP - 1) / MEMO_GROUP;
	for (uint32_t i = 0; i < memo->groups; i++)
		set_group(&memo->group[i], shadow, i * MEMO_GROUP, memo->sp);
}

void shim_recall_add(struct shadow_place *place, uint64_t key, uint64_t name)
{
	struct shadow *shadow = &place->shadow;
	const struct shadow_state *inner = &shadow->state[shadow->frames - 1];
	struct shadow_memo *memo;
	uint32_t at;

	if (shadow->frames > MEMO_FRAMES || shadow->checks > MEMO_CHECKS ||
	    shadow->frame[0].slot - shadow->frame[shadow->frames - 1].slot > UINT32_MAX)
		return;
	at = memo_place(shadow, key);
	if (at == SHADOW_MEMOS)
		return;
	memo = &place->memo[at];
	shadow->memo_key[at] = key;
	memo->generation = shadow->generation;
	memo->epoch = shadow->epoch;
	memo->name = name;
	memo->rbp = inner->rbp;
	memo->rbx = inner->rbx;
	memo->live_rbp = inner->live_rbp;
	memo->live_rbx = inner->live_rbx;
	memo->checks = shadow->checks;
	set_frames(memo, shadow);
	for (uint32_t i = 0; i < shadow->checks; i++) {
		memo->check[i].address = shadow->check[i].address;
		memo->check[i].value = shadow->check[i].value;
	}
}
