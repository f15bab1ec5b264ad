/* SPDX-License-Identifier: MIT */
/*
 * access_regs.h - the registers that come with a hit of a hardware breakpoint: those from which
 * its stack can be unwound.
 */
#ifndef MEMATTACH_ACCESS_REGS_H
#define MEMATTACH_ACCESS_REGS_H

#include <asm/perf_regs.h>
#include <stdint.h>

/* perf_event_attr.sample_regs_user; the kernel writes them in the order of their bits. */
#define ACCESS_REGS_MASK \
	(1ull << PERF_REG_X86_BX | 1ull << PERF_REG_X86_BP | 1ull << PERF_REG_X86_SP | \
	 1ull << PERF_REG_X86_IP | 1ull << PERF_REG_X86_R12 | 1ull << PERF_REG_X86_R13 | \
	 1ull << PERF_REG_X86_R14 | 1ull << PERF_REG_X86_R15)
struct access_regs {
	uint64_t rbx, rbp, rsp, rip, r12, r13, r14, r15;
};

_Static_assert(PERF_REG_X86_BX < PERF_REG_X86_BP && PERF_REG_X86_BP < PERF_REG_X86_SP &&
		       PERF_REG_X86_SP < PERF_REG_X86_IP && PERF_REG_X86_IP < PERF_REG_X86_R12 &&
		       sizeof(struct access_regs) == 8 * sizeof(uint64_t),
	       "in the order of their bits");

#endif
