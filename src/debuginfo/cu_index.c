/* SPDX-License-Identifier: MIT */
/*
 * cu_index.c - source frames of an address, from one file's DWARF.
 *
 * libdw's dwarf_getscopes() walks a compile unit's tree for every address: 10 ms
 * each in a C++ program. Here the tree is walked once per unit, into a sorted
 * list of places where the innermost scope changes; a lookup is a binary search
 * and a walk up the inlined calls: 5 us, with the same result.
 * Compile units are found by their own ranges: clang writes no .debug_aranges, and
 * what depends on them (dwfl_module_addrdie in elfutils 0.188) then finds
 * nothing at all.
 * The trees come from hostile files: the walk keeps its own stack of bounded
 * depth, and visits no more entries than a unit has bytes.
 */
#include "src/debuginfo/cu_index.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "src/base/array.h"
#include "src/debuginfo/die_ranges.h"

#define MAX_DEPTH	256u
#define MAX_RANGES	(16u << 20)
#define DEFAULT_BYTES	(16u << 20)	/* of a unit whose end is not known */

/* A function or inlined call. */
struct scope {
	Dwarf_Die die;
	int32_t parent;		/* index of the enclosing one, -1 */
	uint32_t depth;
	bool inlined;
};

struct scope_range {
	uint64_t low, high;
	uint32_t scope, depth;
};

/* From low on, up to the next one's low, scope is the innermost one. */
struct segment {
	uint64_t low;		/* first address */
	uint64_t scope_low;	/* start of the scope's own range there */
	int32_t scope;		/* -1: none */
};

struct unit {
	Dwarf_Die die;		/* for lines and files */
	Dwarf_Die tree;		/* of the split unit where there is one, else die */
	const char *directory;	/* absolute: where it was compiled; NULL: unknown */
	uint64_t bytes;		/* of its entries: no tree has more of them */
	bool built;
	struct scope *scope;
	size_t scope_count, scope_capacity;
	struct scope_range *range;
	size_t range_count, range_capacity;
	struct segment *segment;
	size_t segment_count;
};

struct cu_index {
	struct unit *unit;
	size_t unit_count, unit_capacity;
	struct die_ranges ranges;	/* of the units */
};

/* ---- compile units ---- */

/* gcc -ffile-prefix-map makes relative ones, which lead nowhere. */
static const char *directory_of(Dwarf_Die *die)
{
	Dwarf_Attribute memory, *attribute = dwarf_attr(die, DW_AT_comp_dir, &memory);
	const char *directory = attribute ? dwarf_formstring(attribute) : NULL;

	return directory && directory[0] == '/' ? directory : NULL;
}

/* A unit that names no ranges of its own: those of its functions. */
static int add_function_ranges(struct cu_index *index, uint32_t unit, Dwarf_Die *tree)
{
	size_t left = MAX_RANGES;
	Dwarf_Die die;
	int r = 0;

	if (dwarf_child(tree, &die) != 0)
		return 0;
	do {
		if (dwarf_tag(&die) == DW_TAG_subprogram)
			r = die_ranges_add(&index->ranges, &die, unit);
	} while (r == 0 && --left > 0 && dwarf_siblingof(&die, &die) == 0);
	return r;
}

static int add_unit(struct cu_index *index, Dwarf_Die *die, Dwarf_Die *split)
{
	uint32_t number = (uint32_t)index->unit_count;
	size_t before = index->ranges.count;
	struct unit *unit;
	int r;

	unit = array_room(index->unit, sizeof(*unit), index->unit_count, &index->unit_capacity);
	if (!unit)
		return -ENOMEM;
	index->unit = unit;
	unit += index->unit_count++;
	*unit = (struct unit){
		.die = *die, .tree = split ? *split : *die, .bytes = DEFAULT_BYTES,
		.directory = directory_of(die),
	};
	r = die_ranges_add(&index->ranges, die, number);
	if (r == 0 && index->ranges.count == before)
		r = add_function_ranges(index, number, &unit->tree);
	return r;
}

/* A unit ends where the next one begins; the last and the split ones keep the default. */
static void set_bytes(struct cu_index *index)
{
	for (size_t i = 0; i + 1 < index->unit_count; i++) {
		Dwarf_Off start = dwarf_dieoffset(&index->unit[i].tree);
		Dwarf_Off next = dwarf_dieoffset(&index->unit[i + 1].die);

		if (index->unit[i].tree.addr == index->unit[i].die.addr && next > start)
			index->unit[i].bytes = next - start;
	}
}

static int read_units(struct cu_index *index, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	int r = 0;

	while (r == 0 && dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, &split) == 0) {
		bool skeleton = type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid;

		if (type == DW_UT_compile || type == DW_UT_skeleton)
			r = add_unit(index, &die, skeleton ? &split : NULL);
	}
	set_bytes(index);
	die_ranges_sort(&index->ranges);
	return r;
}

int cu_index_new(Dwarf *dwarf, struct cu_index **ret)
{
	struct cu_index *index = calloc(1, sizeof(*index));
	int r;

	if (!index)
		return -ENOMEM;
	r = read_units(index, dwarf);
	if (r < 0) {
		cu_index_free(index);
		return r;
	}
	*ret = index;
	return 0;
}

