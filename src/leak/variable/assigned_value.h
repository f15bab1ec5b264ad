/* SPDX-License-Identifier: MIT */
/*
 * assigned_value.h - what registers and memory hold while code is followed, in the words of
 * the source: the contents of "s->next", the address of "table[i]", or the result
 * of the allocation that is looked for.
 */
#ifndef MEMATTACH_LEAK_ASSIGNED_VALUE_H
#define MEMATTACH_LEAK_ASSIGNED_VALUE_H

#include <Zydis/Zydis.h>

#include "src/unwind/cfi_rule.h"
#include "src/debuginfo/debug_scopes.h"

#define VALUE_TEXT	112u
#define VALUE_SLOTS	24u

#define VALUE_INDEX	40u

enum value_kind {
	VALUE_UNKNOWN = 0,
	VALUE_RESULT,	/* what is looked for */
	VALUE_CONTENTS,	/* what the object called text holds */
	VALUE_ADDRESS,	/* where the object called text is */
	VALUE_STATIC,	/* an address of the module's file */
	VALUE_NUMBER,
};
/* One of these (times scale, if it is a number), plus number, plus index times index_scale. */
struct value {
	enum value_kind kind;
	char text[VALUE_TEXT];
	char index[VALUE_INDEX];	/* "" none; "?" one without a name */
	Dwarf_Die type;		/* of the object called text */
	int64_t number;
	uint32_t scale, index_scale;	/* 0: 1 */
	bool local;		/* text is a local variable, whole */
};
struct value_slot {		/* a word of the stack frame */
	unsigned int reg;	/* rsp or rbp, DWARF number */
	int64_t offset;
	struct value value;
};
/* The call that is looked at; all borrowed. */
struct code_place {
	const struct module *module;
	struct debug_index *index;		/* of the module */
	struct cfi_rules *cfi;
	const struct debug_scopes *scopes;	/* of the call; NULL: no debug information */
	uint64_t return_address;		/* virtual address of the module's file */
};
struct value_state {
	const struct code_place *place;
	struct value reg[16];			/* by DWARF number */
	struct value_slot slot[VALUE_SLOTS];
	unsigned int slot_count, slot_next;
};

/* DWARF's number of a general register or a part of one; -1: it is no such. */
int value_register(ZydisRegister reg);
/* The variable that is in register number while the processor stands at address, or what is
 * known from the code; *ret may be VALUE_UNKNOWN. */
void value_of_register(const struct value_state *state, unsigned int number, uint64_t address,
		       struct value *ret);
/* An operand of the instruction at address, which ends at end. */
struct value_operand {
	const ZydisDecodedOperand *operand;
	uint64_t address, end;
};
/*
 * The object that a memory operand names, as VALUE_CONTENTS (text, type); VALUE_STATIC: no
 * name, but this address; VALUE_UNKNOWN.
 */
void value_of_memory(const struct value_state *state, const struct value_operand *at,
		     struct value *ret);
/* The address that it computes (lea). */
void value_of_address(const struct value_state *state, const struct value_operand *at,
		      struct value *ret);
/* The text of the object that a VALUE_ADDRESS is the address of. */
bool value_of_object(const struct value_state *state, const struct value *address, char *text,
		     size_t bytes);
/* The sum of two values, one of which points somewhere. */
void value_add(const struct value *a, const struct value *b, struct value *ret);
/* The product of a value and a number. */
void value_multiply(const struct value *value, uint64_t factor, struct value *ret);
/* The word of the frame that the operand names, NULL: none that is known. */
struct value_slot *value_find_slot(struct value_state *state, const ZydisDecodedOperand *operand);
/* Keeps value for the operand's word, if it is one of the frame. */
void value_keep_slot(struct value_state *state, const ZydisDecodedOperand *operand,
		     const struct value *value);

#endif
