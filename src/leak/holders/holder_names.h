/* SPDX-License-Identifier: MIT */
/* holder_names.h - names for the pointers of a chain, and the chain as text. For holders.c. */
#ifndef MEMATTACH_LEAK_HOLDER_NAMES_H
#define MEMATTACH_LEAK_HOLDER_NAMES_H

#include "src/leak/holders/holders.h"

/* One pointer as the search found it. */
struct holder_step {
	uint64_t place;			/* 0: word is set */
	uint64_t value;
	struct block holder;		/* that place lies in; bytes 0: it is in a root */
	struct block held;		/* that value points into */
	const struct root_word *word;
};
struct holder_names;
/* input is borrowed. 0 or -ENOMEM. */
int holder_names_new(const struct holders_input *input, struct holder_names **ret) _must_check_;
void holder_names_free(struct holder_names *names);
/*
 * Fills ret->link, count, left_out and text from the steps, root first; ret->end and target
 * are set already. 0 or -ENOMEM.
 */
int holder_names_describe(struct holder_names *names, const struct holder_step *step, size_t count,
			  struct holder_chain *ret) _must_check_;
/* How well a step that stands in a root can be named. */
enum holder_naming {
	HOLDER_NAMELESS = 0,	/* on a stack, in no frame that is known: perhaps a left-over */
	HOLDER_IN_FUNCTION,	/* in a frame, and no variable of it */
	HOLDER_NAMED,
};
enum holder_naming holder_names_rate(struct holder_names *names, const struct holder_step *step);
/* Frees what a chain owns. */
void holder_chain_done(struct holder_chain *chain);

#endif