static void unit_done(struct unit *unit)
{
	free(unit->scope);
	free(unit->range);
	free(unit->segment);
}

void cu_index_free(struct cu_index *index)
{
	if (!index)
		return;
	for (size_t i = 0; i < index->unit_count; i++)
		unit_done(&index->unit[i]);
	free(index->unit);
	die_ranges_done(&index->ranges);
	free(index);
}

static struct unit *find_unit(struct cu_index *index, uint64_t pc)
{
	const struct die_range *range = die_ranges_find(&index->ranges, pc);

	return range ? &index->unit[range->index] : NULL;
}

/* ---- one unit's tree ---- */

static bool is_scope(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* What can have scopes below it. Types: methods of local classes, closures, Rust's impls. */
static bool is_container(int tag)
{
	switch (tag) {
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return true;
	}
	return false;
}

static int add_range(struct unit *unit, struct scope_range new)
{
	struct scope_range *range;

	if (new.low >= new.high || unit->range_count >= MAX_RANGES)
		return 0;
	range = array_room(unit->range, sizeof(*range), unit->range_count, &unit->range_capacity);
	if (!range)
		return -ENOMEM;
	unit->range = range;
	range[unit->range_count++] = new;
	return 0;
}

/* Adds the scope if it has code: its index, or parent if it has none, or -ENOMEM. */
static int64_t add_scope(struct unit *unit, Dwarf_Die *die, int32_t parent)
{
	uint32_t depth = parent < 0 ? 0 : unit->scope[parent].depth + 1;
	struct scope_range new = { .scope = (uint32_t)unit->scope_count, .depth = depth };
	size_t first = unit->range_count;
	ptrdiff_t offset = 0;
	struct scope *scope;
	Dwarf_Addr base;

	while ((offset = dwarf_ranges(die, offset, &base, &new.low, &new.high)) > 0) {
		if (add_range(unit, new) < 0)
			return -ENOMEM;
	}
	if (unit->range_count == first)
		return parent;
	scope = array_room(unit->scope, sizeof(*scope), unit->scope_count, &unit->scope_capacity);
	if (!scope)
		return -ENOMEM;
	unit->scope = scope;
	scope[unit->scope_count] = (struct scope){
		.die = *die, .parent = parent, .depth = depth,
		.inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine,
	};
	return (int64_t)unit->scope_count++;
}

struct level {
	Dwarf_Die die;
	int32_t parent;		/* scope of this entry and its siblings */
};

/* The scope for an entry's children, INT64_MIN to leave them out, or -ENOMEM. */
static int64_t visit(struct unit *unit, struct level *level)
{
	int tag = dwarf_tag(&level->die);

	if (is_scope(tag)) {
		int64_t scope = add_scope(unit, &level->die, level->parent);

		/* Declarations and abstract instances have no code, nor has anything below. */
		return scope == level->parent ? INT64_MIN : scope;
	}
	return is_container(tag) ? level->parent : INT64_MIN;
}

static int walk_tree(struct unit *unit, struct level *level)
{
	uint64_t budget = unit->bytes;
	unsigned int depth = 0;

	if (dwarf_child(&unit->tree, &level[0].die) != 0)
		return 0;
	level[0].parent = -1;
	while (budget-- > 0) {
		int64_t scope = visit(unit, &level[depth]);

		if (scope == -ENOMEM)
			return -ENOMEM;
		if (scope != INT64_MIN && depth + 1 < MAX_DEPTH &&
		    dwarf_child(&level[depth].die, &level[depth + 1].die) == 0) {
			level[++depth].parent = (int32_t)scope;
			continue;
		}
		while (dwarf_siblingof(&level[depth].die, &level[depth].die) != 0) {
			if (depth-- == 0)
				return 0;
		}
	}
	return 0;
}

static int compare_scope_ranges(const void *left, const void *right)
{
	const struct scope_range *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return a->scope < b->scope ? -1 : a->scope > b->scope;
}

static void emit(struct unit *unit, uint64_t low, const struct scope_range *range)
{
	struct segment segment = {
		.low = low, .scope = range ? (int32_t)range->scope : -1,
		.scope_low = range ? range->low : 0,
	};

	if (unit->segment_count > 0 && unit->segment[unit->segment_count - 1].low == low)
		unit->segment_count--;
	unit->segment[unit->segment_count++] = segment;
}

/* The ranges open at one place, outermost first. */
struct open_ranges {
	const struct scope_range *range[MAX_DEPTH];
	unsigned int count;
};

/* Closes what ends at or before limit, and says what is innermost from there on. */
static void close_ranges(struct unit *unit, struct open_ranges *open, uint64_t limit)
{
	while (open->count > 0 && open->range[open->count - 1]->high <= limit) {
		uint64_t end = open->range[--open->count]->high;

		while (open->count > 0 && open->range[open->count - 1]->high <= end)
			open->count--;
		emit(unit, end, open->count > 0 ? open->range[open->count - 1] : NULL);
	}
}

/* Sorted ranges to a flat list; well-formed ones nest, others just give odd names. */
static int flatten(struct unit *unit)
{
	struct open_ranges open = { .count = 0 };

	if (unit->range_count == 0)
		return 0;
	unit->segment = calloc(unit->range_count * 2 + 1, sizeof(*unit->segment));
	if (!unit->segment)
		return -ENOMEM;
	qsort(unit->range, unit->range_count, sizeof(*unit->range), compare_scope_ranges);
	for (size_t i = 0; i < unit->range_count; i++) {
		close_ranges(unit, &open, unit->range[i].low);
		emit(unit, unit->range[i].low, &unit->range[i]);
		if (open.count < MAX_DEPTH)
			open.range[open.count++] = &unit->range[i];
	}
	close_ranges(unit, &open, UINT64_MAX);
	free(unit->range);
	unit->range = NULL;
	unit->range_count = unit->range_capacity = 0;
	return 0;
}

static int build(struct unit *unit)
{
	_cleanup_free_ struct level *level = calloc(MAX_DEPTH, sizeof(*level));
	int r;

	if (!level)
		return -ENOMEM;
	r = walk_tree(unit, level);
	if (r == 0)
		r = flatten(unit);
	unit->built = r == 0;
	return r;
}

/* ---- answers ---- */

static const struct segment *find_segment(const struct unit *unit, uint64_t pc)
{
	size_t low = 0, high = unit->segment_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (unit->segment[middle].low <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && unit->segment[low - 1].scope >= 0 ? &unit->segment[low - 1] : NULL;
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute memory, *attribute;

	attribute = dwarf_attr_integrate(die, DW_AT_linkage_name, &memory);
	if (!attribute)
		attribute = dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &memory);
	return attribute ? dwarf_formstring(attribute) : NULL;
}

static uint32_t number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute memory;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &memory) || dwarf_formudata(&memory, &value) != 0 ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* libdw leaves the names of files as the compiler was given them. */
static void set_file(const struct unit *unit, const char *file, struct source_frame *frame)
{
	frame->file = file;
	frame->directory = file && file[0] != '/' ? unit->directory : NULL;
}

