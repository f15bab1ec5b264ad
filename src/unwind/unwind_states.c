/* SPDX-License-Identifier: MIT */
/*
 * unwind_states.c - what libunwind has read of call frame information, kept for the next time.
 *
 * Nine tenths of a libunwind step go into finding and interpreting the tables for one address,
 * and give the same each time: a row, which libunwind hands out (unw_reg_states_iterate) and
 * applies (unw_apply_reg_state) as public functions. Rows are kept by module and address. Ids of
 * modules are never used again, so that nothing here gets old. It is libunwind's own reading of
 * the tables that is kept, none of ours: what is unwound by it stays independent of the rules that
 * the shim follows (cfi_table.c), which are checked against it.
 * libunwind's own cache was rejected: it takes a lock for every frame, and
 * goes by address alone, which a dlclose and a dlopen can give to other code.
 * The many addresses of a program share a few hundred different rows. Nothing is removed singly;
 * a cache that is full is emptied.
 */
#include "src/unwind/unwind_states.h"

#include <errno.h>
#include <string.h>

#include "src/base/array.h"
#include "src/base/hashmap.h"
#include "src/unwind/unwind_accessors.h"

#define MAX_STATES	(1u << 16)
#define MAX_ROWS	(1u << 13)
#define MAX_ROW_BYTES	1024u		/* libunwind 1.6 has 200 */
#define FIRST_SLOTS	1024u
#define NO_ROW		UINT32_MAX

struct slot {
	uint64_t address;
	uint32_t module;
	uint32_t state;			/* index + 1, 0: empty */
};

struct state {
	struct cfi_fde fde;
	uint32_t row, reads;
};

struct unwind_states {
	struct unwind_find *find;
	unw_addr_space_t space;
	struct slot *slot;
	uint32_t slot_mask;
	struct state *state;
	size_t state_count, state_room;
	uint8_t *row;
	size_t row_bytes;		/* of one; 0: none was seen yet */
	size_t row_count, row_room;
	struct hashmap row_by_hash;	/* -> its index */
	struct unwind_states_stats stats;
};

/* libunwind at one address; what its accessors are told. */
struct reading {
	const struct unwind_find *find;
	const struct module *module;
	uint64_t ip;
	uint32_t reads;
	size_t bytes;			/* of row; 0: none covers ip */
	uint8_t row[MAX_ROW_BYTES];
};

/* ---- reading ---- */

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
		      void *argument)
{
	struct reading *reading = argument;
	uint64_t word = 0;

	(void)space;
	if (write || reading->reads == UNWIND_STATE_READS)
		return -UNW_EINVAL;
	reading->reads++;
	/* What is in no file is a personality routine's address, which nobody uses here. */
	(void)unwind_find_word(reading->find, reading->module, address, &word);
	*value = word;
	return 0;
}

/* Enough for a cursor. No row depends on it. */
static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
		      void *argument)
{
	const struct reading *reading = argument;

	(void)space;
	if (write)
		return -UNW_EREADONLYREG;
	*value = number == UNW_X86_64_RIP ? reading->ip : 0;
	return 0;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
			  int need_unwind_info, void *argument)
{
	const struct reading *reading = argument;
	int r = unwind_find_info(reading->find, space, ip, info, need_unwind_info, argument);

	return r == -UNW_ENOINFO ? -UNW_EINVAL : r;
}

static int take_row(void *token, void *row, size_t bytes, unw_word_t start, unw_word_t end)
{
	struct reading *reading = token;

	if (reading->ip < start || reading->ip >= end)
		return 0;
	if (bytes <= sizeof(reading->row)) {
		memcpy(reading->row, row, bytes);
		reading->bytes = bytes;
	}
	return -UNW_ESTOPUNWIND;
}

/* pre: unwind_find_fde() has just found fde. */
static void read_row(struct unwind_states *states, struct reading *reading)
{
	unw_cursor_t cursor;

	if (unw_init_remote(&cursor, states->space, reading) == 0)
		(void)unw_reg_states_iterate(&cursor, take_row, reading);
}

/* ---- keeping ---- */

/* Its memory is used again. */
static void forget(struct unwind_states *states)
{
	hashmap_done(&states->row_by_hash);
	states->row_by_hash = (struct hashmap){ 0 };
	states->state_count = states->row_count = 0;
	if (states->slot)
		memset(states->slot, 0, ((size_t)states->slot_mask + 1) * sizeof(*states->slot));
}

static uint64_t hash_of(const uint8_t *row, size_t bytes)
{
	uint64_t hash = bytes, word;

	for (size_t at = 0; at + sizeof(word) <= bytes; at += sizeof(word)) {
		memcpy(&word, row + at, sizeof(word));
		hash = hashmap_hash(hash ^ word) + at;
	}
	return hash;
}

static bool is_row(const struct unwind_states *states, uint64_t at, const struct reading *reading)
{
	return memcmp(states->row + at * states->row_bytes, reading->row, reading->bytes) == 0;
}

