/* SPDX-License-Identifier: MIT */
/*
 * assigned_scope.c - what assigned_debug.h says about scopes, places and names.
 *
 * A function's tree is walked once for a place, with a stack of its own; all its variables
 * are taken, ranked by how near their scope is: optimized code often assigns to a variable
 * some instructions before the variable's own block begins.
 */
#include "src/leak/assigned_debug_private.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "src/leak/assigned_type.h"

/* ---- scopes ---- */

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block || tag == DW_TAG_inlined_subroutine;
}

/* One level of the walk through a function's tree. */
struct depth {
	Dwarf_Die die;
	unsigned int function;	/* how many inlined calls are around; counted from the outside */
	bool in_scope;		/* the address is in the block around die */
	bool other_call;	/* in an inlined call that does not hold the address */
};

static void add_variable(struct debug_scopes *scopes, const struct depth *at, unsigned int depth)
{
	struct debug_variable *variable = &scopes->variable[scopes->variable_count];

	if (scopes->variable_count == DEBUG_MAX_VARIABLES)
		return;
	*variable = (struct debug_variable){
		.die = at->die, .depth = (uint16_t)depth, .level = (uint8_t)at->function,
		.rank = at->other_call ? DEBUG_OTHER_CALL
			: at->in_scope ? DEBUG_IN_SCOPE : DEBUG_OTHER_BLOCK,
	};
	scopes->variable_count++;
}

static void add_level(struct debug_scopes *scopes, Dwarf_Die *die)
{
	struct debug_level *level = &scopes->level[scopes->level_count];
	Dwarf_Attribute memory, *attribute = dwarf_attr_integrate(die, DW_AT_decl_line, &memory);
	Dwarf_Word line = 0;
	Dwarf_Die type;

	if (scopes->level_count == DEBUG_MAX_LEVELS)
		return;
	if (attribute)
		(void)dwarf_formudata(attribute, &line);
	*level = (struct debug_level){
		.die = *die, .name = dwarf_diename(die),
		.line = line < UINT32_MAX ? (uint32_t)line : 0,
		.returns_pointer = assigned_type_of(die, &type) && assigned_type_is_pointer(&type),
	};
	scopes->level_count++;
}

/* Into the block at *at; false: not needed. */
static bool enter(struct debug_scopes *scopes, uint64_t address, const struct depth *at,
		  struct depth *ret)
{
	Dwarf_Die block = at->die;
	int tag = dwarf_tag(&block);
	bool holds, call = tag == DW_TAG_inlined_subroutine;

	if (!is_block(tag) || dwarf_child(&block, &ret->die) != 0)
		return false;
	holds = at->in_scope && dwarf_haspc(&block, address) == 1;
	ret->in_scope = holds;
	ret->function = at->function;
	ret->other_call = at->other_call || (call && !holds);
	if (call && holds) {
		add_level(scopes, &block);
		ret->function = scopes->level_count - 1;
	}
	return true;
}

static void walk_function(struct debug_scopes *scopes, uint64_t address, Dwarf_Die *function)
{
	struct depth level[DEBUG_MAX_DEPTH];
	unsigned int depth = 0;

	add_level(scopes, function);
	level[0] = (struct depth){ .in_scope = true };
	if (dwarf_child(function, &level[0].die) != 0)
		return;
	for (unsigned int visits = 0; visits < DEBUG_MAX_VISITS; visits++) {
		int tag = dwarf_tag(&level[depth].die);

		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
			add_variable(scopes, &level[depth], depth);
		if (depth + 1 < DEBUG_MAX_DEPTH &&
		    enter(scopes, address, &level[depth], &level[depth + 1])) {
			depth++;
			continue;
		}
		while (dwarf_siblingof(&level[depth].die, &level[depth].die) != 0) {
			if (depth-- == 0)
				return;
		}
	}
}

/* Levels were found from the outside in; they are wanted the other way. */
static void reverse_levels(struct debug_scopes *scopes)
{
	unsigned int last = scopes->level_count - 1;

	for (unsigned int i = 0; i < scopes->level_count / 2; i++) {
		struct debug_level swap = scopes->level[i];

		scopes->level[i] = scopes->level[last - i];
		scopes->level[last - i] = swap;
	}
	for (unsigned int i = 0; i < scopes->variable_count; i++)
		scopes->variable[i].level = (uint8_t)(last - scopes->variable[i].level);
}

