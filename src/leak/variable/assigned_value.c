/* SPDX-License-Identifier: MIT */
/*
 * assigned_value.c - see assigned_value.h.
 *
 * Names come from debug information: the variable that is in a register or in the frame at
 * that instruction, then its type, member by offset. What a register holds is first asked
 * from the location lists, and only where they say nothing from the code before: the
 * compiler knows better.
 */
#include "src/leak/variable/assigned_value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/debuginfo/field_path.h"
#include "src/debuginfo/type_shape.h"

#define MAX_OBJECT	(1ull << 40)
#define MIN_STATIC	65536	/* smaller numbers are no addresses */

int value_register(ZydisRegister reg)
{
	/* The encoding's order is ax cx dx bx sp bp si di. */
	static const int8_t number[16] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	int id;

	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return -1;
	id = ZydisRegisterGetId(whole);
	return id >= 0 && id < 16 ? number[id] : -1;
}

/* text = format, unless it would be cut: a half name is none. */
_printf_(2, 3) static bool print(char text[VALUE_TEXT], const char *format, ...)
{
	char made[2 * VALUE_TEXT];
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(made, sizeof(made), format, arguments);
	va_end(arguments);
	if (n < 0 || n >= (int)VALUE_TEXT)
		return false;
	memcpy(text, made, (size_t)n + 1);
	return true;
}

/* ---- variables ---- */

static bool name_variable(const struct scope_variable *variable, struct value *ret)
{
	Dwarf_Die die = variable->die;
	const char *name = dwarf_diename(&die);

	*ret = (struct value){ .kind = VALUE_CONTENTS, .local = true };
	return name && print(ret->text, "%s", name) && type_of_entry(&die, &ret->type);
}

/* The best variable of all for which fits() is true. */
struct fit {
	const struct scope_variable *best;
	struct debug_place place;
};

static bool is_better(const struct scope_variable *a, const struct scope_variable *b)
{
	if (!b || a->rank != b->rank)
		return !b || a->rank < b->rank;
	return a->level != b->level ? a->level < b->level : a->depth > b->depth;
}

static void find_in_register(const struct value_state *state, unsigned int number,
			     uint64_t address, struct fit *fit)
{
	const struct debug_scopes *scopes = state->place->scopes;

	for (unsigned int i = 0; i < scopes->variable_count; i++) {
		const struct scope_variable *variable = &scopes->variable[i];
		struct debug_place place;

		if (!is_better(variable, fit->best))
			continue;
		debug_scopes_place(scopes, variable, address, &place);
		if (place.where == DEBUG_REGISTER && place.reg == number)
			fit->best = variable;
	}
}

void value_of_register(const struct value_state *state, unsigned int number, uint64_t address,
		       struct value *ret)
{
	struct fit fit = { .best = NULL };

	*ret = state->reg[number];
	if (ret->kind == VALUE_RESULT || !state->place->scopes)
		return;
	find_in_register(state, number, address, &fit);
	if (fit.best) {
		struct value named;

		if (name_variable(fit.best, &named))
			*ret = named;
	}
}

/* The call frame address as a register and a distance from it; DEBUG_NOWHERE: it is not that. */
static struct debug_place find_frame(const struct code_place *place, uint64_t address)
{
	struct debug_place frame = { .where = DEBUG_NOWHERE };
	struct cfi_rule rule;

	if (cfi_rules_find(place->cfi, place->module, address, &rule) == 0 && !rule.cfa_deref)
		frame = (struct debug_place){ DEBUG_MEMORY, cfi_dwarf_number(rule.cfa_base),
					      rule.cfa_offset };
	return frame;
}

static void add_frame(struct debug_place *place, const struct debug_place *frame)
{
	place->where = frame->where;
	place->reg = frame->reg;
	place->offset = (int64_t)((uint64_t)place->offset + (uint64_t)frame->offset);
}

