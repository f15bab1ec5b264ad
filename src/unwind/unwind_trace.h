/* SPDX-License-Identifier: MIT */
/*
 * unwind_trace.h - writes down what a walk reads, fit for the memo.
 *
 * Every function accepts a NULL trace and then does nothing.
 */
#ifndef MEMATTACH_UNWIND_TRACE_H
#define MEMATTACH_UNWIND_TRACE_H

#include "src/unwind/unwind_memo.h"

void unwind_trace_begin(struct memo_trace *trace);
/* A new step begins: what it reads decides together where the next frame is. */
void unwind_trace_step(struct memo_trace *trace);
/* Called before each read of a step is made. */
void unwind_trace_before_read(struct memo_trace *trace, const struct unwind_input *input);
void unwind_trace_add(struct memo_trace *trace, const struct memo_read *read);
/* From here on the trace holds only for a stack at this very address. */
void unwind_trace_pin(struct memo_trace *trace, const struct unwind_input *input);
/*
 * The step has ended. last_is_no_base: no address was computed from its last read.
 * to_return_address: that read was where it went on to.
 */
void unwind_trace_check(struct memo_trace *trace, const struct unwind_input *input,
			bool last_is_no_base, bool to_return_address);

#endif
