/* SPDX-License-Identifier: MIT */
/*
 * unwind_walk.h - one walk over one stack copy.
 *
 * The engine behind unwind.h: libunwind with our accessors for most frames, our
 * own steps where libunwind has nothing to go by.
 */
#ifndef MEMATTACH_UNWIND_WALK_H
#define MEMATTACH_UNWIND_WALK_H

#include "src/modules/modules.h"
#include "src/unwind/unwind.h"
#include "src/unwind/unwind_memo.h"
#include "src/unwind/unwind_states.h"

struct unwind_walker;
/* modules is borrowed. 0 or -ENOMEM. */
int unwind_walker_new(const struct modules *modules, struct unwind_walker **ret) _must_check_;
void unwind_walker_free(struct unwind_walker *walker);
/*
 * As unwinder_walk. trace (NULL: not wanted) gets everything that the walk read,
 * apart from rip, rsp's alignment and first_is_return, which every trace depends on; and libunwind
 * then need not read again what it has read before (unwind_states.h).
 */
int unwind_walker_run(struct unwind_walker *walker, const struct unwind_input *input,
		      struct memo_trace *trace, struct frame *frame, uint32_t *ret_count,
		      enum unwind_end *ret_end) _must_check_;
/* Whether the caller of JIT code can be at this return address: what a guess is held against. */
bool unwind_may_return_to(const struct modules *modules, uint64_t address);

void unwind_walker_stats(const struct unwind_walker *walker, struct unwind_states_stats *ret);

#endif
