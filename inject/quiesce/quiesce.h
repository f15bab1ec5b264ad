/* SPDX-License-Identifier: MIT */
/* quiesce.h - proof that no thread can ever return into our code. */
#ifndef MEMATTACH_QUIESCE_H
#define MEMATTACH_QUIESCE_H

#include "inject/quiesce/stack_scan.h"
#include "inject/tracee/target.h"

struct quiesce_result {
	uint32_t threads, stopped;	/* looked at; of those, briefly stopped one by one */
	uint64_t stop_us_max;
	pid_t blocker;			/* a thread that is still inside, after -ETIME */
};

/*
 * The threads that were there when nothing led into the ranges any more and have
 * not been seen outside since. Later ones started outside. Zeroed: not listed yet.
 */
struct quiesce_todo {
	pid_t *tid;
	uint64_t *vain;	/* as many: a stack pointer above which no control block was found, or 0 */
	size_t count;
	bool listed;
	uint64_t listed_ns;	/* tracee_now_ns() */
	unsigned int passes;	/* looks at all of them since then */
	/*
	 * One was seen outside on a stack that is not its own, as it never came back to that one:
	 * a coroutine's, or what a runtime gave it. What may lie on its other stacks was not seen.
	 */
	bool elsewhere;
	/*
	 * Of those that were seen outside: what lay below on their own stacks then. No frame is
	 * there, and none with a return address into a range can come.
	 */
	struct quiesce_dead {
		uint64_t low, high;
	} *dead;
	size_t dead_count;
};
void quiesce_todo_done(struct quiesce_todo *todo);

/*
 * Looks at every thread of todo, again and again, until each has once been seen
 * with no pc, return address or stack word in any range. Nothing may lead into
 * the ranges any more when this is first called. With todo->elsewhere that proves
 * something only together with a search of all memory (suspended.h). 0, -ETIME (todo keeps what is
 * left: call again), -ESRCH, -errno.
 */
int quiesce_wait(const struct target *target, const struct stack_range *range, size_t count,
		 uint64_t deadline_ns, struct quiesce_todo *todo, struct quiesce_result *ret)
	_must_check_;
/*
 * tid was proven outside in another way: the stack at sp was unwound. Where that is not surely its
 * own, as thread_pointer tells, this says nothing of its other stacks: todo->elsewhere.
 */
void quiesce_clear_unwound(const struct target *target, struct quiesce_todo *todo, pid_t tid,
			   uint64_t sp, uint64_t thread_pointer);

#endif
