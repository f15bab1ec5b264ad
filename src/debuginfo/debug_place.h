/* SPDX-License-Identifier: MIT */
/* debug_place.h - where a variable is, when it lies whole in one place. */
#ifndef MEMATTACH_LEAK_DEBUG_PLACE_H
#define MEMATTACH_LEAK_DEBUG_PLACE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

enum debug_where {
	DEBUG_NOWHERE = 0,	/* not there, or in a way that is no single place */
	DEBUG_REGISTER,		/* in reg */
	DEBUG_MEMORY,		/* at reg + offset */
	DEBUG_FRAME,		/* at the call frame address (CFA) + offset */
	DEBUG_STATIC,		/* at address offset, in the DWARF's terms */
	DEBUG_THREAD,		/* at offset of the module's thread-local storage */
};
struct debug_place {
	enum debug_where where;
	unsigned int reg;	/* DWARF number: 0 rax, 7 rsp, 6 rbp; up to 31 */
	int64_t offset;
};
/* Of a variable of function while the processor stands at pc, both in the DWARF's terms. */
void debug_place_at(Dwarf_Die *variable, const Dwarf_Die *function, uint64_t pc,
		    struct debug_place *ret);
/* Of one that has the same place for ever: DEBUG_STATIC, DEBUG_THREAD; else DEBUG_NOWHERE. */
void debug_place_fixed(Dwarf_Die *variable, struct debug_place *ret);

#endif