/* Where the row is kept, NO_ROW if it can't be. */
static uint32_t keep_row(struct unwind_states *states, const struct reading *reading)
{
	uint64_t hash = hash_of(reading->row, reading->bytes), at;
	uint8_t *grown;

	if (states->row_bytes == 0)
		states->row_bytes = reading->bytes;
	if (reading->bytes == 0 || reading->bytes != states->row_bytes)
		return NO_ROW;
	if (hashmap_get(&states->row_by_hash, hash, &at) && is_row(states, at, reading))
		return (uint32_t)at;
	if (states->row_count == MAX_ROWS)
		return NO_ROW;
	grown = array_room(states->row, states->row_bytes, states->row_count, &states->row_room);
	if (!grown)
		return NO_ROW;
	states->row = grown;
	memcpy(grown + states->row_count * states->row_bytes, reading->row, reading->bytes);
	if (hashmap_put(&states->row_by_hash, hash, states->row_count) < 0)
		return NO_ROW;
	return (uint32_t)states->row_count++;
}

/* The address's slot, or the empty one where it belongs. */
static struct slot *find_slot(const struct unwind_states *states, uint32_t module,
			      uint64_t address)
{
	uint32_t at = (uint32_t)hashmap_hash(address + ((uint64_t)module << 48));

	for (;; at++) {
		struct slot *slot = &states->slot[at & states->slot_mask];

		if (slot->state == 0 || (slot->address == address && slot->module == module))
			return slot;
	}
}

static int grow_slots(struct unwind_states *states)
{
	uint32_t count = states->slot ? (states->slot_mask + 1) * 2 : FIRST_SLOTS;
	struct unwind_states grown = {
		.slot = calloc(count, sizeof(*grown.slot)), .slot_mask = count - 1,
	};

	if (!grown.slot)
		return -ENOMEM;
	for (uint32_t i = 0; states->slot && i <= states->slot_mask; i++) {
		const struct slot *slot = &states->slot[i];

		if (slot->state != 0)
			*find_slot(&grown, slot->module, slot->address) = *slot;
	}
	free(states->slot);
	states->slot = grown.slot;
	states->slot_mask = grown.slot_mask;
	return 0;
}

/* Room for one more state. */
static int make_room(struct unwind_states *states)
{
	struct state *grown;

	if (states->state_count == MAX_STATES || states->row_count == MAX_ROWS)
		forget(states);
	if ((!states->slot || states->state_count >= states->slot_mask / 2) &&
	    grow_slots(states) < 0)
		return -ENOMEM;
	grown = array_room(states->state, sizeof(*grown), states->state_count,
			   &states->state_room);
	if (!grown)
		return -ENOMEM;
	states->state = grown;
	return 0;
}

static int unwind_states_add(struct unwind_states *states, const struct module *module,
			     uint64_t address, struct state **ret)
{
	struct reading reading;
	struct cfi_fde fde;
	int r = unwind_find_fde(states->find, module, address, &fde);

	if (r == 0)
		r = make_room(states);
	if (r < 0)
		return r;
	reading.find = states->find;
	reading.module = module;
	reading.ip = address + module->bias;
	reading.reads = 0;
	reading.bytes = 0;
	read_row(states, &reading);
	states->stats.read++;
	states->state[states->state_count++] = (struct state){
		.fde = fde, .row = keep_row(states, &reading), .reads = reading.reads,
	};
	*find_slot(states, module->id, address) = (struct slot){
		.address = address, .module = module->id,
		.state = (uint32_t)states->state_count,
	};
	*ret = &states->state[states->state_count - 1];
	return 0;
}

int unwind_states_get(struct unwind_states *states, const struct module *module, uint64_t address,
		      struct unwind_state *ret)
{
	struct slot *slot = states->slot ? find_slot(states, module->id, address) : NULL;
	struct state *state = NULL;
	int r = 0;

	if (slot && slot->state != 0) {
		state = &states->state[slot->state - 1];
		states->stats.kept++;
	} else {
		r = unwind_states_add(states, module, address, &state);
	}
	if (r < 0)
		return r;
	ret->fde = state->fde;
	ret->reads = state->reads;
	ret->row = state->row == NO_ROW ? NULL : states->row + state->row * states->row_bytes;
	return 0;
}

void unwind_states_stats(const struct unwind_states *states, struct unwind_states_stats *ret)
{
	*ret = states->stats;
	ret->bytes = states->state_room * sizeof(*states->state) +
		     states->row_room * states->row_bytes;
	if (states->slot)
		ret->bytes += ((size_t)states->slot_mask + 1) * sizeof(*states->slot);
}

int unwind_states_new(struct unwind_find *find, struct unwind_states **ret)
{
	static const unw_accessors_t own = {
		.find_proc_info = find_proc_info,
		.access_mem = access_mem,
		.access_reg = access_reg,
	};
	struct unwind_states *states = calloc(1, sizeof(*states));

	if (!states)
		return -ENOMEM;
	states->find = find;
	states->space = unwind_accessors_space(&own);
	if (!states->space) {
		free(states);
		return -ENOMEM;
	}
	*ret = states;
	return 0;
}

void unwind_states_free(struct unwind_states *states)
{
	if (!states)
		return;
	hashmap_done(&states->row_by_hash);
	free(states->slot);
	free(states->state);
	free(states->row);
	unw_destroy_addr_space(states->space);
	free(states);
}
