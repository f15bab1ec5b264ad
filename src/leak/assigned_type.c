/* SPDX-License-Identifier: MIT */
/*
 * assigned_type.c - see assigned_type.h.
 *
 * libdw's own dwarf_peel_type() and dwarf_aggregate_size() were not used: the one follows
 * typedefs for as long as there are any, the other calls itself on what it reads.
 */
#include "src/leak/assigned_type.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#define MAX_PEEL	32u	/* typedefs and qualifiers of one type */
#define MAX_DEPTH	16u	/* members in members */
#define MAX_MEMBERS	65536u	/* that one question looks at */
#define MAX_DIMENSIONS	8u

bool assigned_type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute memory, *attribute = dwarf_attr_integrate(die, DW_AT_type, &memory);

	return attribute && dwarf_formref_die(attribute, ret);
}

static bool is_wrapper(int tag)
{
	switch (tag) {
	case DW_TAG_typedef:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_immutable_type:
		return true;
	}
	return false;
}

bool assigned_type_strip(const Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die at = *type;

	for (unsigned int i = 0; is_wrapper(dwarf_tag(&at)); i++) {
		if (i == MAX_PEEL || !assigned_type_of(&at, &at))
			return false;
	}
	*ret = at;
	return true;
}

static bool is_pointer_tag(int tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

static bool is_struct_tag(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type;
}

bool assigned_type_is_pointer(const Dwarf_Die *type)
{
	Dwarf_Die at;

	return assigned_type_strip(type, &at) && is_pointer_tag(dwarf_tag(&at));
}

bool assigned_type_is_struct(const Dwarf_Die *type)
{
	Dwarf_Die at;

	return assigned_type_strip(type, &at) && is_struct_tag(dwarf_tag(&at));
}

bool assigned_type_pointee(const Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die at;

	return assigned_type_strip(type, &at) && is_pointer_tag(dwarf_tag(&at)) &&
	       assigned_type_of(&at, ret);
}

bool assigned_type_element(const Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die at;

	return assigned_type_strip(type, &at) && dwarf_tag(&at) == DW_TAG_array_type &&
	       assigned_type_of(&at, ret);
}

/* ---- sizes ---- */

static uint64_t number(Dwarf_Die *die, unsigned int name, bool *ret_there)
{
	Dwarf_Attribute memory, *attribute = dwarf_attr_integrate(die, name, &memory);
	Dwarf_Word value;

	*ret_there = attribute && dwarf_formudata(attribute, &value) == 0;
	return *ret_there ? value : 0;
}

/* Elements in each dimension, outermost first; how many dimensions. */
static unsigned int dimensions(const Dwarf_Die *array, uint64_t count[MAX_DIMENSIONS])
{
	Dwarf_Die copy = *array, die;
	unsigned int found = 0, looked = 0;

	if (dwarf_child(&copy, &die) != 0)
		return 0;
	do {
		bool has_count, has_upper;
		uint64_t upper;

		if (dwarf_tag(&die) != DW_TAG_subrange_type)
			continue;
		count[found] = number(&die, DW_AT_count, &has_count);
		upper = number(&die, DW_AT_upper_bound, &has_upper);
		if (!has_count)
			count[found] = has_upper && upper < UINT32_MAX ? upper + 1 : 0;
		found++;
	} while (found < MAX_DIMENSIONS && ++looked < 64 && dwarf_siblingof(&die, &die) == 0);
	return found;
}

static uint64_t product(const uint64_t *count, unsigned int from, unsigned int to, uint64_t size)
{
	for (unsigned int i = from; i < to; i++) {
		if (__builtin_mul_overflow(size, count[i], &size))
			return 0;
	}
	return size;
}

uint64_t assigned_type_size(const Dwarf_Die *type)
{
	uint64_t factor = 1, count[MAX_DIMENSIONS];
	Dwarf_Die at = *type;

	for (unsigned int i = 0; i < MAX_DEPTH; i++) {
		bool known;
		uint64_t size;

		if (!assigned_type_strip(&at, &at))
			return 0;
		size = number(&at, DW_AT_byte_size, &known);
		if (is_pointer_tag(dwarf_tag(&at)))
			size = 8;
		else if (!known && dwarf_tag(&at) == DW_TAG_array_type) {
			factor = product(count, 0, dimensions(&at, count), factor);
			if (assigned_type_of(&at, &at))
				continue;
			return 0;
		}
		return __builtin_mul_overflow(size, factor, &size) ? 0 : size;
	}
	return 0;
}

bool assigned_type_may_point(const Dwarf_Die *type)
{
	Dwarf_Die at;
	bool known;

	if (!assigned_type_strip(type, &at))
		return true;
	if (dwarf_tag(&at) == DW_TAG_enumeration_type)
		return false;
	if (dwarf_tag(&at) != DW_TAG_base_type)
		return true;
	return number(&at, DW_AT_encoding, &known) != DW_ATE_float && assigned_type_size(&at) == 8;
}

/* ---- names ---- */

static void append(char *text, size_t bytes, const char *more)
{
	size_t length = strlen(text);

	if (length < bytes)
		snprintf(text + length, bytes - length, "%s", more);
}

static bool is_cxx(Dwarf_Die *die)
{
	Dwarf_Die unit;

	switch (dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : 0) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b:	/* C++17 and C++20, newer than the header */
	case 0x2c:
		return true;
	}
	return false;
}

