/* SPDX-License-Identifier: MIT */
/*
 * abandon.c - see abandon.h. The list is a fixed array: nothing is allocated
 * while something is stopped. When it is full, the tracees that are not in it
 * are let go by the kernel when the keeper ends.
 */
#include "inject/abandon.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "inject/eintr.h"

enum { ABANDON_MAX = 4096 };
static pid_t waiting[ABANDON_MAX];
static unsigned int waiting_count;
/* Bits of numbers that may be waiting: who asks for each of many threads hears "no" at once. */
static uint64_t maybe[1024];

static uint64_t *maybe_word(pid_t tid, uint64_t *ret_bit)
{
	*ret_bit = 1ull << (tid % 64);
	return &maybe[(unsigned int)tid / 64 % ARRAY_SIZE(maybe)];
}

void abandon_tracee(pid_t tid)
{
	uint64_t bit, *word = maybe_word(tid, &bit);

	if (waiting_count == ABANDON_MAX)
		return;
	if (!waiting_count)
		memset(maybe, 0, sizeof(maybe));
	*word |= bit;
	waiting[waiting_count++] = tid;
}

bool abandon_take(pid_t tid)
{
	uint64_t bit, *word = maybe_word(tid, &bit);

	for (unsigned int i = 0; (*word & bit) && i < waiting_count; i++)
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
