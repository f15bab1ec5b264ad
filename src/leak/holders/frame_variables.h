/* SPDX-License-Identifier: MIT */
/* frame_variables.h - the variables of one frame and where they are. For locals.c. */
#ifndef MEMATTACH_LEAK_FRAME_VARIABLES_H
#define MEMATTACH_LEAK_FRAME_VARIABLES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#define FRAME_NO_REGISTER 99u

struct frame_state {
	const uint64_t *value;	/* [enum cfi_register] */
	uint64_t cfa;
	uint64_t pc;		/* in DWARF's terms */
	uint64_t bias;		/* what is added to an address in DWARF for one in the process */
	Dwarf_Die *function;
};
struct frame_variable {
	/* What is wanted: what lies over an address, or in a register (DWARF's number). */
	uint64_t wanted_address;
	unsigned int wanted_register;	/* FRAME_NO_REGISTER: by address */
	/* What was found. */
	Dwarf_Die die;
	Dwarf_Die function;	/* that declares it; perhaps an inlined one */
	const char *name;
	uint64_t address;	/* 0: in the register */
};
/* Searches the function and all blocks and inlined calls that pc is in; innermost wins. */
bool frame_variable_find(const struct frame_state *state, struct frame_variable *variable);

#endif
