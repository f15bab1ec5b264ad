/* SPDX-License-Identifier: MIT */
/*
 * confine.c - the program takes rights from itself while we are in it: by a filter of system calls,
 * calls that are dispatched to itself, no time stamp counter.
 *
 * What a hook may do was found out at attach. Whoever sandboxes itself later does so by libc's
 * prctl or syscall, as libseccomp does, and these are hooked for that: before the call passes our
 * own calls end, in all threads, as one thread's filter may become all threads' (TSYNC). Who is in
 * one is waited for. Without the counter no hook can work, and all of them pass through from then
 * on. It is never taken back: that the call fails is rare, and what is left does without.
 *
 * Rejected: to look at the filter here. The keeper looks at what is there, too (keeper_confined.c),
 * but some time after, for who makes the call without libc.
 */
#include "inject/shim/confine.h"

#include <asm/unistd.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59	/* Linux 5.11 */
#endif
#define WAIT_CYCLES (1ull << 25)	/* 11 ms at 3 GHz; our calls take 1 ms at the most */

long shim_syscall(struct ring_control *control, long number, const uint64_t argument[6])
{
	long result = SHIM_NO_CALL;

	/* Partner: await_calls(). One of the two sees the other. */
	shim_add(&control->calls_under_way, 1);
	if (shim_load(&control->confined) == 0)
		result = arch_syscall(number, argument);
	if (shim_control() == control)	/* else this is a fork child: it has no control block */
		shim_add(&control->calls_under_way, -1u);
	return result;
}

/* A handler on top of a hook of its own thread would wait for itself: not for long. */
static void await_calls(const struct ring_control *control)
{
	uint32_t cpu;
	uint64_t begin = arch_clock(control, &cpu);

	while (shim_load_acquire(&control->calls_under_way) != 0 &&
	       arch_clock(control, &cpu) - begin < WAIT_CYCLES)
		arch_pause();
}

/* What prctl() with these arguments takes away: enum ring_confined, 0 nothing. */
static uint32_t by_prctl(const uint64_t *argument)
{
	switch ((uint32_t)argument[0]) {
	case PR_SET_SECCOMP:
		return argument[1] == SECCOMP_MODE_STRICT ? RING_CONFINED_CLOCK :
							    RING_CONFINED_FILTER;
	case PR_SET_TSC:
		return (uint32_t)argument[1] == PR_TSC_SIGSEGV ? RING_CONFINED_CLOCK : 0;
	case PR_SET_SYSCALL_USER_DISPATCH:
		return argument[1] != 0 ? RING_CONFINED_DISPATCH : 0;
	default:
		return 0;
	}
}

static uint32_t by_seccomp(const uint64_t *argument)
{
	switch ((uint32_t)argument[0]) {
	case SECCOMP_SET_MODE_STRICT:
		return RING_CONFINED_CLOCK;	/* Linux takes that away, too */
	case SECCOMP_SET_MODE_FILTER:
		return RING_CONFINED_FILTER;
	default:
		return 0;
	}
}

static uint32_t by_syscall(const uint64_t *argument)
{
	switch ((uint32_t)argument[0]) {
	case __NR_prctl:
		return by_prctl(argument + 1);
	case __NR_seccomp:
		return by_seccomp(argument + 1);
	default:
		return 0;
	}
}

bool shim_confine_begin(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();
	uint32_t what = shape == RING_SHAPE_SYSCALL ? by_syscall(call->argument) :
						      by_prctl(call->argument);

	if (!control || what == 0)
		return false;
	shim_wake_reader(control);	/* it may not be able to be woken any more */
	(void)__atomic_or_fetch(&control->confined, what, __ATOMIC_SEQ_CST);
	await_calls(control);
	if (what & RING_CONFINED_CLOCK)
		shim_store(&shim_root_page.control, 0);
	return false;
}

/* Nothing is to be done after it: begin() leaves no frame. */
void shim_confine_end(struct shim_call *call, enum ring_shape shape)
{
	(void)call;
	(void)shape;
}