int assigned_debug_scopes(struct debug_info *info, uint64_t address, struct debug_scopes *ret)
{
	const struct code_range *range = debug_find_range(&info->unit_range, address - info->bias);
	struct unit *unit = range ? &info->unit[range->index] : NULL;
	Dwarf_Die function;
	int r;

	if (!unit)
		return -ENOENT;
	r = debug_build_unit(unit);
	if (r < 0)
		return r;
	range = debug_find_range(&unit->function, address - info->bias);
	if (!range)
		return -ENOENT;
	ret->address = address;
	ret->level_count = ret->variable_count = 0;
	ret->low = range->low + info->bias;
	ret->high = range->high + info->bias;
	ret->unit = unit->tree;
	function = range->die;
	walk_function(ret, address - info->bias, &function);
	reverse_levels(ret);
	return 0;
}

/* ---- places ---- */

static bool is_register_operation(unsigned int atom, unsigned int first)
{
	return atom >= first && atom < first + 32;
}

/* The register that holds the frame base, and what is added to it. */
static bool frame_base(struct debug_info *info, const struct debug_scopes *scopes,
		       uint64_t address, struct debug_place *ret)
{
	static const unsigned int number[CFI_REGISTERS] = { 16, 7, 6, 3, 12, 13, 14, 15 };
	Dwarf_Die function = scopes->level[scopes->level_count - 1].die;
	Dwarf_Attribute memory;
	struct cfi_rule rule;
	Dwarf_Op *op;
	size_t count;

	if (!dwarf_attr_integrate(&function, DW_AT_frame_base, &memory) ||
	    dwarf_getlocation_addr(&memory, address - info->bias, &op, &count, 1) != 1 ||
	    count != 1)
		return false;
	if (is_register_operation(op->atom, DW_OP_reg0)) {
		*ret = (struct debug_place){ DEBUG_MEMORY, op->atom - DW_OP_reg0, 0 };
		return true;
	}
	if (is_register_operation(op->atom, DW_OP_breg0)) {
		*ret = (struct debug_place){ DEBUG_MEMORY, op->atom - DW_OP_breg0,
					     (int64_t)op->number };
		return true;
	}
	if (op->atom != DW_OP_call_frame_cfa ||
	    cfi_rules_find(info->cfi, info->module, address, &rule) < 0 || rule.cfa_deref)
		return false;
	*ret = (struct debug_place){ DEBUG_MEMORY, number[rule.cfa_base], rule.cfa_offset };
	return true;
}

static bool is_tls_operation(unsigned int atom)
{
	return atom == DW_OP_form_tls_address || atom == DW_OP_GNU_push_tls_address;
}

/* A static variable: its address, with what is added to it. */
static void static_place(struct debug_info *info, Dwarf_Attribute *attribute, const Dwarf_Op *op,
			 size_t count, struct debug_place *ret)
{
	uint64_t value = op->number;
	Dwarf_Attribute memory;

	if (op->atom == DW_OP_addrx || op->atom == DW_OP_constx ||
	    op->atom == DW_OP_GNU_addr_index) {
		if (dwarf_getlocation_attr(attribute, op, &memory) != 0 ||
		    dwarf_formaddr(&memory, &value) != 0)
			return;
	}
	if (count == 2 && is_tls_operation(op[1].atom))
		*ret = (struct debug_place){ DEBUG_THREAD, 0, (int64_t)value };
	else if (op->atom != DW_OP_const8u && op->atom != DW_OP_const4u && count == 1)
		*ret = (struct debug_place){ DEBUG_STATIC, 0, (int64_t)(value + info->bias) };
}

void debug_read_place(struct debug_info *info, const struct debug_scopes *scopes,
		      Dwarf_Attribute *attribute, uint64_t address, struct debug_place *ret)
{
	Dwarf_Op *op;
	size_t count;

	if (dwarf_getlocation_addr(attribute, address - info->bias, &op, &count, 1) != 1 ||
	    count == 0)
		return;
	if (is_register_operation(op->atom, DW_OP_reg0) && count == 1) {
		*ret = (struct debug_place){ DEBUG_REGISTER, op->atom - DW_OP_reg0, 0 };
	} else if (is_register_operation(op->atom, DW_OP_breg0) && count == 1) {
		*ret = (struct debug_place){ DEBUG_MEMORY, op->atom - DW_OP_breg0,
					     (int64_t)op->number };
	} else if (op->atom == DW_OP_fbreg && count == 1 && scopes) {
		if (frame_base(info, scopes, address, ret))
			ret->offset = (int64_t)((uint64_t)ret->offset + op->number);
	} else if (op->atom == DW_OP_addr || op->atom == DW_OP_addrx ||
		   op->atom == DW_OP_GNU_addr_index || op->atom == DW_OP_const8u ||
		   op->atom == DW_OP_const4u || op->atom == DW_OP_constx) {
		static_place(info, attribute, op, count, ret);
	}
}

