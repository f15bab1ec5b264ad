/* SPDX-License-Identifier: MIT */
/*
 * abandon.c - see abandon.h. Nothing is allocated while something is stopped: the list has room for
 * a few, and those that stop many threads ask for more room before. Beyond that the tracees are let
 * go by the kernel when the keeper ends.
 */
#include "inject/tracee/abandon.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inject/tracee/eintr.h"
#include "inject/tracee/tracee.h"
#include "src/base/cleanup.h"

#define AWAIT_LIMIT_NS 10000000000ull

static pid_t few[4096], *waiting = few;	/* 0: taken */
static size_t waiting_count, waiting_room = ARRAY_SIZE(few);
static size_t next_taken;	/* threads are often asked for in the order in which they came */
/* Bits of numbers that may be waiting: who asks for each of many threads hears "no" at once. */
static uint64_t maybe[1024];

static uint64_t *maybe_word(pid_t tid, uint64_t *ret_bit)
{
	*ret_bit = 1ull << (tid % 64);
	return &maybe[(unsigned int)tid / 64 % ARRAY_SIZE(maybe)];
}

int abandon_prepare(size_t count)
{
	size_t room = waiting_count + count;
	pid_t *grown;

	if (room <= waiting_room)
		return 0;
	grown = reallocarray(waiting == few ? NULL : waiting, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	if (waiting == few)
		memcpy(grown, few, waiting_count * sizeof(*grown));
	waiting = grown;
	waiting_room = room;
	return 0;
}

void abandon_tracee(pid_t tid)
{
	uint64_t bit, *word = maybe_word(tid, &bit);

	if (waiting_count == waiting_room)
		return;
	if (!waiting_count)
		memset(maybe, 0, sizeof(maybe));
	*word |= bit;
	waiting[waiting_count++] = tid;
}

bool abandon_take(pid_t tid)
{
	uint64_t bit, *word = maybe_word(tid, &bit);

	for (size_t i = 0; (*word & bit) && i < waiting_count; i++) {
		size_t at = (next_taken + i) % waiting_count;

		if (waiting[at] == tid) {
			waiting[at] = 0;
			next_taken = at + 1;
			return true;
		}
	}
	return false;
}

/* True if it is still waited for. */
static bool let_go(pid_t tid)
{
	struct tracee_stop stop;
	int error = tracee_wait(tid, 0, &stop);

	if (!error)
		(void)eintr_release(tid, &stop);
	return error == -ETIME;
}

unsigned int abandon_release(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < waiting_count; i++)
		if (waiting[i] && let_go(waiting[i]))
			waiting[kept++] = waiting[i];
	waiting_count = kept;
	return (unsigned int)kept;
}

void abandon_await(void)
{
	uint64_t end = tracee_now_ns() + AWAIT_LIMIT_NS;

	while (abandon_release() > 0 && tracee_wait_any(end) == 0)
		;
}
