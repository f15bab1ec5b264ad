/* SPDX-License-Identifier: MIT */
/*
 * frame_variables.c - the variables of one frame and where they are.
 *
 * The function's tree is walked along the blocks and inlined calls that hold the frame's place
 * in the code; what lies whole in one place (debug_place.h) is compared with what is wanted.
 */
#include "src/leak/holders/frame_variables.h"

#include <dwarf.h>

#include "src/unwind/cfi_rule.h"
#include "src/debuginfo/debug_place.h"
#include "src/debuginfo/debug_walk.h"
#include "src/debuginfo/type_shape.h"

#define MAX_ENTRIES (1u << 18)

struct search {
	const struct frame_state *state;
	struct frame_variable *variable;
	bool found;
	unsigned int depth;	/* of what was found */
};

static bool register_value(const struct frame_state *state, unsigned int number, uint64_t *ret)
{
	for (enum cfi_register i = CFI_RIP; i < CFI_REGISTERS; i++)
		if (cfi_dwarf_number(i) == number) {
			*ret = state->value[i];
			return true;
		}
	return false;
}

/* The address that a place in memory is at, in this frame. */
static bool address_of(const struct frame_state *state, const struct debug_place *place,
		       uint64_t *ret)
{
	uint64_t base = 0;

	switch (place->where) {
	case DEBUG_MEMORY:
		if (!register_value(state, place->reg, &base))
			return false;
		break;
	case DEBUG_FRAME:
		if (!state->cfa)
			return false;
		base = state->cfa;
		break;
	case DEBUG_STATIC:
		base = state->bias;
		break;
	default:
		return false;
	}
	*ret = base + (uint64_t)place->offset;
	return true;
}

/* *ret_address: where it is, 0: in the register. */
static bool is_wanted(const struct search *search, Dwarf_Die *die, uint64_t *ret_address)
{
	const struct frame_variable *variable = search->variable;
	const struct frame_state *state = search->state;
	struct debug_place place;
	Dwarf_Die type;

	debug_place_at(die, state->function, state->pc, &place);
	*ret_address = 0;
	if (variable->wanted_register != FRAME_NO_REGISTER)
		return place.where == DEBUG_REGISTER && place.reg == variable->wanted_register;
	return address_of(state, &place, ret_address) &&
	       variable->wanted_address >= *ret_address && type_of_entry(die, &type) &&
	       variable->wanted_address - *ret_address < type_size(&type);
}

static int each_entry(void *context, struct debug_level *level, unsigned int depth)
{
	struct search *search = context;
	struct debug_level *at = &level[depth];
	const char *name = dwarf_diename(&at->die);
	uint64_t address;

	if ((at->tag != DW_TAG_variable && at->tag != DW_TAG_formal_parameter) || !name ||
	    (search->found && depth < search->depth) ||
	    !is_wanted(search, &at->die, &address))
		return 0;
	search->found = true;
	search->depth = depth;
	search->variable->die = at->die;
	search->variable->name = name;
	search->variable->address = address;
	search->variable->function = *search->state->function;
	for (unsigned int i = 0; i < depth; i++)
		if (level[i].tag == DW_TAG_inlined_subroutine)
			search->variable->function = level[i].die;
	return 0;
}

static bool enters(void *context, struct debug_level *level, unsigned int depth)
{
	const struct search *search = context;
	int tag = level[depth].tag;

	return (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
	       dwarf_haspc(&level[depth].die, search->state->pc) == 1;
}

bool frame_variable_find(const struct frame_state *state, struct frame_variable *variable)
{
	struct search search = { .state = state, .variable = variable };
	uint64_t budget = MAX_ENTRIES;
	const struct debug_walk walk = {
		.enters = enters, .budget = &budget, .each = each_entry, .context = &search,
	};

	(void)!debug_walk_below(&walk, state->function);
	return search.found;
}
