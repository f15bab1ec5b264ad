/* SPDX-License-Identifier: MIT */
/* assigned_return.h - does a function return the pointer that it holds? */
#ifndef MEMATTACH_LEAK_ASSIGNED_RETURN_H
#define MEMATTACH_LEAK_ASSIGNED_RETURN_H

#include "src/modules/modules.h"

#define RETURN_SLOTS	8u

/* Where the pointer is: registers by DWARF number, and words of the frame. */
struct return_state {
	uint64_t address;	/* of the next instruction */
	uint16_t registers;	/* bit n: register n holds it */
	uint16_t slot_count;
	struct return_slot {
		uint8_t reg;	/* rsp or rbp, DWARF number */
		int32_t offset;
	} slot[RETURN_SLOTS];
};
/*
 * True if some way through the code of [low, high) (virtual addresses of the module's file)
 * from state on ends in a return of the pointer.
 */
bool assigned_returns(const struct module *module, uint64_t low, uint64_t high,
		      const struct return_state *state);

#endif
