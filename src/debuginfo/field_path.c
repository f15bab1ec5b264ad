/* SPDX-License-Identifier: MIT */
/*
 * field_path.c - the search for the member at an offset.
 *
 * Depth first with a stack of its own: in unions and among empty base classes several
 * members lie at one offset, and the first that leads to a pointer there is taken. Types are
 * hostile: they can hold themselves, be of absurd sizes, overlap; depth and
 * number of members that are looked at are bounded.
 * Members of virtual base classes are not found: where they lie is in the vtable.
 */
#include "src/debuginfo/field_path.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/debuginfo/type_shape.h"

#define MAX_DEPTH	32u
#define MAX_LOOKS	20000u

struct level {
	Dwarf_Die declared;
	Dwarf_Die type;		/* the same, stripped and complete */
	Dwarf_Die child;	/* the member that was tried last; addr NULL: none yet */
	uint64_t offset;	/* in type */
	unsigned int count;	/* steps of the path up to here */
	bool is_last;		/* nothing lies behind it: it may be open at its end */
	bool storage;		/* was seen as what is stored in it */
};
struct search {
	const struct field_search *how;
	struct field_path now, *best;
	struct level level[MAX_DEPTH];
	unsigned int depth;	/* levels in use */
	unsigned int looks;
};

/* ---- members ---- */

/* Where a member or base class begins. Union members have no location: 0. */
static bool member_offset(Dwarf_Die *member, uint64_t *ret)
{
	Dwarf_Attribute memory;
	Dwarf_Word value;
	Dwarf_Op *op;
	size_t count;

	*ret = 0;
	if (!dwarf_attr(member, DW_AT_data_member_location, &memory))
		return !dwarf_hasattr(member, DW_AT_data_bit_offset);
	if (dwarf_formudata(&memory, &value) == 0) {
		*ret = value;
		return true;
	}
	if (dwarf_getlocation(&memory, &op, &count) != 0 || count != 1 ||
	    op[0].atom != DW_OP_plus_uconst)
		return false;	/* a virtual base */
	*ret = op[0].number;
	return true;
}

