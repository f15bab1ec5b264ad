/* SPDX-License-Identifier: MIT */
/*
 * debug_globals.c - variables of one file that always are, by address, and its types, by name.
 *
 * Two walks, each made once and only if it is asked for: what lies outside functions (variables
 * and complete types), and static variables in functions. A variable's place leads to no
 * compile unit (.debug_aranges speaks of code), so units can't be chosen.
 * Each walk looks at a bounded number of entries; beyond that, what was not reached goes
 * by its ELF symbol.
 */
#include "src/debuginfo/debug_globals.h"

#include <dwarf.h>
#include <errno.h>

#include "src/base/hashmap.h"
#include "src/debuginfo/debug_place.h"
#include "src/debuginfo/debug_walk.h"
#include "src/debuginfo/type_names.h"

#define MAX_ENTRIES	(32u << 20)	/* of debug information in one walk: about 3 s */
#define MAX_KEPT	(1u << 20)	/* variables, and types, of one module */

struct places {
	struct debug_global *place;
	size_t count, room;
};
struct debug_globals {
	const struct debug_file *file;
	bool walked, has_functions;
	struct places places[2];	/* [thread_local], sorted after a walk */
	struct hashmap type;		/* name hash -> index in types */
	struct hashmap declared;	/* entry of a declared type -> name hash, in a walk */
	Dwarf_Die *types;
	size_t type_count, type_room;
};

int debug_globals_new(const struct debug_file *file, struct debug_globals **ret)
{
	struct debug_globals *globals = calloc(1, sizeof(*globals));

	if (!globals)
		return -ENOMEM;
	globals->file = file;
	*ret = globals;
	return 0;
}

void debug_globals_free(struct debug_globals *globals)
{
	if (!globals)
		return;
	free(globals->places[0].place);
	free(globals->places[1].place);
	hashmap_done(&globals->type);
	hashmap_done(&globals->declared);
	free(globals->types);
	free(globals);
}

/* ---- variables ---- */

static int add_place(struct places *places, const struct debug_global *place)
{
	size_t room = places->room ? places->room * 2 : 256;
	struct debug_global *grown;

	if (places->count >= MAX_KEPT)
		return 0;
	if (places->count == places->room) {
		grown = reallocarray(places->place, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		places->place = grown;
		places->room = room;
	}
	places->place[places->count++] = *place;
	return 0;
}

static int add_variable(struct debug_globals *globals, Dwarf_Die *die, bool nested)
{
	const struct debug_file *file = globals->file;
	struct debug_global global = { .die = *die, .nested = nested };
	struct debug_place place;

	debug_place_fixed(die, &place);
	if (place.where == DEBUG_NOWHERE)
		return 0;
	global.address = (uint64_t)place.offset;
	if (place.where == DEBUG_STATIC)
		global.address += file->dwarf_bias;
	else if (global.address >= file->tls_bytes &&
		 global.address - file->tls_low < file->tls_bytes)
		global.address -= file->tls_low;	/* gcc 12 -gsplit-dwarf: no offset */
	return add_place(&globals->places[place.where == DEBUG_THREAD], &global);
}

/* ---- types ---- */

/* The hash of a type's name; one that was declared elsewhere before has that place's scope. */
static uint64_t name_hash_of(const struct debug_globals *globals, struct debug_level *level,
			     unsigned int depth, const char *name)
{
	Dwarf_Attribute memory;
	Dwarf_Die declared;
	uint64_t hash;

	if (dwarf_attr(&level[depth].die, DW_AT_specification, &memory) &&
	    dwarf_formref_die(&memory, &declared) &&
	    hashmap_get(&globals->declared, (uint64_t)(uintptr_t)declared.addr, &hash))
		return hash;
	return type_name_hash(debug_walk_scope(level, depth), name);
}

static int add_type(struct debug_globals *globals, struct debug_level *level, unsigned int depth)
{
	Dwarf_Die die = level[depth].die, *grown;
	const char *name = dwarf_diename(&die);
	size_t room = globals->type_room ? globals->type_room * 2 : 256;
	uint64_t hash, known;

	if (!name || globals->type_count >= MAX_KEPT)
		return 0;
	hash = name_hash_of(globals, level, depth, name);
	if (dwarf_hasattr(&die, DW_AT_declaration))
		return hashmap_count(&globals->declared) >= MAX_KEPT ? 0 :
		       hashmap_put(&globals->declared, (uint64_t)(uintptr_t)die.addr, hash);
	if (hashmap_get(&globals->type, hash, &known))
		return 0;
	if (globals->type_count == globals->type_room) {
		grown = reallocarray(globals->types, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		globals->types = grown;
		globals->type_room = room;
	}
	globals->types[globals->type_count] = die;
	return hashmap_put(&globals->type, hash, globals->type_count++);
}

/* ---- the walks ---- */

static int each_name(void *context, struct debug_level *level, unsigned int depth)
{
	struct debug_level *at = &level[depth];

	switch (at->tag) {
	case DW_TAG_variable:
		return add_variable(context, &at->die, depth > 0 ||
				    dwarf_hasattr(&at->die, DW_AT_specification));
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return add_type(context, level, depth);
	}
	return 0;
}

static int each_static(void *context, struct debug_level *level, unsigned int depth)
{
	bool inside = false;

	if (level[depth].tag != DW_TAG_variable)
		return 0;
	for (unsigned int i = 0; i < depth && !inside; i++)
		inside = level[i].tag == DW_TAG_subprogram;
	return inside ? add_variable(context, &level[depth].die, true) : 0;
}

static int by_address(const void *left, const void *right)
{
	const struct debug_global *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/* Without memory for more, what was found is all there is. */
static void walk(struct debug_globals *globals, bool functions)
{
	uint64_t budget = MAX_ENTRIES;
	const struct debug_walk walk = {
		.enters = functions ? debug_walk_enters_functions : NULL, .budget = &budget,
		.each = functions ? each_static : each_name, .context = globals,
	};

	(void)!debug_walk_all(&walk, globals->file->dwarf);
	hashmap_done(&globals->declared);
	globals->declared = (struct hashmap){ .slot = NULL };
	for (int i = 0; i < 2; i++)
		if (globals->places[i].count)
			qsort(globals->places[i].place, globals->places[i].count,
			      sizeof(struct debug_global), by_address);
}

static void need_names(struct debug_globals *globals)
{
	if (!globals->walked)
		walk(globals, false);
	globals->walked = true;
}

void debug_globals_add_functions(struct debug_globals *globals)
{
	need_names(globals);
	if (!globals->has_functions)
		walk(globals, true);
	globals->has_functions = true;
}

bool debug_globals_has_functions(const struct debug_globals *globals)
{
	return globals->has_functions;
}

/* ---- answers ---- */

const struct debug_global *debug_globals_find(struct debug_globals *globals, uint64_t address,
					      bool thread_local)
{
	const struct places *places = &globals->places[thread_local];
	size_t low = 0, high;

	need_names(globals);
	high = places->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places->place[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &places->place[low - 1] : NULL;
}

bool debug_globals_type(struct debug_globals *globals, uint64_t name_hash, Dwarf_Die *ret)
{
	uint64_t at;

	need_names(globals);
	if (!hashmap_get(&globals->type, name_hash, &at))
		return false;
	*ret = globals->types[at];
	return true;
}