static const char *keyword(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	if (is_cxx(die))
		return "";
	return tag == DW_TAG_structure_type ? "struct " : tag == DW_TAG_union_type ? "union "
	       : tag == DW_TAG_enumeration_type ? "enum " : "";
}

/* The type below all pointers and arrays. */
static void base_name(Dwarf_Die *die, bool constant, char text[TYPE_TEXT])
{
	const char *name = dwarf_diename(die);

	snprintf(text, TYPE_TEXT, "%s%s%s", constant ? "const " : "", keyword(die),
		 name ? name : is_struct_tag(dwarf_tag(die)) ? "{...}" : "?");
}

/* Collects what stands right of the base type, from the outside in, so in reverse. */
struct suffix {
	const char *part[MAX_PEEL];
	unsigned int count;
};

/* One step to what die is made of; false at the base type. */
static bool peel_named(Dwarf_Die *die, struct suffix *suffix, bool *constant)
{
	int tag = dwarf_tag(die);

	if (tag == DW_TAG_const_type)
		*constant = true;
	else if (is_pointer_tag(tag))
		*constant = false;
	if (is_pointer_tag(tag))
		suffix->part[suffix->count++] = tag == DW_TAG_pointer_type ? "*"
						: tag == DW_TAG_reference_type ? "&" : "&&";
	else if (tag == DW_TAG_array_type)
		suffix->part[suffix->count++] = "[]";
	else if (!is_wrapper(tag) || tag == DW_TAG_typedef)
		return false;
	return true;
}

void assigned_type_name(const Dwarf_Die *type, char text[TYPE_TEXT])
{
	struct suffix suffix = { .count = 0 };
	Dwarf_Die at = *type;
	bool constant = false, known = true;

	for (unsigned int i = 0; known && i < MAX_PEEL && peel_named(&at, &suffix, &constant); i++)
		known = assigned_type_of(&at, &at);
	if (!known)
		snprintf(text, TYPE_TEXT, "%svoid", constant ? "const " : "");
	else if (dwarf_tag(&at) == DW_TAG_subroutine_type)
		snprintf(text, TYPE_TEXT, "function");
	else
		base_name(&at, constant, text);
	for (unsigned int i = suffix.count; i > 0; i--) {
		if (i == suffix.count && suffix.part[i - 1][0] != '[')
			append(text, TYPE_TEXT, " ");
		append(text, TYPE_TEXT, suffix.part[i - 1]);
	}
}

/* ---- parts ---- */

static uint64_t member_offset(Dwarf_Die *member)
{
	bool known;
	uint64_t offset = number(member, DW_AT_data_member_location, &known);

	return offset;
}

static bool is_part(int tag)
{
	return tag == DW_TAG_member || tag == DW_TAG_inheritance;
}

/*
 * The member of the struct that holds offset; of a union's, one that is a pointer there is
 * better than one that is not.
 */
static bool member_at(const Dwarf_Die *type, uint64_t offset, Dwarf_Die *ret, Dwarf_Die *ret_type)
{
	Dwarf_Die parent = *type, die, member_type;
	unsigned int looked = 0;
	bool found = false;

	if (dwarf_child(&parent, &die) != 0)
		return false;
	do {
		uint64_t at = member_offset(&die), size;

		if (!is_part(dwarf_tag(&die)) || dwarf_hasattr(&die, DW_AT_external) ||
		    offset < at || !assigned_type_of(&die, &member_type))
			continue;
		/* An empty base class has a size of 1, and lies where something else is. */
		size = assigned_type_size(&member_type);
		if (offset - at >= size || (size == 1 && dwarf_tag(&die) == DW_TAG_inheritance))
			continue;
		if (found && !assigned_type_is_pointer(&member_type))
			continue;
		*ret = die;
		*ret_type = member_type;
		found = true;
		if (dwarf_tag(&parent) != DW_TAG_union_type ||
		    assigned_type_is_pointer(&member_type))
			break;
	} while (++looked < MAX_MEMBERS && dwarf_siblingof(&die, &die) == 0);
	return found;
}

