/* SPDX-License-Identifier: MIT */
/*
 * debug_units.c - units and functions of one file's debug information, by the address of code.
 *
 * Units are found by their own ranges, functions by a table made per unit on the first question
 * about it. dwarf_getscopes() was not used: it calls itself for every level of a hostile tree,
 * and takes 10 ms an address; nor dwarf_haspc() on unit after unit, which reads all their
 * ranges for each question.
 */
#include "src/debuginfo/debug_units.h"

#include <errno.h>
#include <dwarf.h>

#include "src/base/array.h"
#include "src/debuginfo/die_ranges.h"
#include "src/debuginfo/debug_walk.h"

#define MAX_ENTRIES	(1u << 20)	/* of a unit that are looked at */

struct unit {
	Dwarf_Die tree;
	bool built;
	struct die_ranges ranges;	/* of the functions */
	Dwarf_Die *function;
	size_t count, room;
};
struct debug_units {
	struct die_ranges ranges;	/* of the units */
	struct unit *unit;
	size_t count, room;
};

/* ---- a unit ---- */

static int add_function(void *context, struct debug_level *level, unsigned int depth)
{
	struct unit *unit = context;
	size_t before = unit->ranges.count;
	Dwarf_Die *grown;
	int r;

	if (level[depth].tag != DW_TAG_subprogram)
		return 0;
	r = die_ranges_add(&unit->ranges, &level[depth].die, unit->count);
	if (r < 0 || unit->ranges.count == before)
		return r;	/* or declared only, or always inlined */
	grown = array_room(unit->function, sizeof(*grown), unit->count, &unit->room);
	if (!grown) {
		unit->ranges.count = before;
		return -ENOMEM;
	}
	unit->function = grown;
	grown[unit->count++] = level[depth].die;
	return 0;
}

static int build(struct unit *unit)
{
	uint64_t budget = MAX_ENTRIES;
	const struct debug_walk walk = { .budget = &budget, .each = add_function, .context = unit };
	int r;

	if (unit->built)
		return 0;
	unit->built = true;
	r = debug_walk_below(&walk, &unit->tree);
	die_ranges_sort(&unit->ranges);
	return r;
}

/* ---- all of them ---- */

static int add_unit(struct debug_units *units, struct debug_unit *from)
{
	struct unit *unit = array_room(units->unit, sizeof(*unit), units->count, &units->room);
	size_t before = units->ranges.count;
	int r;

	if (!unit)
		return -ENOMEM;
	units->unit = unit;
	unit += units->count;
	*unit = (struct unit){ .tree = from->tree };
	r = die_ranges_add(&units->ranges, &from->die, units->count);
	/* A unit that names no ranges: those of its functions. */
	if (r == 0 && units->ranges.count == before) {
		r = build(unit);
		for (size_t i = 0; r == 0 && i < unit->count; i++)
			r = die_ranges_add(&units->ranges, &unit->function[i], units->count);
	}
	units->count++;
	return r;
}

int debug_units_new(Dwarf *dwarf, struct debug_units **ret)
{
	struct debug_units *units = calloc(1, sizeof(*units));
	struct debug_unit unit = { .next = NULL };
	int r = units ? 0 : -ENOMEM;

	while (r == 0 && debug_next_unit(dwarf, &unit))
		r = unit.has_code ? add_unit(units, &unit) : 0;
	if (r < 0) {
		debug_units_free(units);
		return r;
	}
	die_ranges_sort(&units->ranges);
	*ret = units;
	return 0;
}

void debug_units_free(struct debug_units *units)
{
	if (!units)
		return;
	for (size_t i = 0; i < units->count; i++) {
		die_ranges_done(&units->unit[i].ranges);
		free(units->unit[i].function);
	}
	free(units->unit);
	die_ranges_done(&units->ranges);
	free(units);
}

int debug_units_function(struct debug_units *units, uint64_t pc, struct debug_function *ret)
{
	const struct die_range *range = die_ranges_find(&units->ranges, pc);
	struct unit *unit = range ? &units->unit[range->index] : NULL;
	int r = unit ? build(unit) : -ENOENT;

	if (r < 0)
		return r;
	range = die_ranges_find(&unit->ranges, pc);
	if (!range)
		return -ENOENT;
	*ret = (struct debug_function){ .die = unit->function[range->index], .unit = unit->tree,
					.low = range->low, .high = range->high };
	return 0;
}
