/* SPDX-License-Identifier: MIT */
/*
 * priority.c - SCHED_FIFO for the milliseconds of a stop. On a machine whose CPUs
 * are all busy the keeper would otherwise wait for its turn behind the very
 * threads that it has just let go, while the rest still stands.
 */
#include "inject/priority.h"

#include <sched.h>

static unsigned int depth;

void priority_raise(void)
{
	struct sched_param parameter = { .sched_priority = 1 };

	if (depth++ == 0)
		(void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter);
}

void priority_restore(void)
{
	struct sched_param parameter = { .sched_priority = 0 };

	if (--depth == 0)
		(void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &parameter);
}
