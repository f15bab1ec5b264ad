/* SPDX-License-Identifier: MIT */
/*
 * priority.c - SCHED_FIFO for the milliseconds of a stop. On a machine whose CPUs
 * are all busy the keeper would otherwise wait for its turn behind the very
 * threads that it has just let go, while the rest still stands.
 *
 * Not by sched_getscheduler(2): the parameters of SCHED_DEADLINE and the niceness are part of what
 * is put back. Whether children inherit a policy stays as it is, since that can't be taken back
 * without a privilege; the keeper makes none during a stop.
 */
#include "inject/tracee/priority.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RESET_ON_FORK 1ull
#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

/* struct sched_attr of the kernel, which not every libc has; as in Linux 5.3. */
struct schedule {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
	uint32_t clamp_min, clamp_max;
};

static unsigned int depth;
static struct schedule before;
static bool raised;

static bool is_real_time(const struct schedule *s)
{
	return s->policy == SCHED_FIFO || s->policy == SCHED_RR || s->policy == SCHED_DEADLINE;
}

void priority_raise(void)
{
	struct schedule fifo = { .size = sizeof(fifo), .policy = SCHED_FIFO, .priority = 1 };

	if (depth++ > 0 || syscall(SYS_sched_getattr, 0, &before, sizeof(before), 0) < 0 ||
	    is_real_time(&before))
		return;
	fifo.flags = before.flags & RESET_ON_FORK;
	fifo.nice = before.nice;
	raised = syscall(SYS_sched_setattr, 0, &fifo, 0) == 0;
}

void priority_restore(void)
{
	if (--depth > 0 || !raised)
		return;
	raised = false;
	(void)syscall(SYS_sched_setattr, 0, &before, 0);
}
