/* SPDX-License-Identifier: MIT */
/* trap_regs.h - a system call that a seccomp filter made a signal of: what it asked, its answer. */
#ifndef MEMATTACH_ARCH_TRAP_REGS_H
#define MEMATTACH_ARCH_TRAP_REGS_H

#include <stdint.h>
#include <ucontext.h>

/* The call's first four arguments; which: 0 to 3. */
static inline uint64_t trap_regs_argument(const ucontext_t *context, unsigned int which)
{
	static const int where[] = { REG_RDI, REG_RSI, REG_RDX, REG_R10 };

	return (uint64_t)context->uc_mcontext.gregs[where[which]];
}

/* What the call returns when the handler does: a result, or -errno. */
static inline void trap_regs_return(ucontext_t *context, long result)
{
	context->uc_mcontext.gregs[REG_RAX] = result;
}

#endif
