/* SPDX-License-Identifier: MIT */
/* debug_units.h - units and functions of one file's debug information, by the address of code. */
#ifndef MEMATTACH_LEAK_DEBUG_UNITS_H
#define MEMATTACH_LEAK_DEBUG_UNITS_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "src/base/cleanup.h"

/* Addresses are the DWARF's. */
struct debug_function {
	Dwarf_Die die;
	Dwarf_Die unit;		/* of the entries, the split one where there is one */
	uint64_t low, high;	/* of the function's range that holds the address */
};
struct debug_units;
/* dwarf is borrowed. Reads all units' ranges. 0 or -ENOMEM. */
int debug_units_new(Dwarf *dwarf, struct debug_units **ret) _must_check_;
void debug_units_free(struct debug_units *units);
/* The function whose code holds pc. 0, -ENOENT, -ENOMEM. Walks a unit once. */
int debug_units_function(struct debug_units *units, uint64_t pc, struct debug_function *ret)
	_must_check_;

#endif