/* Where the code of the innermost frame is. */
static void set_line(struct unit *unit, Dwarf_Addr pc, struct source_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, pc);
	int value;

	if (!line)
		return;
	set_file(unit, dwarf_linesrc(line, NULL, NULL), frame);
	if (dwarf_lineno(line, &value) == 0 && value > 0)
		frame->line = (uint32_t)value;
	if (dwarf_linecol(line, &value) == 0 && value > 0)
		frame->column = (uint32_t)value;
}

/* Where the next frame called the inlined one. */
static void set_call(struct unit *unit, Dwarf_Die *inlined, struct source_frame *frame)
{
	uint32_t file = number(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;

	if (dwarf_getsrcfiles(&unit->die, &files, &count) == 0 && file < count)
		set_file(unit, dwarf_filesrc(files, file, NULL, NULL), frame);
	frame->line = number(inlined, DW_AT_call_line);
	frame->column = number(inlined, DW_AT_call_column);
}

/* Where the function begins; the cold part of a split one begins where it lies. */
static uint64_t entry_of(Dwarf_Die *die, const struct segment *segment, Dwarf_Addr pc)
{
	Dwarf_Addr entry;

	if (dwarf_entrypc(die, &entry) == 0 && entry <= pc)
		return entry;
	return segment->scope_low;
}

/* From the innermost scope outwards to the function that all was inlined into. */
static int collect(struct unit *unit, const struct segment *segment, Dwarf_Addr pc,
		   struct source_frame *frame)
{
	int32_t at = segment->scope;
	int count = 0;

	set_line(unit, pc, &frame[0]);
	for (;;) {
		struct scope *scope = &unit->scope[at];
		struct source_frame *this = &frame[count++];

		this->linkage_name = linkage_name(&scope->die);
		this->name = dwarf_diename(&scope->die);
		this->inlined = scope->inlined && scope->parent >= 0;
		if (!this->inlined || count == (int)CU_MAX_FRAMES)
			break;
		set_call(unit, &scope->die, &frame[count]);
		at = scope->parent;
	}
	frame[count - 1].inlined = false;
	frame[count - 1].low = entry_of(&unit->scope[at].die, segment, pc);
	return count;
}

int cu_index_find(struct cu_index *index, Dwarf_Addr pc,
		  struct source_frame frame[CU_MAX_FRAMES], struct source_frame *ret_line_only)
{
	struct unit *unit = find_unit(index, pc);
	const struct segment *segment;
	int r;

	*ret_line_only = (struct source_frame){ 0 };
	if (!unit)
		return 0;
	if (!unit->built) {
		r = build(unit);
		if (r < 0)
			return r;
	}
	segment = find_segment(unit, pc);
	if (!segment) {
		set_line(unit, pc, ret_line_only);
		return 0;
	}
	memset(frame, 0, CU_MAX_FRAMES * sizeof(*frame));
	return collect(unit, segment, pc, frame);
}