void assigned_debug_place(struct debug_info *info, const struct debug_scopes *scopes,
			  const struct debug_variable *variable, uint64_t address,
			  struct debug_place *ret)
{
	Dwarf_Die die = variable->die;
	Dwarf_Attribute memory;

	*ret = (struct debug_place){ .where = DEBUG_NOWHERE };
	if (dwarf_attr_integrate(&die, DW_AT_location, &memory))
		debug_read_place(info, scopes, &memory, address, ret);
}

/* ---- by name ---- */

static bool has_name(Dwarf_Die *die, const char *name, size_t bytes)
{
	const char *own = dwarf_diename(die);

	return own && strncmp(own, name, bytes) == 0 && own[bytes] == '\0';
}

static bool is_static(Dwarf_Die *die)
{
	Dwarf_Attribute memory;
	Dwarf_Op *op;
	size_t count;

	if (dwarf_hasattr_integrate(die, DW_AT_external))
		return true;
	if (!dwarf_attr_integrate(die, DW_AT_location, &memory) ||
	    dwarf_getlocation(&memory, &op, &count) != 0 || count == 0)
		return false;
	return op->atom == DW_OP_addr || op->atom == DW_OP_addrx || op->atom == DW_OP_const8u ||
	       op->atom == DW_OP_GNU_addr_index || op->atom == DW_OP_constx;
}

/* Variables that were optimized away stand only in the function that all copies come from. */
static bool find_in_origin(const struct debug_level *level, const char *name, size_t bytes,
			   Dwarf_Die *ret)
{
	Dwarf_Die at = level->die, origin, stack[DEBUG_MAX_DEPTH];
	unsigned int depth = 0;
	Dwarf_Attribute memory;

	if (!dwarf_attr(&at, DW_AT_abstract_origin, &memory) ||
	    !dwarf_formref_die(&memory, &origin) || dwarf_child(&origin, &stack[0]) != 0)
		return false;
	for (unsigned int visits = 0; visits < DEBUG_MAX_VISITS; visits++) {
		int tag = dwarf_tag(&stack[depth]);

		if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) &&
		    has_name(&stack[depth], name, bytes)) {
			*ret = stack[depth];
			return true;
		}
		if (tag == DW_TAG_lexical_block && depth + 1 < DEBUG_MAX_DEPTH &&
		    dwarf_child(&stack[depth], &stack[depth + 1]) == 0) {
			depth++;
			continue;
		}
		while (dwarf_siblingof(&stack[depth], &stack[depth]) != 0) {
			if (depth-- == 0)
				return false;
		}
	}
	return false;
}

struct wanted {
	const char *name;
	size_t bytes;
	Dwarf_Die die;
	bool found;
};

static int match_global(void *context, Dwarf_Die *die)
{
	struct wanted *wanted = context;

	if (dwarf_tag(die) != DW_TAG_variable || !has_name(die, wanted->name, wanted->bytes))
		return 0;
	wanted->die = *die;
	wanted->found = true;
	return -1;
}

/* The local variable of level, the innermost of those whose block holds the place. */
static bool find_local(const struct debug_scopes *scopes, unsigned int level, const char *name,
		       size_t bytes, Dwarf_Die *ret)
{
	const struct debug_variable *best = NULL;

	for (unsigned int i = 0; i < scopes->variable_count; i++) {
		const struct debug_variable *variable = &scopes->variable[i];
		Dwarf_Die die = variable->die;

		if (variable->level != level || variable->rank == DEBUG_OTHER_CALL ||
		    !has_name(&die, name, bytes))
			continue;
		if (!best || variable->rank < best->rank ||
		    (variable->rank == best->rank && variable->depth >= best->depth))
			best = variable;
	}
	if (best)
		*ret = best->die;
	return best || find_in_origin(&scopes->level[level], name, bytes, ret);
}

bool assigned_debug_local(const struct debug_scopes *scopes, unsigned int level, const char *name,
			  size_t bytes, Dwarf_Die *ret, bool *ret_static)
{
	if (level >= scopes->level_count || !find_local(scopes, level, name, bytes, ret))
		return false;
	*ret_static = is_static(ret);
	return true;
}

bool assigned_debug_named(const struct debug_scopes *scopes, const char *name, size_t bytes,
			  Dwarf_Die *ret)
{
	struct wanted wanted = { .name = name, .bytes = bytes };
	Dwarf_Die unit = scopes->unit;

	(void)assigned_walk_unit(&unit, match_global, &wanted);
	if (wanted.found)
		*ret = wanted.die;
	return wanted.found;
}
