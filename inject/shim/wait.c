/* SPDX-License-Identifier: MIT */
/*
 * wait.c - the only places where the shim may give up the processor, and the
 * only ones where it wakes anybody. Raw futex calls, shared ones: the other side
 * is another process. Where seccomp forbids futex (control.may_wait == 0), or
 * the program has confined itself since, it spins, and the reader must look by itself.
 */
#include "inject/shim/confine.h"

#include <asm/unistd.h>
#include <linux/futex.h>

#define SPIN_TURNS	64u
#define SPIN_PAUSES	32u
#define SLEEP_NS	1000000ull

static void spin(void)
{
	for (uint32_t i = 0; i < SPIN_PAUSES; i++)
		arch_pause();
}

void shim_wait(struct ring_control *control, uint32_t seen, uint32_t turn)
{
	const uint64_t timeout[2] = { 0, SLEEP_NS };	/* struct timespec, relative */
	uint64_t argument[6] = { (uint64_t)&control->wake, FUTEX_WAIT, seen, (uint64_t)timeout };

	if (turn < SPIN_TURNS || !control->may_wait ||
	    shim_syscall(control, __NR_futex, argument) == SHIM_NO_CALL)
		spin();
}

void shim_wake_reader(struct ring_control *control)
{
	uint64_t argument[6] = { (uint64_t)&control->reader_asleep, FUTEX_WAKE, 1 };
	uint32_t asleep = 1;

	if (!control->may_wait || shim_load(&control->confined) != 0 ||
	    shim_load(&control->reader_asleep) == 0)
		return;
	/* One waker is enough. */
	if (__atomic_compare_exchange_n(&control->reader_asleep, &asleep, 0, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		(void)shim_syscall(control, __NR_futex, argument);
}
