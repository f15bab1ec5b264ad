/* SPDX-License-Identifier: MIT */
/* suspended.h - calls of hooks that are under way on stacks that no thread runs on. */
#ifndef MEMATTACH_SUSPENDED_H
#define MEMATTACH_SUSPENDED_H

#include "inject/quiesce/quiesce.h"

/* What is searched for. */
struct suspended_words {
	uint64_t low, high;	/* of all calls that hooks make the return addresses are in here */
	/* The frame of a signal that came in one of these; count 0: not searched for. */
	const struct stack_range *range;
	size_t count;
};
/* How far the search is. Zeroed: it has not begun. */
struct suspended_search {
	uint64_t at;		/* below this nothing is left to be found */
	bool complete;
};

/*
 * Looks through the target's own writable memory for such words: a coroutine that was switched away
 * from in the middle of a hook's call has one on its stack, and goes on there one day; so has a
 * thread that a handler interrupted there, and that runs on another stack. pre: nothing leads into
 * the hooks any more, and each thread was seen outside since, so that such words only become fewer;
 * todo has what lay below them on their own stacks then, where exceptions leave such words. Who
 * goes on while this looks may be on its way out of a hook when it is complete, with no such word:
 * threads have to be seen outside once more.
 * 0: there is none; -ETIME: there is one at search->at, and it did not go before deadline_ns, or
 * (with frames) there was one, and who was interrupted may be in a call by now, where it was looked
 * already: call again to go on; -ENOTSUP the kernel does not tell what memory there is; -errno.
 */
int suspended_calls_wait(const struct target *target, const struct suspended_words *words,
			 const struct quiesce_todo *todo, uint64_t deadline_ns,
			 struct suspended_search *search) _must_check_;

#endif
