/* SPDX-License-Identifier: MIT */
/* assigned_code.h - what a call's result is assigned to, from the instructions around it. */
#ifndef MEMATTACH_LEAK_ASSIGNED_CODE_H
#define MEMATTACH_LEAK_ASSIGNED_CODE_H

#include "src/leak/variable/assigned_value.h"

enum code_kind {
	CODE_NOTHING = 0,
	CODE_VARIABLE,	/* text, type */
	CODE_SYMBOL,	/* text: of static data without debug information */
	CODE_ARGUMENT,	/* it is passed to functions, see calls */
};
#define CODE_CALLS	4u
/* A function that gets the result, in the order in which they are called. */
struct code_call {
	uint64_t callee;	/* virtual address of the module's file, 0 unknown */
	unsigned int argument;	/* from 0 */
	char object[128];	/* the variable that argument 0 points to; "" unknown */
};
struct code_answer {
	enum code_kind kind;
	bool returned;		/* whatever it was assigned to, the function returns it */
	bool local;		/* text is a local variable */
	unsigned int level;	/* of the function, as in debug_scopes */
	char text[128];
	bool has_type;
	Dwarf_Die type;		/* of the variable */
	unsigned int call_count;
	struct code_call call[CODE_CALLS];
};
/* 0, or -ENOENT: there is no code; -ENOMEM. */
int assigned_code_read(const struct code_place *place, struct code_answer *ret) _must_check_;

#endif
