/* SPDX-License-Identifier: MIT */
/*
 * custom_functions.h - functions of the program's own that allocate and give back, as the user
 * names them (--alloc-fn, --realloc-fn, --free-fn).
 */
#ifndef MEMATTACH_CUSTOM_FUNCTIONS_H
#define MEMATTACH_CUSTOM_FUNCTIONS_H

#include <stdbool.h>

#include "inject/abi/ring_abi.h"
#include "src/plan/symtab.h"

#define CUSTOM_MAX_FUNCTIONS 32u

struct custom_function {
	enum ring_shape shape;		/* RING_SHAPE_CUSTOM_... */
	char name[SYMTAB_NAME_BYTES];	/* as it was given: a symbol's, or an address */
	uint64_t address;		/* 0: by its name */
	struct ring_arguments arguments;
};

struct custom_functions {
	uint32_t count;
	struct custom_function function[CUSTOM_MAX_FUNCTIONS];
};

/*
 * Reads what was given for shape: NAME[:SIZE[*COUNT]], of realloc's kind
 * NAME[:BLOCK,SIZE[*COUNT]], of free's NAME[:BLOCK]; numbers of arguments, from 1. NAME may be an
 * address, 0x.... Without numbers it is as malloc, realloc and free have them. NULL, or what is
 * wrong: a constant.
 */
const char *custom_function_parse(enum ring_shape shape, const char *text,
				  struct custom_function *ret);

/* Surely it may be left by exceptions? Names of C++ may; of an address nobody knows. */
static inline bool custom_function_may_throw(const struct custom_function *function)
{
	return function->address != 0 || (function->name[0] == '_' && function->name[1] == 'Z');
}

#endif
