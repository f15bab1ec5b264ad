/* SPDX-License-Identifier: MIT */
/*
 * shim.h - the parts of the shim and how they meet.
 *
 * Everything here runs inside somebody else's process, in the middle of its
 * malloc: no libc, no lock, no thread-local storage, no floating point, nothing
 * that can fault, and no system call but those that control.may_* allow, by shim_syscall().
 *
 *	shim_hooks.S	entry, the short path, the frame around the original
 *	shim_heap.c		malloc family: what to record before and after
 *	custom.c	functions of the program's own, as if they were malloc's
 *	mapping.c	mmap family, and the ranges that unmaps take away
 *	module.c	the dynamic loader's notifications
 *	confine.c	the program sandboxes itself; our own system calls
 *	nested.c	calls that the allocator makes to itself; outer.c: or to another one
 *	shim_threads.c	a slot of memory per thread, without thread-local storage
 *	sample.c	Poisson sampling by bytes; exponential.c: its logarithm
 *	table.c		addresses of live sampled blocks
 *	live_bits.c	exact mode: which frees are suspect; lost_bits.c: of lost blocks
 *	stack_copy.c	how much stack may be read, and reading it
 *	shadow.c	which call path is this? rules.c: how to leave a frame; paths.c: which
 *			paths the reader knows; recall.c: whole walks of before
 *	counts.c	counters instead of records
 *	calls.c		every call with its arguments and times, where that is asked for
 *	record.c	room in a ring, and the record in it; exact.c: most of those of exact mode
 *	wait.c		the reader is asleep; a ring is full
 */
#ifndef MEMATTACH_SHIM_H
#define MEMATTACH_SHIM_H

#include "inject/arch/x86_64/shim_arch.h"
#include "inject/shim/atomic.h"

#pragma GCC poison malloc calloc realloc free memcpy memset memmove printf errno

/* The page of shim_root, under the name that needs no relocation. */
extern struct shim_root shim_root_page __attribute__((visibility("hidden")));

/* The control block; NULL in a fork child or when not armed. Asked anew after every original. */
static inline struct ring_control *shim_control(void)
{
	return (struct ring_control *)shim_load(&shim_root_page.control);
}

/*
 * Fibonacci hashing: neighbours, page-sized strides and the like offsets of
 * many arenas all spread evenly. 24 bits (the short paths in assembly agree).
 */
#define SHIM_GOLDEN	0x9e3779b97f4a7c15ull	/* 2^64 / golden ratio */
#define SHIM_HASH_SHIFT	40
static inline uint64_t shim_hash(uint64_t address)
{
	return ((address >> 4) * SHIM_GOLDEN) >> SHIM_HASH_SHIFT;
}

/* What begin() found out, for end(). */
enum shim_call_state {
	SHIM_RECORD	= 1u << 0,	/* a success is to be recorded */
	SHIM_SAMPLED	= 1u << 1,	/* ... in the address table too */
	SHIM_FREED	= 1u << 2,	/* realloc: the old block was counted as freed */
	SHIM_ANNOUNCED	= 1u << 3,	/* a record went out before the call: undo it on failure */
	SHIM_UNMAPPING	= 1u << 4,	/* control.unmaps_begun was raised */
	SHIM_TRACED	= 1u << 5,	/* the call itself is recorded when it has returned */
	SHIM_COUNTED	= 1u << 6,	/* a success is to be counted */
	SHIM_OUTER	= 1u << 7,	/* in control.outer, until it has returned */
};

/* Completes what shim_hooks.S left to C: entry, span, thread; state 0. */
void shim_call_open(const struct ring_control *control, struct shim_call *call);

/*
 * The hooks' C halves. begin: before the original, with the arguments in call.
 * true: the original is to be called with our frame kept, then end runs with
 * the result; false: the original is jumped to, end does not run.
 */
bool shim_alloc_begin(struct shim_call *call, enum ring_shape shape);
void shim_alloc_end(struct shim_call *call, enum ring_shape shape);
/*
 * Instead of begin() and end() where nothing has to be known before the original (IF_MADE in
 * shim_hooks.S): once it has returned.
 */
void shim_made(struct shim_call *call, enum ring_shape shape);
/* Likewise before it (GOES): of a free. */
void shim_goes(struct shim_call *call, enum ring_shape shape);
bool shim_realloc_begin(struct shim_call *call, enum ring_shape shape);
void shim_realloc_end(struct shim_call *call, enum ring_shape shape);
bool shim_free_begin(struct shim_call *call, enum ring_shape shape);
void shim_free_end(struct shim_call *call, enum ring_shape shape);
bool shim_map_begin(struct shim_call *call, enum ring_shape shape);
void shim_map_end(struct shim_call *call, enum ring_shape shape);
bool shim_module_begin(struct shim_call *call, enum ring_shape shape);
void shim_module_end(struct shim_call *call, enum ring_shape shape);

