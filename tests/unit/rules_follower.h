/* SPDX-License-Identifier: MIT */
/*
 * rules_follower.h - walks a stack by the compiled rules of its modules.
 *
 * What the shim does with inject/abi/rules_abi.h, as plainly as it can be said, over the input of
 * unwinder_walk(): to be compared with what that gives.
 */
#ifndef MEMATTACH_TESTS_RULES_FOLLOWER_H
#define MEMATTACH_TESTS_RULES_FOLLOWER_H

#include "src/unwind/cfi_table.h"
#include "src/unwind/unwind.h"

enum follower_end { FOLLOWER_COMPLETE, FOLLOWER_TRUNCATED, FOLLOWER_UNREADABLE, FOLLOWER_COPY };
struct follower {
	const struct modules *modules;	/* borrowed */
	struct rule_set set;
	struct cfi_table *table;	/* [module id - 1]; zeroed: there is none */
	uint32_t count;
	uint64_t steps, copies;		/* frames left by a rule, walks ended by RULES_COPY */
};

/* Compiles all modules. False without memory. */
bool follower_init(struct follower *follower, const struct modules *modules);
void follower_done(struct follower *follower);
/*
 * The frames of input, up to STACKS_MAX_FRAMES. FOLLOWER_COPY: the last one has no rule, and
 * there may be more. UNREADABLE: to leave the last one takes a word that is not there, where the
 * shim would copy; whether that is an end is the unwinder's to say. pre: input->first_is_return.
 */
enum follower_end follower_walk(struct follower *follower, const struct unwind_input *input,
				struct frame *frame, uint32_t *ret_count);
/* True if the unwinder says the same of input; what each says is printed if not. */
bool follower_agrees(struct follower *follower, struct unwinder *unwinder,
		     const struct unwind_input *input);

#endif