static bool is_member(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return (tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
	       !dwarf_hasattr(die, DW_AT_external) && !dwarf_hasattr(die, DW_AT_declaration) &&
	       !dwarf_hasattr(die, DW_AT_bit_size);
}

/* The type of a template's argument, by its name in the template. */
static bool template_argument(Dwarf_Die *type, const char *name, Dwarf_Die *ret)
{
	Dwarf_Die child;
	const char *found;
	unsigned int left = 256;

	if (dwarf_child(type, &child) != 0)
		return false;
	do {
		found = dwarf_tag(&child) == DW_TAG_template_type_parameter ?
			dwarf_diename(&child) : NULL;
		if (found && strcmp(found, name) == 0)
			return type_of_entry(&child, ret);
	} while (--left && dwarf_siblingof(&child, &child) == 0);
	return false;
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Remembers what the containers of libstdc++ hold when the path goes through one. */
static void note_container(struct search *search, Dwarf_Die *type)
{
	static const struct {
		const char *start, *argument;
	} known[] = {
		{ "_Rb_tree<", "_Val" }, { "_List_base<", "_Tp" }, { "_Hashtable<", "_Value" },
		{ "_Fwd_list_base<", "_Tp" },
	};
	const char *name = dwarf_diename(type);

	for (size_t i = 0; name && i < ARRAY_SIZE(known); i++)
		if (begins_with(name, known[i].start))
			(void)template_argument(type, known[i].argument,
						&search->now.element.die);
}

/* ---- the search ---- */

static void push(struct search *search, const Dwarf_Die *declared, uint64_t offset, bool is_last)
{
	struct level *level = &search->level[search->depth];
	Dwarf_Die type;

	if (search->depth == MAX_DEPTH || !type_strip(declared, &type))
		return;
	if (search->how->complete)
		(void)search->how->complete(search->how->context, &type);
	if (type_is_record(&type))
		note_container(search, &type);
	*level = (struct level){ .declared = *declared, .type = type, .offset = offset,
				 .count = search->now.count, .is_last = is_last };
	search->depth++;
}

static void add_step(struct search *search, const char *name, int64_t index)
{
	if (search->now.count < FIELD_MAX_STEPS)
		search->now.step[search->now.count++] = (struct field_step){ name, index };
}

/* Keeps the path as it stands if it is the best so far. */
static void offer(struct search *search, const struct level *level, enum field_fit fit)
{
	if (fit <= search->best->fit)
		return;
	*search->best = search->now;
	search->best->fit = fit;
	search->best->leaf.die = level->declared;
}

static enum field_fit fit_of_leaf(const struct level *level)
{
	Dwarf_Die type = level->type;

	if (level->offset != 0 || type_is_array(&type))
		return FIELD_PART;
	if (type_is_pointer(&type))
		return FIELD_POINTER;
	return dwarf_tag(&type) == DW_TAG_base_type && type_size(&type) == 8 ? FIELD_WORD
									      : FIELD_VALUE;
}

/* Raw memory in which libstdc++ builds a value: seen as that value. */
static bool enter_storage(struct search *search, struct level *level)
{
	const char *name = dwarf_diename(&level->type);
	Dwarf_Die value;

	if (!name || (!begins_with(name, "__aligned_membuf<") &&
		      !begins_with(name, "__aligned_buffer<")))
		return false;
	if (level->storage || !template_argument(&level->type, "_Tp", &value))
		return false;
	level->storage = true;
	add_step(search, "_M_storage", 0);
	push(search, &value, level->offset, false);
	return true;
}

/* The next member of a record, from the first on. */
static bool next_child(struct search *search, struct level *level)
{
	bool more = level->child.addr ? dwarf_siblingof(&level->child, &level->child) == 0 :
					dwarf_child(&level->type, &level->child) == 0;

	return more && search->looks++ < MAX_LOOKS;
}

/* An array at the end of what is allocated: int x[], and the older x[0] and x[1]. */
static bool is_open(const Dwarf_Die *type)
{
	Dwarf_Die array = *type;
	uint64_t count;

	return type_is_array(&array) && type_strip(&array, &array) &&
	       (!type_element_count(&array, &count) || count <= 1);
}

/* Goes into level's child if that may hold the offset. */
static bool enter_member(struct search *search, struct level *level)
{
	const char *name = dwarf_diename(&level->child);
	uint64_t at, size, whole = type_size(&level->type);
	Dwarf_Die type;
	bool open, is_last;

	if (!is_member(&level->child) || !member_offset(&level->child, &at) ||
	    at > level->offset || !type_of_entry(&level->child, &type))
		return false;
	size = type_size(&type);
	is_last = level->is_last && (size == 0 || at + size >= whole);
	open = is_last && is_open(&type);
	if (level->offset - at >= size && !open && !(is_last && level->offset >= whole))
		return false;
	search->now.count = level->count;
	if (name && dwarf_tag(&level->child) == DW_TAG_member)
		add_step(search, name, 0);
	push(search, &type, level->offset - at, is_last);
	return true;
}

static bool enter_record(struct search *search, struct level *level)
{
	if (enter_storage(search, level))
		return true;
	while (!level->storage && next_child(search, level))
		if (enter_member(search, level))
			return true;
	return false;
}

/* The indexes of all dimensions of an array, the last of which counts fastest. */
static void add_indexes(struct search *search, struct level *level, uint64_t index)
{
	uint64_t below = 1, count;
	Dwarf_Die dimension;
	unsigned int left = 8;

	memset(&dimension, 0, sizeof(dimension));
	(void)type_next_dimension(&level->type, &dimension, &count);
	for (Dwarf_Die at = dimension; type_next_dimension(&level->type, &at, &count);)
		if (count == 0 || __builtin_mul_overflow(below, count, &below))
			return;
	do {
		add_step(search, NULL, (int64_t)(index / below));
		index %= below;
		if (!type_next_dimension(&level->type, &dimension, &count) || count == 0)
			return;
		below /= count;
	} while (--left);
}

static bool enter_array(struct search *search, struct level *level)
{
	uint64_t size, count;
	Dwarf_Die element;

	if (level->child.addr || !type_of_entry(&level->type, &element))
		return false;
	level->child = element;
	size = type_size(&element);
	if (size == 0)
		return false;
	if (!(level->is_last && is_open(&level->type)) &&
	    (!type_element_count(&level->type, &count) || level->offset / size >= count))
		return false;
	search->now.count = level->count;
	add_indexes(search, level, level->offset / size);
	push(search, &element, level->offset % size, false);
	return true;
}

/* Goes on from the innermost level, or gives it up. */
static void step(struct search *search)
{
	struct level *level = &search->level[search->depth - 1];
	bool first = !level->child.addr && !level->storage, record = type_is_record(&level->type);

	search->now.count = level->count;
	if (record ? enter_record(search, level) :
	    dwarf_tag(&level->type) == DW_TAG_array_type && enter_array(search, level))
		return;
	if (first)
		offer(search, level, record ? FIELD_PART : fit_of_leaf(level));
	search->depth--;
}

void field_path_find(const struct field_search *how, const Dwarf_Die *type, uint64_t offset,
		     struct field_path *ret)
{
	struct search search = { .how = how, .best = ret };

	*ret = (struct field_path){ .fit = FIELD_NONE };
	push(&search, type, offset, how->open);
	while (search.depth > 0 && search.looks < MAX_LOOKS && ret->fit < FIELD_POINTER)
		step(&search);
}

bool field_path_append(const struct field_path *path, char *text, size_t bytes)
{
	size_t length = strlen(text);

	for (unsigned int i = 0; i < path->count && length < bytes; i++) {
		const struct field_step *step = &path->step[i];
		char *end = text + length;
		size_t room = bytes - length;

		length += (size_t)(step->name ? snprintf(end, room, ".%s", step->name)
					      : snprintf(end, room, "[%" PRId64 "]", step->index));
	}
	return length < bytes;
}
