/* SPDX-License-Identifier: MIT */
/* rseq.h - may a thread in user mode be pointed elsewhere without breaking an rseq section? */
#ifndef MEMATTACH_RSEQ_H
#define MEMATTACH_RSEQ_H

#include "inject/tracee/target.h"

/*
 * 0: yes. -EAGAIN: rip lies in a critical section now. -ENOTSUP: can't be told
 * (a kernel without PTRACE_GET_RSEQ_CONFIGURATION). pre: tid is stopped.
 */
int rseq_allows_redirect(const struct target *target, pid_t tid, uint64_t rip);

#endif
