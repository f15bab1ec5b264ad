/* SPDX-License-Identifier: MIT */
/*
 * unwind_states.h - what libunwind has read of call frame information, kept for the next time.
 */
#ifndef MEMATTACH_UNWIND_STATES_H
#define MEMATTACH_UNWIND_STATES_H

#include "src/unwind/unwind_find.h"

/* Reads of tables in one step: the largest FDEs need less. */
#define UNWIND_STATE_READS	65536u

struct unwind_state {
	struct cfi_fde fde;	/* that covers the address */
	void *row;		/* for unw_apply_reg_state(); NULL: only unw_step() will do */
	uint32_t reads;		/* of tables, that unw_step() would need for it */
};

struct unwind_states_stats {
	uint64_t read, kept;	/* questions that had to be read for, and those that had not */
	size_t bytes;
};

struct unwind_states;
/* find is borrowed. 0 or -ENOMEM. */
int unwind_states_new(struct unwind_find *find, struct unwind_states **ret) _must_check_;
void unwind_states_free(struct unwind_states *states);
/*
 * What holds at address (virtual address of the module's file); ret->row is borrowed until the
 * next question. 0, else as unwind_find_fde.
 */
int unwind_states_get(struct unwind_states *states, const struct module *module, uint64_t address,
		      struct unwind_state *ret) _must_check_;
void unwind_states_stats(const struct unwind_states *states, struct unwind_states_stats *ret);

#endif