/* What shim_trace_begin and _end do where a log of calls is asked for. */
void shim_trace_start(const struct ring_control *control, struct shim_call *call);
void shim_trace_record(struct ring_control *control, const struct shim_call *call,
		       enum ring_shape shape);
/*
 * control.calls. begin: last in a begin() of a call that is not nested, in RING_MODE_ALL:
 * true if the call is traced, and so needs its frame; returned: first in end(); end: last.
 */
static inline bool shim_trace_begin(const struct ring_control *control, struct shim_call *call)
{
	if (__builtin_expect(shim_load(&control->calls) == 0, 1))
		return false;
	shim_trace_start(control, call);
	return true;
}
static inline void shim_trace_returned(const struct ring_control *control,
				       struct shim_call *call)
{
	uint32_t cpu;

	if (__builtin_expect(call->state & SHIM_TRACED, 0))
		call->end = arch_clock(control, &cpu);
}
static inline void shim_trace_end(struct ring_control *control, const struct shim_call *call,
				  enum ring_shape shape)
{
	if (__builtin_expect(call->state & SHIM_TRACED, 0))
		shim_trace_record(control, call, shape);
}

/*
 * This thread's slot, claimed if it had none; NULL if the table is full around
 * its place (counted in lost_threads).
 */
struct ring_thread *shim_thread_find(struct ring_control *control, uint64_t thread);
/*
 * Marks slot as in use by the hook at sp. false: another hook of this thread is
 * at work (we are in a signal handler on top of it): leave the slot alone.
 */
bool shim_thread_begin(struct ring_thread *slot, uint64_t sp);
void shim_thread_end(struct ring_thread *slot);
/* 64 random bits from a generator's state. */
uint64_t shim_random(uint64_t *state);
/*
 * Is this allocation of size bytes sampled? Then *ret_interval is the interval
 * of the count-down that fired (0: with certainty), and call->begin the time.
 */
bool shim_sample(struct ring_control *control, struct shim_call *call, uint64_t size,
		 uint64_t *ret_interval);

enum shim_table_result { SHIM_TABLE_INSERTED, SHIM_TABLE_PRESENT, SHIM_TABLE_FULL };
/* address is the live sampled block. PRESENT: it was thought live already. */
enum shim_table_result shim_table_insert(struct ring_control *control, uint64_t address);
/* True if address was in the table; it no longer is, and only one caller is told so. */
bool shim_table_remove(struct ring_control *control, uint64_t address);

/* How the stack of one call is to be read. */
struct shim_stack_plan {
	uint32_t bytes;		/* multiple of 8 */
	uint16_t flags;		/* RING_F_STACK, _CALLER_ONLY, _TRUNCATED, _PATH */
	bool through_kernel;	/* no end is proven: process_vm_readv */
	uint64_t path;		/* with RING_F_PATH: its name */
};
/* Bytes from &call->caller to the proven end of its stack; 0: none is proven. */
uint64_t shim_stack_proven(struct ring_control *control, const struct shim_call *call);
/* At most control.stack_limit, a quarter of a ring, and RING_MAX_STACK_BYTES. */
struct shim_stack_plan shim_stack_plan(struct ring_control *control, const struct shim_call *call);
/* Copies as planned to `to`; the plan then says what was really copied. Never faults. */
void shim_stack_copy(struct ring_control *control, const struct shim_call *call,
		     struct shim_stack_plan *plan, uint8_t *to);

/* One record to be. */
struct shim_event {
	enum ring_kind kind;
	uint16_t flags;
	uint64_t address, size, old_address;
	uint64_t interval;	/* RING_ALLOC */
	uint32_t align_log2;
	bool with_stack;	/* RING_FREE, RING_UNDO: with its stack, if there is room */
	const struct ring_call *call;	/* RING_CALL; size is the thread's id, 0 unknown */
};
/*
 * Records event if this is an epoch's time and a ring has room (or gets some,
 * with RING_OVERFLOW_BLOCK). false: not recorded; counted if for want of room.
 */
bool shim_record(struct ring_control *control, const struct shim_call *call,
		 const struct shim_event *event);
/* The same of one whose stack was looked for: paths.h, known and path are what was found. */
enum shim_path;
bool shim_record_known(struct ring_control *control, const struct shim_call *call,
		       const struct shim_event *event, enum shim_path known, uint64_t path);
/* RING_MODE_SAMPLE: all that was spent on call since begin (arch_clock()) is added up. */
bool shim_record_since(struct ring_control *control, const struct shim_call *call,
		       const struct shim_event *event, uint64_t begin);

/*
 * One turn of a wait whose condition was false after wake was read as `seen`:
 * spins at first, then sleeps a millisecond at the most, less if the reader
 * calls. turn counts from 0.
 */
void shim_wait(struct ring_control *control, uint32_t seen, uint32_t turn);
/* Wakes the reader if it sleeps. */
void shim_wake_reader(struct ring_control *control);

#endif