/* Into the array's element at *offset: "[2][1]". */
static bool enter_array(Dwarf_Die *at, uint64_t *offset, char *text, size_t bytes)
{
	uint64_t count[MAX_DIMENSIONS], size;
	unsigned int n = dimensions(at, count);
	Dwarf_Die element;

	if (!assigned_type_of(at, &element))
		return false;
	size = assigned_type_size(&element);
	for (unsigned int i = 0; i < n; i++) {
		uint64_t step = product(count, i + 1, n, size);
		char index[32];

		if (step == 0 || (count[i] && *offset / step >= count[i]))
			return false;
		snprintf(index, sizeof(index), "[%llu]", (unsigned long long)(*offset / step));
		append(text, bytes, index);
		*offset %= step;
	}
	*at = element;
	return n > 0;
}

static bool enter_struct(Dwarf_Die *at, uint64_t *offset, char *text, size_t bytes)
{
	Dwarf_Die member, type;
	const char *name;

	if (!member_at(at, *offset, &member, &type))
		return false;
	name = dwarf_tag(&member) == DW_TAG_member ? dwarf_diename(&member) : NULL;
	if (name) {
		append(text, bytes, ".");
		append(text, bytes, name);
	}
	*offset -= member_offset(&member);
	*at = type;
	return true;
}

bool assigned_type_descend(const Dwarf_Die *type, uint64_t offset, char *text, size_t bytes,
			   Dwarf_Die *ret)
{
	Dwarf_Die at = *type, stripped;

	for (unsigned int depth = 0; depth < MAX_DEPTH; depth++) {
		bool inside;

		if (!assigned_type_strip(&at, &stripped))
			return false;
		if (dwarf_tag(&stripped) == DW_TAG_array_type) {
			inside = enter_array(&stripped, &offset, text, bytes);
		} else if (is_struct_tag(dwarf_tag(&stripped))) {
			inside = enter_struct(&stripped, &offset, text, bytes);
		} else {
			*ret = at;
			return offset == 0;
		}
		if (!inside)
			return false;
		at = stripped;
	}
	return false;
}

static bool has_name(Dwarf_Die *die, const char *name, size_t bytes)
{
	const char *own = dwarf_diename(die);

	return own && strlen(own) == bytes && memcmp(own, name, bytes) == 0;
}

/* Structs still to be looked into: bases and nameless members. */
struct pending {
	Dwarf_Die type[MAX_DEPTH];
	unsigned int count;
};

static bool look_for_member(struct pending *pending, const char *name, size_t bytes,
			    unsigned int *budget, Dwarf_Die *ret)
{
	Dwarf_Die parent = pending->type[--pending->count], die, type;

	if (!assigned_type_strip(&parent, &parent) || !is_struct_tag(dwarf_tag(&parent)) ||
	    dwarf_child(&parent, &die) != 0)
		return false;
	do {
		if (!is_part(dwarf_tag(&die)) && dwarf_tag(&die) != DW_TAG_variable)
			continue;
		if (!assigned_type_of(&die, &type))
			continue;
		if (has_name(&die, name, bytes)) {
			*ret = type;
			return true;
		}
		if ((dwarf_tag(&die) == DW_TAG_inheritance || !dwarf_diename(&die)) &&
		    pending->count < MAX_DEPTH)
			pending->type[pending->count++] = type;
	} while (*budget > 0 && --*budget > 0 && dwarf_siblingof(&die, &die) == 0);
	return false;
}

bool assigned_type_member(const Dwarf_Die *type, const char *name, size_t bytes, Dwarf_Die *ret)
{
	struct pending pending = { .type = { *type }, .count = 1 };
	unsigned int budget = MAX_MEMBERS;

	while (pending.count > 0 && budget > 0) {
		budget--;
		if (look_for_member(&pending, name, bytes, &budget, ret))
			return true;
	}
	return false;
}
