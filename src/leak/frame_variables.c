/* SPDX-License-Identifier: MIT */
/*
 * frame_variables.c - the variables of one frame and where they are.
 *
 * Understands the locations that compilers write for what lies whole in one place: frame
 * base, register or call frame address plus a constant, or a register. What is spread
 * over pieces, computed or optimised away is passed over.
 */
#include "src/leak/frame_variables.h"

#include <dwarf.h>

#include "src/cfi_rule.h"
#include "src/leak/debug_walk.h"
#include "src/leak/type_shape.h"

#define MAX_ENTRIES (1u << 18)

struct search {
	const struct frame_state *state;
	struct frame_variable *variable;
	uint64_t frame_base;
	bool has_frame_base, found;
	unsigned int depth;	/* of what was found */
};

/* Where something is: at an address, or in a register. */
struct location {
	bool is_register;
	unsigned int number;
	uint64_t address;
};

unsigned int frame_dwarf_number(unsigned int cfi_register)
{
	static const uint8_t number[CFI_REGISTERS] = {
		[CFI_RIP] = 16, [CFI_RSP] = 7, [CFI_RBP] = 6, [CFI_RBX] = 3,
		[CFI_R12] = 12, [CFI_R13] = 13, [CFI_R14] = 14, [CFI_R15] = 15,
	};

	return number[cfi_register];
}

static bool register_value(const struct frame_state *state, uint64_t number, uint64_t *ret)
{
	for (unsigned int i = 0; i < CFI_REGISTERS; i++)
		if (frame_dwarf_number(i) == number) {
			*ret = state->value[i];
			return true;
		}
	return false;
}

/* The first operation of a location: an address to start from, or a register. */
static bool evaluate_first(const struct search *search, const Dwarf_Op *op, struct location *ret)
{
	const struct frame_state *state = search->state;

	*ret = (struct location){ 0 };
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg15) {
		*ret = (struct location){ .is_register = true,
					  .number = (unsigned int)op->atom - DW_OP_reg0 };
		return true;
	}
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg15) {
		if (!register_value(state, (uint64_t)op->atom - DW_OP_breg0, &ret->address))
			return false;
		ret->address += op->number;
		return true;
	}
	switch (op->atom) {
	case DW_OP_fbreg:
		ret->address = search->frame_base + op->number;
		return search->has_frame_base;
	case DW_OP_call_frame_cfa:
		ret->address = state->cfa;
		return state->cfa != 0;
	case DW_OP_addr:
		ret->address = state->bias + op->number;
		return true;
	}
	return false;
}

static bool evaluate(const struct search *search, Dwarf_Die *die, unsigned int attribute,
		     struct location *ret)
{
	Dwarf_Attribute memory, *location = dwarf_attr(die, attribute, &memory);
	size_t count, i = 1;
	Dwarf_Op *op;

	if (!location || dwarf_getlocation_addr(location, search->state->pc, &op, &count, 1) != 1 ||
	    count == 0 || !evaluate_first(search, &op[0], ret))
		return false;
	while (i < count && !ret->is_register && op[i].atom == DW_OP_plus_uconst)
		ret->address += op[i++].number;
	return i == count;
}

static void find_frame_base(struct search *search)
{
	struct location base;

	if (!evaluate(search, search->state->function, DW_AT_frame_base, &base))
		return;
	search->frame_base = base.address;
	search->has_frame_base = !base.is_register ||
				 register_value(search->state, base.number, &search->frame_base);
}

static bool is_wanted(const struct search *search, const struct location *location,
		      Dwarf_Die *die)
{
	const struct frame_variable *variable = search->variable;
	Dwarf_Die type;

	if (variable->wanted_register != FRAME_NO_REGISTER)
		return location->is_register && location->number == variable->wanted_register;
	return !location->is_register && variable->wanted_address >= location->address &&
	       type_of_entry(die, &type) &&
	       variable->wanted_address - location->address < type_size(&type);
}

static int each_entry(void *context, struct debug_level *level, unsigned int depth)
{
	struct search *search = context;
	struct debug_level *at = &level[depth];
	const char *name = dwarf_diename(&at->die);
	struct location location;

	if ((at->tag != DW_TAG_variable && at->tag != DW_TAG_formal_parameter) || !name ||
	    (search->found && depth < search->depth) ||
	    !evaluate(search, &at->die, DW_AT_location, &location) ||
	    !is_wanted(search, &location, &at->die))
		return 0;
	search->found = true;
	search->depth = depth;
	search->variable->die = at->die;
	search->variable->name = name;
	search->variable->address = location.is_register ? 0 : location.address;
	search->variable->function = *search->state->function;
	for (unsigned int i = 0; i < depth; i++)
		if (level[i].tag == DW_TAG_inlined_subroutine)
			search->variable->function = level[i].die;
	return 0;
}

static bool enters(void *context, struct debug_level *level)
{
	const struct search *search = context;

	return (level->tag == DW_TAG_lexical_block || level->tag == DW_TAG_inlined_subroutine) &&
	       dwarf_haspc(&level->die, search->state->pc) == 1;
}

bool frame_variable_find(const struct frame_state *state, struct frame_variable *variable)
{
	struct search search = { .state = state, .variable = variable };
	uint64_t budget = MAX_ENTRIES;
	const struct debug_walk walk = {
		.enters = enters, .budget = &budget, .each = each_entry, .context = &search,
	};

	find_frame_base(&search);
	(void)!debug_walk_unit(&walk, state->function);
	return search.found;
}
