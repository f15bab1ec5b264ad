/* SPDX-License-Identifier: MIT */
/* quiesce.h - proof that no thread can ever return into our code. */
#ifndef MEMATTACH_QUIESCE_H
#define MEMATTACH_QUIESCE_H

#include "inject/target.h"
#include "src/base/hashmap.h"

struct quiesce_range {
	uint64_t low, high;
};
struct quiesce_result {
	uint32_t threads, stopped;	/* looked at; of those, briefly stopped one by one */
	uint64_t stop_us_max;
	pid_t blocker;			/* a thread that is still inside, after -ETIME */
};

/* Threads that were once seen outside; they stay outside. Zeroed: none. */
struct quiesce_seen {
	struct hashmap tid;
};
void quiesce_seen_done(struct quiesce_seen *seen);

/*
 * Looks at every thread that is not in seen, again and again, until each has once
 * been seen with no pc, return address or stack word in any range. Nothing may
 * lead into the ranges any more when this is called. 0, -ETIME (seen keeps what
 * was found: call again), -ESRCH, -errno.
 */
int quiesce_wait(const struct target *target, const struct quiesce_range *range, size_t count,
		 uint64_t deadline_ns, struct quiesce_seen *seen, struct quiesce_result *ret)
	_must_check_;
/* Notes that tid was proven outside in another way (its stack was unwound). 0 or -ENOMEM. */
int quiesce_clear(struct quiesce_seen *seen, pid_t tid) _must_check_;

#endif
