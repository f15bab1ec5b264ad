/* SPDX-License-Identifier: MIT */
/*
 * calls.c - a record of each call as it was made: arguments, result, times.
 *
 * For a log of calls (control.calls), beside the records that say what became of
 * blocks: failures and free(NULL) change nothing and have no such record, a free's goes out
 * before the call. Where no log is asked for, all of it is a load of a line that is read anyway,
 * and two branches.
 *
 * The times lie as near to the original as can be: what we record, or wait for,
 * before and after it is not the allocator's time.
 */
#include "inject/shim/confine.h"

#include <asm/unistd.h>

void shim_trace_start(const struct ring_control *control, struct shim_call *call)
{
	uint32_t cpu;

	call->state |= SHIM_TRACED;
	call->begin = arch_clock(control, &cpu);
}

/* By system call: what libc keeps of it lies where each libc wants it. */
static uint32_t thread_id(struct ring_control *control)
{
	const uint64_t argument[6] = { 0 };
	long id;

	if (!(shim_load(&control->calls) & RING_CALLS_TID))
		return 0;
	id = shim_syscall(control, __NR_gettid, argument);
	return id == SHIM_NO_CALL ? 0 : (uint32_t)id;
}

void shim_trace_record(struct ring_control *control, const struct shim_call *call,
		       enum ring_shape shape)
{
	struct ring_call traced = { .begin = call->begin, .end = call->end };
	struct shim_event event = {
		.kind = RING_CALL,
		.flags = (uint8_t)(call->state & SHIM_ANNOUNCED ? RING_F_ANNOUNCED : 0),
		.address = call->result,
		.call = &traced,
	};

	if (shim_control() != control)
		return;
	for (uint32_t i = 0; i < 6; i++)
		traced.argument[i] = call->argument[i];
	/* it has just been written through its first argument */
	if (shape == RING_SHAPE_POSIX_MEMALIGN && (uint32_t)call->result == 0)
		event.old_address = *(const uint64_t *)call->argument[0];
	event.size = thread_id(control);
	shim_record(control, call, &event);
}
