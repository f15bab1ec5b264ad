/* SPDX-License-Identifier: MIT */
/*
 * type_text.c - a type of the debug information as people write it.
 *
 * What stands right of the base type (pointers, arrays) is collected from the outside in and
 * written in reverse; functions are just called so. Chains are bounded, as they may be circles.
 */
#include "src/debuginfo/type_text.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "src/debuginfo/type_shape.h"

#define MAX_PEEL	32u	/* pointers, arrays and qualifiers of one type */

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
static void base_name(Dwarf_Die *die, bool constant, char text[TYPE_TEXT_BYTES])
{
	const char *name = dwarf_diename(die);

	snprintf(text, TYPE_TEXT_BYTES, "%s%s%s", constant ? "const " : "", keyword(die),
		 name ? name : type_is_record(die) ? "{...}" : "?");
}

/* What stands right of the base type, from the outside in. */
struct suffix {
	const char *part[MAX_PEEL];
	unsigned int count;
};

static const char *suffix_of(int tag)
{
	switch (tag) {
	case DW_TAG_pointer_type:
		return "*";
	case DW_TAG_reference_type:
		return "&";
	case DW_TAG_rvalue_reference_type:
		return "&&";
	case DW_TAG_array_type:
		return "[]";
	}
	return NULL;
}

static bool is_qualifier(int tag)
{
	return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type ||
	       tag == DW_TAG_immutable_type;
}

/* One step to what die is made of; false at the base type. */
static bool peel_named(Dwarf_Die *die, struct suffix *suffix, bool *constant)
{
	int tag = dwarf_tag(die);
	const char *part = suffix_of(tag);

	if (part) {
		suffix->part[suffix->count++] = part;
		*constant = *constant && tag == DW_TAG_array_type;
	}
	*constant = *constant || tag == DW_TAG_const_type;
	return part || is_qualifier(tag);
}

void type_text(const Dwarf_Die *type, char text[TYPE_TEXT_BYTES])
{
	struct suffix suffix = { .count = 0 };
	Dwarf_Die at = *type;
	bool constant = false, known = true;

	for (unsigned int i = 0; known && i < MAX_PEEL && peel_named(&at, &suffix, &constant); i++)
		known = type_of_entry(&at, &at);
	if (!known)
		snprintf(text, TYPE_TEXT_BYTES, "%svoid", constant ? "const " : "");
	else if (dwarf_tag(&at) == DW_TAG_subroutine_type)
		snprintf(text, TYPE_TEXT_BYTES, "function");
	else
		base_name(&at, constant, text);
	for (unsigned int i = suffix.count; i > 0; i--) {
		if (i == suffix.count && suffix.part[i - 1][0] != '[')
			append(text, TYPE_TEXT_BYTES, " ");
		append(text, TYPE_TEXT_BYTES, suffix.part[i - 1]);
	}
}
