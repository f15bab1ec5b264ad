/* SPDX-License-Identifier: MIT */
/*
 * debug_scopes.c - what surrounds a place in the code: functions, inlined calls, their variables.
 *
 * A function's tree is walked once for a place; all its variables are taken, ranked by how near
 * their scope is: optimized code often assigns to a variable some instructions before the
 * variable's own block begins.
 */
#include "src/debuginfo/debug_scopes.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "src/debuginfo/debug_walk.h"
#include "src/debuginfo/type_shape.h"

#define MAX_ENTRIES	(1u << 20)	/* that one question looks at */

/* ---- scopes ---- */

/* What is known of a block while the walk is in it. */
struct block {
	unsigned int function;	/* how many inlined calls are around; counted from the outside */
	bool holds;		/* the address */
	bool other_call;	/* in an inlined call that does not hold the address */
};
struct reading {
	struct debug_scopes *scopes;
	uint64_t pc;
	struct block around[DEBUG_MAX_DEPTH];	/* [depth]: the block that an entry there is in */
};

static bool is_variable(int tag)
{
	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

static void add_level(struct debug_scopes *scopes, Dwarf_Die *die)
{
	struct scope_level *level = &scopes->level[scopes->level_count];
	uint64_t line = 0;
	Dwarf_Die type;

	if (scopes->level_count == SCOPES_MAX_LEVELS)
		return;
	(void)type_number(die, DW_AT_decl_line, &line);
	*level = (struct scope_level){
		.die = *die, .name = dwarf_diename(die),
		.line = line < UINT32_MAX ? (uint32_t)line : 0,
		.returns_pointer = type_of_entry(die, &type) && type_is_pointer(&type),
	};
	scopes->level_count++;
}

static int add_variable(void *context, struct debug_level *level, unsigned int depth)
{
	struct reading *reading = context;
	struct debug_scopes *scopes = reading->scopes;
	const struct block *block = &reading->around[depth];

	if (!is_variable(level[depth].tag) || scopes->variable_count == SCOPES_MAX_VARIABLES)
		return 0;
	scopes->variable[scopes->variable_count++] = (struct scope_variable){
		.die = level[depth].die, .depth = (uint16_t)depth,
		.level = (uint8_t)block->function,
		.rank = block->other_call ? SCOPE_OTHER_CALL
			: block->holds ? SCOPE_HERE : SCOPE_OTHER_BLOCK,
	};
	return 0;
}

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block || tag == DW_TAG_inlined_subroutine;
}

static bool enters(void *context, struct debug_level *level, unsigned int depth)
{
	struct reading *reading = context;
	const struct block *outer = &reading->around[depth];
	bool call = level[depth].tag == DW_TAG_inlined_subroutine;
	struct block *block = &reading->around[depth + 1];

	/* A call without entries of its own counts, as it does for the symbolizer. */
	if (!is_block(level[depth].tag))
		return false;
	*block = *outer;
	block->holds = outer->holds && dwarf_haspc(&level[depth].die, reading->pc) == 1;
	block->other_call = outer->other_call || (call && !block->holds);
	if (call && block->holds) {
		add_level(reading->scopes, &level[depth].die);
		block->function = reading->scopes->level_count - 1;
	}
	return true;
}

/* Levels were found from the outside in; they are wanted the other way. */
static void reverse_levels(struct debug_scopes *scopes)
{
	unsigned int last = scopes->level_count - 1;

	for (unsigned int i = 0; i < scopes->level_count / 2; i++) {
		struct scope_level swap = scopes->level[i];

		scopes->level[i] = scopes->level[last - i];
		scopes->level[last - i] = swap;
	}
	for (unsigned int i = 0; i < scopes->variable_count; i++)
		scopes->variable[i].level = (uint8_t)(last - scopes->variable[i].level);
}

int debug_scopes_read(struct debug_index *index, uint64_t address, struct debug_scopes *ret)
{
	struct reading reading = { .scopes = ret, .around = { { .holds = true } } };
	uint64_t budget = MAX_ENTRIES;
	const struct debug_walk walk = { .enters = enters, .budget = &budget,
					 .each = add_variable, .context = &reading };
	struct debug_function function;
	int r = debug_index_function(index, address, &function);

	if (r < 0)
		return r;
	ret->address = address;
	ret->level_count = ret->variable_count = 0;
	ret->low = function.low;
	ret->high = function.high;
	ret->unit = function.unit;
	ret->bias = debug_index_bias(index);
	reading.pc = address + ret->bias;
	add_level(ret, &function.die);
	(void)!debug_walk_below(&walk, &function.die);
	reverse_levels(ret);
	return 0;
}

/* ---- places ---- */

