/* SPDX-License-Identifier: MIT */
/*
 * trap_on_top.h - a uprobe (perf, bpftrace, memleak) on a function whose first instruction is ours.
 *
 * The kernel writes a breakpoint over our first byte, runs the file's first instruction in its
 * place, and when it is taken out it writes the file's first byte there: before what is left of
 * our jump. So that must be the file's by then. A debugger, which traces the process, puts back our
 * byte instead: while there is one, nothing is done.
 */
#ifndef MEMATTACH_TRAP_ON_TOP_H
#define MEMATTACH_TRAP_ON_TOP_H

#include "inject/abi/ring_abi.h"
#include "inject/tracee/target.h"

/*
 * Where it is so, and nobody traces the process, writes p's original bytes behind the breakpoint:
 * there is nothing left of p then. 0, also where that was done before; -EEXIST: left alone; -errno.
 */
int trap_revert(const struct target *target, const struct ring_patch *p, uint64_t live);
/*
 * Looks at each patch of journal (a page each, 1 us), and gives those up that have a trap on them.
 * The number.
 */
unsigned int traps_yield(const struct target *target, struct ring_journal *journal);

#endif
