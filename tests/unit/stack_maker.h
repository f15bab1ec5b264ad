/* SPDX-License-Identifier: MIT */
/*
 * stack_maker.h - stacks through the code of real modules, made up.
 *
 * Return addresses anywhere in functions of the modules, at the distances that their call frame
 * information says, between random words. The outermost frame returns to 0.
 */
#ifndef MEMATTACH_TESTS_STACK_MAKER_H
#define MEMATTACH_TESTS_STACK_MAKER_H

#include "tests/unit/rules_follower.h"

#define STACK_MAKER_WORDS	8192u

struct stack_maker_call {
	uint64_t address;		/* a return address, of the target */
	struct rules_rule rule;
};
struct stack_maker {
	struct stack_maker_call *call;	/* function by function, those in random order */
	size_t count, room;
	size_t used;			/* of them, by stack_maker_fresh */
	uint64_t random;
	uint64_t word[STACK_MAKER_WORDS];
};

/*
 * Looks in the modules of follower for so many places in each function that can be left by a plain
 * rule. pre: maker->random is a seed.
 */
bool stack_maker_init(struct stack_maker *maker, const struct follower *follower,
		      unsigned int places);
void stack_maker_done(struct stack_maker *maker);
/*
 * A stack of so many frames through places that none was led through before; ret's words are
 * the maker's until the next one. False: there is no such code left.
 */
bool stack_maker_fresh(struct stack_maker *maker, uint32_t frames, struct unwind_input *ret);
/* The same through any of the first so many places. pre: 0 < among <= maker->count. */
void stack_maker_known(struct stack_maker *maker, size_t among, uint32_t frames,
		       struct unwind_input *ret);

#endif
