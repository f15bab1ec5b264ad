/* SPDX-License-Identifier: MIT */
/* tsc_trust.h - may events be put in order by the processors' time stamp counters? */
#ifndef MEMATTACH_TSC_TRUST_H
#define MEMATTACH_TSC_TRUST_H

#include <stdbool.h>
#include <stdint.h>

/* What the processor and the kernel say. */
struct tsc_facts {
	bool invariant;	   /* its rate never changes (CPUID 8000_0007h, EDX bit 8) */
	bool clocksource; /* the kernel itself may use it as a clock: it has compared them */
};

/* A clock that may be another on each processor (rdtsc; tests have one that is wrong). */
typedef uint64_t tsc_clock(void);

/* Is there an instruction that reads it with the processor's number (CPUID 8000_0001h)? */
bool tsc_has_rdtscp(void);
/* NULL: nothing in them speaks against it; else what does, for "...; memattach needs ...". */
const char *tsc_judge(const struct tsc_facts *facts);
/*
 * By how much clock ran backwards at the most, in its ticks, while all processors that we may
 * run on took turns at it, as in the kernel's own test (arch/x86/kernel/tsc_sync.c): for 4 ms, and
 * until each has taken over from another 64 times, a second at the most. 0: never, or there is
 * but one.
 */
uint64_t tsc_worst_warp(tsc_clock *clock);
/*
 * NULL: it may be used; else why not. Where the kernel does not list it as a clock, as many
 * virtual machines' (kvm-clock), it is put to the test.
 */
const char *tsc_problem(void);

#endif
