/* SPDX-License-Identifier: MIT */
/*
 * event.h - one validated ring record, as the rest of memattach sees it.
 *
 * Everything here is a copy out of shared memory but the bytes at stack: those
 * still lie in the ring, the target may change them at any time, and they are
 * valid in the callback only. Copy what is looked at twice.
 */
#ifndef MEMATTACH_EVENT_H
#define MEMATTACH_EVENT_H

#include "inject/abi/ring_abi.h"
#include "src/unwind/unwind.h"

struct event {
	enum ring_kind kind;	/* RING_ALLOC .. RING_PATH, never RING_PAD */
	uint16_t flags;		/* enum ring_flag */
	uint16_t entry;		/* index in control.entry, < RING_MAX_ENTRIES */
	uint64_t time;		/* TSC */
	uint64_t address;	/* of the block or mapping (RING_BRK: the new break) */
	uint64_t size;		/* bytes asked for (RING_BRK: the previous break) */
	uint64_t old_address;	/* realloc, mremap */
	uint64_t thread;	/* thread pointer, names the thread */
	uint64_t caller;	/* return address of the hooked call; 0: only its path is known */
	uint64_t path;		/* with RING_F_PATH, and of RING_PATH: its name; else 0 */
	uint32_t alignment;	/* bytes, 0: not asked for */
	uint64_t interval;	/* mean sampling interval it was drawn with; 0: certain */
	/*
	 * With RING_F_STACK: registers as the caller will see them after the return
	 * (rip == caller), else all 0 but rip.
	 */
	struct unwind_registers registers;
	uint64_t stack_address;	/* of stack[0] in the target; holds the return address */
	uint32_t stack_bytes;	/* 0: none were copied */
	/* In shared memory; NULL when stack_bytes == 0. RING_PATH: its return addresses. */
	const uint8_t *stack;
	uint16_t ring;		/* that it lay in */
	const struct ring_call *call;	/* RING_CALL: a copy; else NULL */
};

/* What an unwinder needs to walk event's stack. Borrows event->stack. */
static inline struct unwind_input event_unwind_input(const struct event *event)
{
	return (struct unwind_input){
		.registers = event->registers,
		.stack = event->stack,
		.stack_address = event->stack_address,
		.stack_bytes = event->stack_bytes,
		.first_is_return = true,
	};
}

#endif
