/* SPDX-License-Identifier: MIT */
/*
 * fuzz_module.h - hostile modules and stacks for the fuzzers of what unwinds.
 *
 * The first byte of the input chooses how the module is made: the input as the whole ELF file,
 * as .eh_frame behind a right search table, as the programs of a CIE and FDE that are otherwise
 * right (which gets furthest), or of several FDEs, with or without a table. Then registers,
 * then the stack.
 */
#ifndef MEMATTACH_TESTS_FUZZ_MODULE_H
#define MEMATTACH_TESTS_FUZZ_MODULE_H

#include "src/modules/modules.h"
#include "src/unwind/unwind.h"

#define FUZZ_FILE_BYTES		16384u
#define FUZZ_STACK_WORDS	256u

/* What is left of the input. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};
struct fuzz_file {
	uint8_t bytes[FUZZ_FILE_BYTES];
	size_t size;
};

/* The file that input describes. */
void fuzz_module_make(struct fuzz_file *file, struct fuzz_input *input);
/* It mapped; ends the program where that fails. file must live as long. */
struct modules *fuzz_module_load(struct fuzz_file *file);
/* Registers, and FUZZ_STACK_WORDS words, of which some lead back into the code or the stack. */
void fuzz_module_stack(struct unwind_input *walk, uint64_t *stack, struct fuzz_input *input);

#endif