/* The variable of the frame whose bytes hold reg + offset. */
static void find_in_frame(const struct value_state *state, unsigned int reg, int64_t offset,
			  uint64_t address, struct fit *fit)
{
	const struct debug_scopes *scopes = state->place->scopes;
	struct debug_place frame = find_frame(state->place, address);

	for (unsigned int i = 0; i < scopes->variable_count; i++) {
		const struct scope_variable *variable = &scopes->variable[i];
		struct debug_place place;
		Dwarf_Die die = variable->die, type;
		uint64_t size;

		if (!is_better(variable, fit->best))
			continue;
		debug_scopes_place(scopes, variable, address, &place);
		if (place.where == DEBUG_FRAME)
			add_frame(&place, &frame);
		if (place.where != DEBUG_MEMORY || place.reg != reg || place.offset > offset ||
		    !type_of_entry(&die, &type))
			continue;
		size = type_size(&type);
		if ((uint64_t)offset - (uint64_t)place.offset >= (size ? size : 1))
			continue;
		fit->best = variable;
		fit->place = place;
	}
}

/* ---- parts of objects ---- */

/*
 * The part at offset of an object of type: adds the way there to text and gives the part's
 * type, which is no struct. False: offset is outside of it, or where no part begins.
 */
static bool find_part(const Dwarf_Die *type, uint64_t offset, char *text, size_t bytes,
		      Dwarf_Die *ret)
{
	const struct field_search search = { .open = true };
	struct field_path path;

	field_path_find(&search, type, offset, &path);
	if (path.fit < FIELD_VALUE || !field_path_append(&path, text, bytes))
		return false;
	*ret = path.leaf.die;
	return true;
}

/* From the object in *at to its part at offset. */
static bool go_inside(struct value *at, int64_t offset)
{
	char text[VALUE_TEXT];
	Dwarf_Die part;

	if (offset < 0 || (uint64_t)offset >= MAX_OBJECT)
		return false;
	memcpy(text, at->text, sizeof(text));
	if (!find_part(&at->type, (uint64_t)offset, text, sizeof(text), &part))
		return false;
	at->local = at->local && strcmp(text, at->text) == 0;
	memcpy(at->text, text, sizeof(text));
	at->type = part;
	return true;
}

/* p as something that -> and [] can follow. */
static const char *open_paren(const char *text)
{
	return *text == '*' || *text == '&' ? "(" : "";
}

/* offset = element * size + the rest, which is not negative. */
static int64_t whole_elements(int64_t *offset, int64_t size)
{
	int64_t element;

	if (size <= 0 || (uint64_t)size >= MAX_OBJECT)
		return 0;
	element = *offset / size - (*offset % size < 0);
	*offset -= element * size;
	return element;
}

/* "i", "i+1", "3" */
static bool element_text(const char *index, int64_t element, char text[VALUE_TEXT])
{
	if (!*index)
		return print(text, "%lld", (long long)element);
	if (element == 0 || *index == '?')
		return print(text, "%s", index);
	return print(text, "%s%+lld", index, (long long)element);
}

/*
 * parts is the path to an element of an array in an object, the first with the index left
 * out: "[0]" at its end, or before its last members, becomes [index].
 */
static bool put_index(char parts[VALUE_TEXT], const char *index)
{
	char *open = strrchr(parts, '['), *close = open ? strchr(open, ']') : NULL;
	char text[VALUE_TEXT], made[VALUE_TEXT];

	if (!close || !element_text(index, strtoll(open + 1, NULL, 10), text) ||
	    !print(made, "%.*s[%s%s", (int)(open - parts), parts, text, close))
		return false;
	memcpy(parts, made, sizeof(made));
	return true;
}

static int64_t index_scale(const struct value *value)
{
	return value->index_scale ? value->index_scale : 1;
}

