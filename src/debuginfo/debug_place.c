/* SPDX-License-Identifier: MIT */
/*
 * debug_place.c - where a variable is, when it lies whole in one place.
 *
 * Understands the locations that compilers write for that: a register, or a register, frame
 * base, call frame address or constant with something added to it. What is spread over pieces,
 * computed or optimised away is nowhere: an interpreter of all of DWARF's expressions would
 * have to be told registers and memory, and names only a few variables more.
 */
#include "src/debuginfo/debug_place.h"

#include <dwarf.h>
#include <stddef.h>

/* One of the 32 operations that have the register's number in them. */
static bool is_of_register(const Dwarf_Op *op, unsigned int first)
{
	return op->atom >= first && op->atom < first + 32;
}

/* What stands in a table beside the expression. */
static bool indirect_constant(Dwarf_Attribute *location, const Dwarf_Op *op, uint64_t *ret)
{
	bool is_address = op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index;
	Dwarf_Attribute value;
	Dwarf_Word word;

	if (dwarf_getlocation_attr(location, op, &value) != 0)
		return false;
	if (is_address)
		return dwarf_formaddr(&value, ret) == 0;
	if (dwarf_formudata(&value, &word) != 0)
		return false;
	*ret = word;
	return true;
}

static bool constant_of(Dwarf_Attribute *location, const Dwarf_Op *op, uint64_t *ret)
{
	switch (op->atom) {
	case DW_OP_addr:
	case DW_OP_const4u:
	case DW_OP_const8u:
	case DW_OP_constu:
		*ret = op->number;
		return true;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		return indirect_constant(location, op, ret);
	}
	return false;
}

static bool is_thread_local(const Dwarf_Op *op)
{
	return op->atom == DW_OP_form_tls_address || op->atom == DW_OP_GNU_push_tls_address;
}

/* address [thread-local] [+ constant] */
static void decode_static(Dwarf_Attribute *location, const Dwarf_Op *op, size_t count,
			  struct debug_place *ret)
{
	struct debug_place place = { .where = DEBUG_STATIC };
	uint64_t value;
	size_t i = 1;

	if (!constant_of(location, op, &value))
		return;
	if (i < count && is_thread_local(&op[i])) {
		place.where = DEBUG_THREAD;
		i++;
	}
	for (; i < count && op[i].atom == DW_OP_plus_uconst; i++)
		value += op[i].number;
	place.offset = (int64_t)value;
	if (i == count)
		*ret = place;
}

static void debug_place_add(struct debug_place *place, uint64_t more)
{
	place->offset = (int64_t)((uint64_t)place->offset + more);
}

/* Register and frame; without function there is no frame base. */
static void decode(Dwarf_Attribute *location, const Dwarf_Die *function, uint64_t pc,
		   struct debug_place *ret);

static void frame_base(const Dwarf_Die *function, uint64_t pc, struct debug_place *ret)
{
	Dwarf_Die die = *function;
	Dwarf_Attribute memory;

	if (dwarf_attr_integrate(&die, DW_AT_frame_base, &memory))
		decode(&memory, NULL, pc, ret);
	if (ret->where == DEBUG_REGISTER)	/* what it holds is the base */
		ret->where = DEBUG_MEMORY;
}

/* The first operation of those that depend on where the processor stands. */
static void decode_first(const Dwarf_Op *op, const Dwarf_Die *function, uint64_t pc,
			 struct debug_place *ret)
{
	if (is_of_register(op, DW_OP_reg0)) {
		*ret = (struct debug_place){ DEBUG_REGISTER, op->atom - DW_OP_reg0, 0 };
	} else if (is_of_register(op, DW_OP_breg0)) {
		*ret = (struct debug_place){ DEBUG_MEMORY, op->atom - DW_OP_breg0,
					     (int64_t)op->number };
	} else if (op->atom == DW_OP_call_frame_cfa) {
		*ret = (struct debug_place){ DEBUG_FRAME, 0, 0 };
	} else if (op->atom == DW_OP_fbreg && function) {
		frame_base(function, pc, ret);
		debug_place_add(ret, op->number);
	}
}

static void decode(Dwarf_Attribute *location, const Dwarf_Die *function, uint64_t pc,
		   struct debug_place *ret)
{
	struct debug_place place = { .where = DEBUG_NOWHERE };
	size_t count, i = 1;
	Dwarf_Op *op;

	if (dwarf_getlocation_addr(location, pc, &op, &count, 1) != 1 || count == 0)
		return;
	decode_first(op, function, pc, &place);
	if (place.where == DEBUG_NOWHERE) {
		decode_static(location, op, count, ret);
		return;
	}
	for (; i < count && place.where != DEBUG_REGISTER && op[i].atom == DW_OP_plus_uconst; i++)
		debug_place_add(&place, op[i].number);
	if (i == count)
		*ret = place;
}

void debug_place_at(Dwarf_Die *variable, const Dwarf_Die *function, uint64_t pc,
		    struct debug_place *ret)
{
	Dwarf_Attribute memory;

	*ret = (struct debug_place){ .where = DEBUG_NOWHERE };
	if (dwarf_attr_integrate(variable, DW_AT_location, &memory))
		decode(&memory, function, pc, ret);
}

void debug_place_fixed(Dwarf_Die *variable, struct debug_place *ret)
{
	Dwarf_Attribute memory;
	size_t count;
	Dwarf_Op *op;

	*ret = (struct debug_place){ .where = DEBUG_NOWHERE };
	/* A list says where it is for some of the time. */
	if (dwarf_attr(variable, DW_AT_location, &memory) &&
	    dwarf_getlocation(&memory, &op, &count) == 0 && count > 0)
		decode_static(&memory, op, count, ret);
}
