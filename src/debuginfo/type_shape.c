/* SPDX-License-Identifier: MIT */
/*
 * type_shape.c - what a type of the debug information is: its kind, size and parts.
 *
 * libdw's own dwarf_peel_type() and dwarf_aggregate_size() follow a chain of types as
 * long as it goes, and a hostile file makes it a circle; here every chain is bounded, and
 * sizes are multiplied with a check.
 */
#include "src/debuginfo/type_shape.h"

#include <dwarf.h>
#include <string.h>

#define MAX_CHAIN	64u
#define MAX_SIZE	(UINT64_C(1) << 46)
#define MAX_MEMBERS	65536u	/* that one question by name looks at */
#define MAX_PENDING	16u	/* base classes and nameless members still to look into */

bool type_number(Dwarf_Die *die, unsigned int attribute, uint64_t *ret)
{
	Dwarf_Attribute memory;
	Dwarf_Word value;

	if (!dwarf_attr_integrate(die, attribute, &memory) || dwarf_formudata(&memory, &value) != 0)
		return false;
	*ret = value;
	return true;
}

bool type_of_entry(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute memory;

	return dwarf_attr_integrate(die, DW_AT_type, &memory) && dwarf_formref_die(&memory, ret);
}

/* A stand-in for a type that lies in a unit of its own (-fdebug-types-section). */
static bool follow_signature(Dwarf_Die *type)
{
	Dwarf_Attribute memory;

	return dwarf_attr(type, DW_AT_signature, &memory) && dwarf_formref_die(&memory, type);
}

bool type_strip(const Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die at = *type;

	for (unsigned int i = 0; i < MAX_CHAIN; i++) {
		switch (dwarf_tag(&at)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
		case DW_TAG_immutable_type:
			if (!type_of_entry(&at, &at))
				return false;
			break;
		case DW_TAG_invalid:
			return false;
		default:
			if (follow_signature(&at))
				break;
			*ret = at;
			return true;
		}
	}
	return false;
}

/* ---- kinds ---- */

static int stripped_tag(const Dwarf_Die *type)
{
	Dwarf_Die at;

	return type_strip(type, &at) ? dwarf_tag(&at) : DW_TAG_invalid;
}

bool type_is_pointer(const Dwarf_Die *type)
{
	int tag = stripped_tag(type);

	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

bool type_is_record(const Dwarf_Die *type)
{
	int tag = stripped_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type;
}

bool type_is_array(const Dwarf_Die *type)
{
	return stripped_tag(type) == DW_TAG_array_type;
}

bool type_may_point(const Dwarf_Die *type)
{
	uint64_t encoding = 0;
	Dwarf_Die at;

	if (!type_strip(type, &at))
		return true;
	if (dwarf_tag(&at) == DW_TAG_enumeration_type)
		return false;
	if (dwarf_tag(&at) != DW_TAG_base_type)
		return true;
	(void)type_number(&at, DW_AT_encoding, &encoding);
	return encoding != DW_ATE_float && type_size(&at) == 8;
}

bool type_pointee(const Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die at;

	return type_is_pointer(type) && type_strip(type, &at) && type_of_entry(&at, ret);
}

bool type_element(const Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die at;

	return type_is_array(type) && type_strip(type, &at) && type_of_entry(&at, ret);
}

/* ---- sizes ---- */

/* 0: unknown. DW_AT_upper_bound of int x[] is missing, or all ones. */
static uint64_t count_of(Dwarf_Die *dimension)
{
	uint64_t count, lower = 0;

	if (type_number(dimension, DW_AT_count, &count))
		return count;
	if (!type_number(dimension, DW_AT_upper_bound, &count) || count >= MAX_SIZE)
		return 0;
	(void)type_number(dimension, DW_AT_lower_bound, &lower);
	return count >= lower ? count - lower + 1 : 0;
}

bool type_next_dimension(Dwarf_Die *array, Dwarf_Die *dimension, uint64_t *ret_count)
{
	bool more = dimension->addr ? dwarf_siblingof(dimension, dimension) == 0 :
				      dwarf_child(array, dimension) == 0;

	for (unsigned int i = 0; more && i < MAX_CHAIN; i++) {
		if (dwarf_tag(dimension) == DW_TAG_subrange_type) {
			*ret_count = count_of(dimension);
			return true;
		}
		more = dwarf_siblingof(dimension, dimension) == 0;
	}
	return false;
}

bool type_element_count(Dwarf_Die *array, uint64_t *ret)
{
	uint64_t total = 1, count;
	unsigned int dimensions = 0;
	Dwarf_Die dimension;

	memset(&dimension, 0, sizeof(dimension));
	while (dimensions < MAX_CHAIN && type_next_dimension(array, &dimension, &count)) {
		if (count == 0 || __builtin_mul_overflow(total, count, &total) || total > MAX_SIZE)
			return false;
		dimensions++;
	}
	*ret = total;
	return dimensions > 0;
}

uint64_t type_size(const Dwarf_Die *type)
{
	uint64_t times = 1, size, count;
	Dwarf_Die at = *type;

	for (unsigned int i = 0; i < MAX_CHAIN && type_strip(&at, &at); i++) {
		if (type_number(&at, DW_AT_byte_size, &size))
			return __builtin_mul_overflow(times, size, &size) || size > MAX_SIZE ?
			       0 : size;
		if (type_is_pointer(&at))
			return times <= MAX_SIZE / 8 ? times * 8 : 0;
		if (dwarf_tag(&at) == DW_TAG_enumeration_type)
			return times * 4;
		if (dwarf_tag(&at) != DW_TAG_array_type || !type_element_count(&at, &count) ||
		    __builtin_mul_overflow(times, count, &times) || times > MAX_SIZE ||
		    !type_of_entry(&at, &at))
			return 0;
	}
	return 0;
}

/* ---- members by name ---- */

/* Structs still to be looked into. */
struct pending {
	Dwarf_Die type[MAX_PENDING];
	unsigned int count;
};

static bool has_name(Dwarf_Die *die, const char *name, size_t bytes)
{
	const char *own = dwarf_diename(die);

	return own && strlen(own) == bytes && memcmp(own, name, bytes) == 0;
}

static bool may_be_named(int tag)
{
	return tag == DW_TAG_member || tag == DW_TAG_inheritance || tag == DW_TAG_variable;
}

static bool look_for_member(struct pending *pending, const char *name, size_t bytes,
			    unsigned int *budget, Dwarf_Die *ret)
{
	Dwarf_Die parent = pending->type[--pending->count], die, type;

	if (!type_is_record(&parent) || !type_strip(&parent, &parent) ||
	    dwarf_child(&parent, &die) != 0)
		return false;
	do {
		if (!may_be_named(dwarf_tag(&die)) || !type_of_entry(&die, &type))
			continue;
		if (has_name(&die, name, bytes)) {
			*ret = type;
			return true;
		}
		if ((dwarf_tag(&die) == DW_TAG_inheritance || !dwarf_diename(&die)) &&
		    pending->count < MAX_PENDING)
			pending->type[pending->count++] = type;
	} while (*budget > 0 && --*budget > 0 && dwarf_siblingof(&die, &die) == 0);
	return false;
}

bool type_member(const Dwarf_Die *type, const char *name, size_t bytes, Dwarf_Die *ret)
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
