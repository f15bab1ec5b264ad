/* SPDX-License-Identifier: MIT */
/*
 * stop.h - all threads of the target at once, for the few patches that need it,
 * and one thread for a look at its registers and stack.
 */
#ifndef MEMATTACH_STOP_H
#define MEMATTACH_STOP_H

#include <sys/user.h>

#include "inject/quiesce/stack_scan.h"
#include "inject/tracee/sharers.h"
#include "inject/tracee/target.h"

struct stop_all;

/*
 * Waits for the end of transfers (transfers.h) where target holds no thread, seizes every thread
 * (nothing stops yet), then stops them all. Gives up, with everything running again, after
 * budget_ns of stopped time, where there are more than a thousand threads as much of it again for
 * each thousand. 0, -ETIME, -EBUSY (stopped by job control), -ESRCH, -EPERM, -ENOMEM.
 */
int stop_all_begin(const struct target *target, uint64_t budget_ns, struct stop_all **ret)
	_must_check_;
/* Before the stop, as it takes time: what stop_all_clear_of compares with. */
void stop_all_look(const struct target *target, struct sharers_seen *ret);
/* After the last such stop, whether it came about or not: gives back what looking took. */
void stop_all_look_done(void);
/*
 * True when no thread's rip lies in one of count ranges, and no word of its stack does. False,
 * too, where a stack can't be read to the end of its mapping, or another process shares the
 * memory.
 */
bool stop_all_clear_of(const struct stop_all *stop, const struct sharers_seen *before,
		       const struct stack_range *range, size_t count);
/* One thread as the stop found it. */
struct stop_thread {
	int32_t tid;
	uint32_t reserved;
	struct user_regs_struct registers;
};
/* The number of threads that are stopped; the first room of them into ret. */
size_t stop_all_threads(const struct stop_all *stop, struct stop_thread *ret, size_t room);
/* Lets every thread run again; *ret_us (may be NULL) is the longest that one was held. */
void stop_all_end(struct stop_all *stop, uint64_t *ret_us, uint32_t *ret_threads);

/* What a look at one thread saw. */
struct stop_sample {
	pid_t tid;
	struct user_regs_struct registers;	/* as borrow_begin would find them */
	uint64_t stack_bytes;			/* copied from registers.rsp up */
	uint8_t *stack;				/* owned */
	uint64_t held_us;			/* how long it was stopped, at the most */
	uint64_t kept_ns;	/* it still stands, since then (CLOCK_MONOTONIC); 0: it runs */
};
/*
 * Stops tid, copies registers and up to room bytes of stack (to its mapping's end), lets
 * it go; keep: only when stop_sample_release is called.
 */
int stop_sample(const struct target *target, pid_t tid, size_t room, bool keep,
		struct stop_sample *ret) _must_check_;
/* Lets a kept thread go, and notes how long it stood. */
void stop_sample_release(struct stop_sample *sample);
/* Releases it, too. */
void stop_sample_done(struct stop_sample *sample);

#endif