/* The object that pointer, with its index and number, points to. */
static bool follow(const struct value *pointer, struct value *ret)
{
	const char *open = open_paren(pointer->text), *close = *open ? ")" : "";
	struct value object = { .kind = VALUE_CONTENTS };
	char parts[VALUE_TEXT] = "", index[VALUE_TEXT];
	int64_t size, element, offset = pointer->number;
	bool ok, elements;
	Dwarf_Die type;

	if (!type_pointee(&pointer->type, &type))
		return false;
	size = (int64_t)type_size(&type);
	element = whole_elements(&offset, size);
	elements = pointer->index[0] && index_scale(pointer) == size;
	if (!find_part(&type, (uint64_t)offset, parts, sizeof(parts), &object.type) ||
	    !element_text(elements ? pointer->index : "", element, index))
		return false;
	/* An index of other steps is that of an array in the object. */
	if (pointer->index[0] && !elements && !put_index(parts, pointer->index))
		return false;
	if (elements || element)
		ok = print(object.text, "%s%s%s[%s]%s", open, pointer->text, close, index, parts);
	else if (parts[0] == '.')
		ok = print(object.text, "%s%s%s->%s", open, pointer->text, close, parts + 1);
	else
		ok = print(object.text, "*%s%s", pointer->text, parts);
	*ret = object;
	return ok;
}

/* The part of the object at that the index and number of address lead to. */
static bool index_array(const struct value *address, struct value *at)
{
	char parts[VALUE_TEXT] = "";
	Dwarf_Die type;

	if (address->number < 0 || (uint64_t)address->number >= MAX_OBJECT ||
	    !find_part(&at->type, (uint64_t)address->number, parts, sizeof(parts),
				   &type) ||
	    !put_index(parts, address->index) || !print(at->text, "%s%s", address->text, parts))
		return false;
	at->type = type;
	at->local = false;
	return true;
}

/* Of the functions around the call, or outside of all; thread_local: by offset in the block. */
static bool find_static(const struct code_place *place, uint64_t address, bool thread_local,
			Dwarf_Die *ret, uint64_t *ret_offset)
{
	return (place->scopes &&
		debug_scopes_static(place->scopes, address, thread_local, ret, ret_offset)) ||
	       debug_index_global(place->index, address, thread_local, ret, ret_offset);
}

/* The static variable that holds address. */
static bool name_static(const struct value_state *state, uint64_t address, struct value *ret)
{
	struct value object = { .kind = VALUE_ADDRESS };
	const char *name;
	uint64_t offset;
	Dwarf_Die die;

	if (!find_static(state->place, address, false, &die, &offset))
		return false;
	name = dwarf_diename(&die);
	if (!name || !print(object.text, "%s", name) || !type_of_entry(&die, &object.type))
		return false;
	object.number = (int64_t)offset;
	*ret = object;
	return true;
}

/* ---- operands ---- */

static bool is_frame_register(ZydisRegister reg)
{
	return reg == ZYDIS_REGISTER_RSP || reg == ZYDIS_REGISTER_RBP;
}

static bool has_index(const ZydisDecodedOperand *operand)
{
	return operand->mem.index != ZYDIS_REGISTER_NONE && operand->mem.scale != 0;
}

static int64_t displacement(const ZydisDecodedOperand *operand)
{
	return operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
}

