/* SPDX-License-Identifier: MIT */
/*
 * debug_units.c - units and functions of one file's debug information, by the address of code.
 *
 * Units are found by their own ranges, functions by a table made per unit on the first question
 * about it. dwarf_getscopes() was not used: it calls itself for every level of a hostile tree,
 * and takes 10 ms an address; nor dwarf_haspc() on unit after unit, which reads all their
 * ranges for each question.
 */
#include "src/leak/debug_units.h"

#include <errno.h>
#include <dwarf.h>

#include "src/leak/debug_walk.h"

#define MAX_RANGES	(4u << 20)
#define MAX_ENTRIES	(1u << 20)	/* of a unit that are looked at */
#define MAX_OUTER	8u	/* how many starts to look back for one that holds the address */

struct range {
	uint64_t low, high;
	size_t index;		/* of the unit, or of the unit's function */
};
struct ranges {
	struct range *range;
	size_t count, room;
};
struct unit {
	Dwarf_Die tree;
	bool built;
	struct ranges ranges;	/* of the functions */
	Dwarf_Die *function;
	size_t count, room;
};
struct debug_units {
	struct ranges ranges;	/* of the units */
	struct unit *unit;
	size_t count, room;
};

/* Room for one more; the array may move. NULL without memory, the array is then as before. */
static void *grow(void *array, size_t size, size_t count, size_t *room)
{
	size_t more = *room ? *room * 2 : 16;
	void *grown;

	if (count < *room)
		return array;
	grown = reallocarray(array, more, size);
	if (grown)
		*room = more;
	return grown;
}

/* ---- ranges ---- */

static int add_ranges(struct ranges *ranges, Dwarf_Die *from, size_t index)
{
	struct range new = { .index = index };
	ptrdiff_t offset = 0;
	Dwarf_Addr base;

	while ((offset = dwarf_ranges(from, offset, &base, &new.low, &new.high)) > 0) {
		struct range *range;

		if (new.low >= new.high || ranges->count >= MAX_RANGES)
			continue;
		range = grow(ranges->range, sizeof(*range), ranges->count, &ranges->room);
		if (!range)
			return -ENOMEM;
		ranges->range = range;
		range[ranges->count++] = new;
	}
	return 0;
}

static int by_low(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return (a->low > b->low) - (a->low < b->low);
}

static void sort_ranges(struct ranges *ranges)
{
	if (ranges->count > 0)
		qsort(ranges->range, ranges->count, sizeof(*ranges->range), by_low);
}

/* The range that holds pc; of overlapping ones, one of those that start last. */
static const struct range *find_range(const struct ranges *ranges, uint64_t pc)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->range[middle].low <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	for (unsigned int looked = 0; low > 0 && looked < MAX_OUTER; looked++)
		if (pc < ranges->range[--low].high)
			return &ranges->range[low];
	return NULL;
}

/* ---- a unit ---- */

static int add_function(void *context, struct debug_level *level, unsigned int depth)
{
	struct unit *unit = context;
	size_t before = unit->ranges.count;
	Dwarf_Die *grown;
	int r;

	if (level[depth].tag != DW_TAG_subprogram)
		return 0;
	r = add_ranges(&unit->ranges, &level[depth].die, unit->count);
	if (r < 0 || unit->ranges.count == before)
		return r;	/* or declared only, or always inlined */
	grown = grow(unit->function, sizeof(*grown), unit->count, &unit->room);
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
	sort_ranges(&unit->ranges);
	return r;
}

/* ---- all of them ---- */

static int add_unit(struct debug_units *units, struct debug_unit *from)
{
	struct unit *unit = grow(units->unit, sizeof(*unit), units->count, &units->room);
	size_t before = units->ranges.count;
	int r;

	if (!unit)
		return -ENOMEM;
	units->unit = unit;
	unit += units->count;
	*unit = (struct unit){ .tree = from->tree };
	r = add_ranges(&units->ranges, &from->die, units->count);
	/* A unit that names no ranges: those of its functions. */
	if (r == 0 && units->ranges.count == before) {
		r = build(unit);
		for (size_t i = 0; r == 0 && i < unit->count; i++)
			r = add_ranges(&units->ranges, &unit->function[i], units->count);
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
	sort_ranges(&units->ranges);
	*ret = units;
	return 0;
}

void debug_units_free(struct debug_units *units)
{
	if (!units)
		return;
	for (size_t i = 0; i < units->count; i++) {
		free(units->unit[i].ranges.range);
		free(units->unit[i].function);
	}
	free(units->unit);
	free(units->ranges.range);
	free(units);
}

int debug_units_function(struct debug_units *units, uint64_t pc, struct debug_function *ret)
{
	const struct range *range = find_range(&units->ranges, pc);
	struct unit *unit = range ? &units->unit[range->index] : NULL;
	int r = unit ? build(unit) : -ENOENT;

	if (r < 0)
		return r;
	range = find_range(&unit->ranges, pc);
	if (!range)
		return -ENOENT;
	*ret = (struct debug_function){ .die = unit->function[range->index], .unit = unit->tree,
					.low = range->low, .high = range->high };
	return 0;
}
