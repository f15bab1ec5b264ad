/* SPDX-License-Identifier: MIT */
/*
 * abandon.c - see abandon.h. The list is a fixed array: nothing is allocated
 * while something is stopped. When it is full, the tracees that are not in it
 * are let go by the kernel when the keeper ends.
 */
#include "inject/abandon.h"

#include <errno.h>

#include "inject/eintr.h"

enum { ABANDON_MAX = 4096 };
static pid_t waiting[ABANDON_MAX];
static unsigned int waiting_count;

void abandon_tracee(pid_t tid)
{
	if (waiting_count < ABANDON_MAX)
		waiting[waiting_count++] = tid;
}

bool abandon_take(pid_t tid)
{
	for (unsigned int i = 0; i < waiting_count; i++)
		if (waiting[i] == tid) {
			waiting[i] = waiting[--waiting_count];
			return true;
		}
	return false;
}

unsigned int abandon_release(void)
{
	struct tracee_stop stop;
	unsigned int i = 0;

	while (i < waiting_count) {
		int error = tracee_wait(waiting[i], 0, &stop);

		if (error == -ETIME) {
			i++;
			continue;
		}
		if (!error)
			(void)eintr_release(waiting[i], &stop);
		waiting[i] = waiting[--waiting_count];
	}
	return waiting_count;
}
