/* SPDX-License-Identifier: MIT */
/* borrow_masks.h - which signals a thread blocks that works for us, from those it blocks itself. */
#ifndef MEMATTACH_BORROW_MASKS_H
#define MEMATTACH_BORROW_MASKS_H

#include <signal.h>
#include <stdint.h>

#define SIGNAL_BIT(signal) (1ull << ((signal) - 1))
/* What no thread can block: /proc does not show them. */
#define SIGNALS_UNBLOCKED (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP))
#define SIGNALS_OF_FAULTS (SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGFPE) | \
			   SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGTRAP))

/*
 * All but SIGSYS: a call of ours that ends in one would have the kernel take the program's handler
 * away, as it does where a signal that must come is blocked.
 */
static inline uint64_t borrow_mask_of_calls(uint64_t own)
{
	return (~SIGNAL_BIT(SIGSYS) | own) & ~SIGNALS_UNBLOCKED;
}

/*
 * Nor those of faults: a function of the program's may make one that the program's handler makes
 * good (a collector's write barrier).
 */
static inline uint64_t borrow_mask_of_functions(uint64_t own)
{
	return (borrow_mask_of_calls(own) & ~SIGNALS_OF_FAULTS) | own;
}

#endif
