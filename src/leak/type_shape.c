/* SPDX-License-Identifier: MIT */
/*
 * type_shape.c - what a type of the debug information is.
 *
 * libdw's own dwarf_peel_type() and dwarf_aggregate_size() follow a chain of types as
 * long as it goes, and a hostile file makes it a circle; here every chain is bounded, and
 * sizes are multiplied with a check.
 */
#include "src/leak/type_shape.h"

#include <dwarf.h>
#include <string.h>

#define MAX_CHAIN	64u
#define MAX_SIZE	(UINT64_C(1) << 46)

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

bool type_strip(Dwarf_Die *type)
{
	for (unsigned int i = 0; i < MAX_CHAIN; i++) {
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			if (!type_of_entry(type, type))
				return false;
			break;
		case DW_TAG_invalid:
			return false;
		default:
			if (!follow_signature(type))
				return true;
		}
	}
	return false;
}

bool type_is_pointer(Dwarf_Die *type)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return true;
	}
	return false;
}

bool type_is_record(Dwarf_Die *type)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return true;
	}
	return false;
}

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

	for (unsigned int i = 0; i < MAX_CHAIN && type_strip(&at); i++) {
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