static int64_t add_wrapping(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* base + more, where more is a number or the value of a variable. */
static void add_number(struct value *base, const struct value *more)
{
	bool named = more->kind == VALUE_CONTENTS && !more->index[0] &&
		     strlen(more->text) < VALUE_INDEX;

	base->number = add_wrapping(base->number, more->number);
	if (more->kind == VALUE_NUMBER)
		return;
	if (base->index[0] || !named)
		memcpy(base->index, "?", 2);
	else
		memcpy(base->index, more->text, strlen(more->text) + 1);
	base->index_scale = more->scale;
}

void value_multiply(const struct value *value, uint64_t factor, struct value *ret)
{
	struct value product = *value;

	if ((value->kind != VALUE_CONTENTS && value->kind != VALUE_NUMBER) || value->index[0] ||
	    factor == 0 || factor > UINT16_MAX || product.scale > UINT16_MAX) {
		*ret = (struct value){ .kind = VALUE_UNKNOWN };
		return;
	}
	product.scale = (product.scale ? product.scale : 1) * (uint32_t)factor;
	product.number = (int64_t)((uint64_t)product.number * factor);
	*ret = product;
}

static bool variable_in_frame(const struct value_state *state, const struct value_operand *at,
			      struct value *ret)
{
	unsigned int reg = (unsigned int)value_register(at->operand->mem.base);
	int64_t offset = displacement(at->operand);
	struct fit fit = { .best = NULL };

	if (!state->place->scopes || !is_frame_register(at->operand->mem.base))
		return false;
	find_in_frame(state, reg, offset, at->address, &fit);
	if (!fit.best || !name_variable(fit.best, ret))
		return false;
	ret->kind = VALUE_ADDRESS;
	ret->number = offset - fit.place.offset;
	return true;
}

/* The base of an operand: a register's value or a place in the frame, with the displacement. */
static void value_of_base(const struct value_state *state, const struct value_operand *at,
			  struct value *ret)
{
	const ZydisDecodedOperand *operand = at->operand;
	int base = value_register(operand->mem.base);

	*ret = (struct value){ .kind = VALUE_NUMBER, .number = displacement(operand) };
	if (operand->mem.base == ZYDIS_REGISTER_RIP) {
		ret->kind = VALUE_STATIC;
		ret->number = add_wrapping((int64_t)at->end, ret->number);
	} else if (base >= 0 && !variable_in_frame(state, at, ret)) {
		value_of_register(state, (unsigned int)base, at->address, ret);
		ret->number = add_wrapping(ret->number, displacement(operand));
	}
}

void value_of_address(const struct value_state *state, const struct value_operand *at,
		      struct value *ret)
{
	const ZydisDecodedOperand *operand = at->operand;
	struct value base, index, scaled;
	int number = value_register(operand->mem.index);

	value_of_base(state, at, &base);
	if (number < 0 || !has_index(operand)) {
		*ret = base;
		return;
	}
	value_of_register(state, (unsigned int)number, at->address, &index);
	value_multiply(&index, operand->mem.scale, &scaled);
	/* What is added once may be the pointer itself. */
	value_add(&base, operand->mem.scale == 1 ? &index : &scaled, ret);
}

/* fs:constant, or fs:(register that holds one). */
static bool thread_offset(const struct value_state *state, const ZydisDecodedOperand *operand,
			  int64_t *ret)
{
	int base = value_register(operand->mem.base);

	*ret = displacement(operand);
	if (operand->mem.base == ZYDIS_REGISTER_NONE)
		return !has_index(operand);
	if (base < 0 || state->reg[base].kind != VALUE_NUMBER)
		return false;
	*ret = add_wrapping(*ret, state->reg[base].number);
	return true;
}

static bool name_thread(const struct value_state *state, const ZydisDecodedOperand *operand,
			struct value *ret)
{
	uint64_t end = debug_index_tls_end(state->place->index), at, offset;
	int64_t from_fs;
	const char *name;
	Dwarf_Die die;

	if (!thread_offset(state, operand, &from_fs) || from_fs >= 0)
		return false;
	at = (uint64_t)from_fs + end;	/* variant II: the block ends at fs */
	if (at >= end || !find_static(state->place, at, true, &die, &offset))
		return false;
	name = dwarf_diename(&die);
	ret->number = (int64_t)offset;
	ret->kind = VALUE_ADDRESS;
	return name && print(ret->text, "%s", name) && type_of_entry(&die, &ret->type);
}

/* The object that an address is the address of. */
static bool name_object(const struct value_state *state, const struct value *address,
			struct value *ret)
{
	struct value object = *address;

	if (address->kind == VALUE_STATIC ||
	    (address->kind == VALUE_NUMBER && address->number > MIN_STATIC)) {
		if (!name_static(state, (uint64_t)address->number, &object))
			return false;
		memcpy(object.index, address->index, sizeof(object.index));
		object.index_scale = address->index_scale;
	}
	if (object.kind == VALUE_CONTENTS)
		return follow(&object, ret);
	if (object.kind != VALUE_ADDRESS)
		return false;
	*ret = object;
	ret->kind = VALUE_CONTENTS;
	ret->number = 0;
	ret->index[0] = '\0';
	return object.index[0] ? index_array(&object, ret) : go_inside(ret, object.number);
}

void value_of_memory(const struct value_state *state, const struct value_operand *at,
		     struct value *ret)
{
	struct value address = { .kind = VALUE_UNKNOWN }, object = { .kind = VALUE_UNKNOWN };

	*ret = (struct value){ .kind = VALUE_UNKNOWN };
	if (at->operand->mem.segment == ZYDIS_REGISTER_FS) {
		if (!name_thread(state, at->operand, &address))
			return;
	} else {
		value_of_address(state, at, &address);
	}
	if (name_object(state, &address, &object))
		*ret = object;
	else if (address.kind == VALUE_STATIC && !address.index[0])
		*ret = address;
	else if (address.kind == VALUE_NUMBER && address.number > MIN_STATIC)
		*ret = (struct value){ .kind = VALUE_STATIC, .number = address.number };
}

bool value_of_object(const struct value_state *state, const struct value *address, char *text,
		     size_t bytes)
{
	struct value object;

	if (!name_object(state, address, &object))
		return false;
	snprintf(text, bytes, "%s", object.text);
	return true;
}

static bool is_pointing(const struct value *value)
{
	return value->kind == VALUE_ADDRESS || value->kind == VALUE_STATIC ||
	       value->kind == VALUE_RESULT ||
	       (value->kind == VALUE_CONTENTS && type_is_pointer(&value->type));
}

void value_add(const struct value *a, const struct value *b, struct value *ret)
{
	const struct value *pointer = is_pointing(a) ? a : b, *other = pointer == a ? b : a;
	struct value sum = *pointer;

	/* table(,%rax,8) of a program at a fixed place: the number is table. */
	if (!is_pointing(pointer) && a->kind == VALUE_NUMBER && b->kind == VALUE_CONTENTS &&
	    a->number > MIN_STATIC) {
		sum = (struct value){ .kind = VALUE_STATIC, .number = a->number };
		other = b;
	}
	if (is_pointing(&sum) || other->kind == VALUE_NUMBER)
		add_number(&sum, other);
	else if (sum.kind == VALUE_NUMBER && other->kind == VALUE_CONTENTS) {
		sum = *other;
		sum.number = add_wrapping(sum.number, pointer->number);
	} else {
		sum = (struct value){ .kind = VALUE_UNKNOWN };
	}
	if (pointer->kind == VALUE_RESULT)
		sum = *pointer;
	*ret = sum;
}

/* ---- the frame's words ---- */

struct value_slot *value_find_slot(struct value_state *state, const ZydisDecodedOperand *operand)
{
	int reg = value_register(operand->mem.base);
	int64_t offset = displacement(operand);

	if (!is_frame_register(operand->mem.base) || has_index(operand))
		return NULL;
	for (unsigned int i = 0; i < state->slot_count; i++) {
		if (state->slot[i].reg == (unsigned int)reg && state->slot[i].offset == offset)
			return &state->slot[i];
	}
	return NULL;
}

void value_keep_slot(struct value_state *state, const ZydisDecodedOperand *operand,
		     const struct value *value)
{
	struct value_slot *slot = value_find_slot(state, operand);

	if (!is_frame_register(operand->mem.base) || has_index(operand))
		return;
	if (!slot) {
		if (value->kind == VALUE_UNKNOWN)
			return;
		/* A ring: the oldest is forgotten. */
		slot = &state->slot[state->slot_next];
		state->slot_next = (state->slot_next + 1) % VALUE_SLOTS;
		if (state->slot_count < VALUE_SLOTS)
			state->slot_count++;
		slot->reg = (unsigned int)value_register(operand->mem.base);
		slot->offset = displacement(operand);
	}
	slot->value = *value;
}