void debug_scopes_place(const struct debug_scopes *scopes, const struct scope_variable *variable,
			uint64_t address, struct debug_place *ret)
{
	const Dwarf_Die *function = &scopes->level[scopes->level_count - 1].die;
	Dwarf_Die die = variable->die;

	debug_place_at(&die, function, address + scopes->bias, ret);
	if (ret->where == DEBUG_STATIC)
		ret->offset = (int64_t)((uint64_t)ret->offset - scopes->bias);
}

bool debug_scopes_static(const struct debug_scopes *scopes, uint64_t address, bool thread_local,
			 Dwarf_Die *ret, uint64_t *ret_offset)
{
	for (unsigned int i = 0; i < scopes->variable_count; i++) {
		Dwarf_Die die = scopes->variable[i].die, type;
		struct debug_place place;
		uint64_t size;

		debug_scopes_place(scopes, &scopes->variable[i], scopes->address, &place);
		if (place.where != (thread_local ? DEBUG_THREAD : DEBUG_STATIC) ||
		    (uint64_t)place.offset > address)
			continue;
		size = type_of_entry(&die, &type) ? type_size(&type) : 0;
		if (address - (uint64_t)place.offset >= (size ? size : 1))
			continue;
		*ret = die;
		*ret_offset = address - (uint64_t)place.offset;
		return true;
	}
	return false;
}

/* ---- by name ---- */

struct wanted {
	const char *name;
	size_t bytes;
	Dwarf_Die *ret;
};

static bool has_name(Dwarf_Die *die, const char *name, size_t bytes)
{
	const char *own = dwarf_diename(die);

	return own && strncmp(own, name, bytes) == 0 && own[bytes] == '\0';
}

static int match_variable(void *context, struct debug_level *level, unsigned int depth)
{
	const struct wanted *wanted = context;

	if (!is_variable(level[depth].tag) ||
	    !has_name(&level[depth].die, wanted->name, wanted->bytes))
		return 0;
	*wanted->ret = level[depth].die;
	return 1;
}

static bool enters_blocks(void *context, struct debug_level *level, unsigned int depth)
{
	(void)context;
	return level[depth].tag == DW_TAG_lexical_block;
}

/* The first variable of that name below top. */
static bool find_below(Dwarf_Die *top, bool blocks, const struct wanted *wanted)
{
	uint64_t budget = MAX_ENTRIES;
	const struct debug_walk walk = {
		.enters = blocks ? enters_blocks : NULL, .budget = &budget,
		.each = match_variable, .context = (void *)(uintptr_t)wanted,
	};

	return debug_walk_below(&walk, top) == 1;
}

/* Variables that were optimized away stand only in the function that all copies come from. */
static bool find_in_origin(const struct scope_level *level, const struct wanted *wanted)
{
	Dwarf_Die at = level->die, origin;
	Dwarf_Attribute memory;

	return dwarf_attr(&at, DW_AT_abstract_origin, &memory) &&
	       dwarf_formref_die(&memory, &origin) && find_below(&origin, true, wanted);
}

/* The local variable of level, the innermost of those whose block holds the place. */
static bool find_local(const struct debug_scopes *scopes, unsigned int level,
		       const struct wanted *wanted)
{
	const struct scope_variable *best = NULL;

	for (unsigned int i = 0; i < scopes->variable_count; i++) {
		const struct scope_variable *variable = &scopes->variable[i];
		Dwarf_Die die = variable->die;

		if (variable->level != level || variable->rank == SCOPE_OTHER_CALL ||
		    !has_name(&die, wanted->name, wanted->bytes))
			continue;
		if (!best || variable->rank < best->rank ||
		    (variable->rank == best->rank && variable->depth >= best->depth))
			best = variable;
	}
	if (best)
		*wanted->ret = best->die;
	return best || find_in_origin(&scopes->level[level], wanted);
}

static bool is_static(const struct debug_scopes *scopes, Dwarf_Die *die)
{
	struct debug_place place;

	if (dwarf_hasattr_integrate(die, DW_AT_external))
		return true;
	debug_place_at(die, NULL, scopes->address + scopes->bias, &place);
	return place.where == DEBUG_STATIC || place.where == DEBUG_THREAD;
}

bool debug_scopes_local(const struct debug_scopes *scopes, unsigned int level, const char *name,
			size_t bytes, Dwarf_Die *ret, bool *ret_static)
{
	const struct wanted wanted = { name, bytes, ret };

	if (level >= scopes->level_count || !find_local(scopes, level, &wanted))
		return false;
	*ret_static = is_static(scopes, ret);
	return true;
}

bool debug_scopes_named(const struct debug_scopes *scopes, const char *name, size_t bytes,
			Dwarf_Die *ret)
{
	const struct wanted wanted = { name, bytes, ret };
	Dwarf_Die unit = scopes->unit;

	return find_below(&unit, false, &wanted);
}
