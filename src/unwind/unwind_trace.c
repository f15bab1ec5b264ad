/* SPDX-License-Identifier: MIT */
/*
 * unwind_trace.c - writes down what a walk reads, fit for the memo.
 *
 * Addresses are computed from what a step read, except from the return address,
 * which libunwind and our own steps read last. Only values that moved with the
 * stack may take part, else the trace is pinned to this stack's address. The pin
 * comes before the next read, never after it: an address that follows an
 * absolute value lies at another distance from rsp in every stack, so the next
 * question would differ between walks that have read the same.
 * Whether to pin must follow from recorded answers alone, for the same reason
 * (rip needs none: it is part of every trace as it is).
 */
#include "src/unwind/unwind_trace.h"

void unwind_trace_begin(struct memo_trace *trace)
{
	if (!trace)
		return;
	trace->count = trace->step = 0;
	trace->pinned = trace->unfit = false;
}

void unwind_trace_step(struct memo_trace *trace)
{
	if (trace)
		trace->step = trace->count;
}

void unwind_trace_add(struct memo_trace *trace, const struct memo_read *read)
{
	if (!trace || trace->unfit)
		return;
	if (trace->count == MEMO_MAX_READS) {
		trace->unfit = true;
		return;
	}
	trace->read[trace->count++] = *read;
}

void unwind_trace_pin(struct memo_trace *trace, const struct unwind_input *input)
{
	struct memo_read pin = {
		.kind = MEMO_PIN, .tag = MEMO_ABSOLUTE, .value = input->registers.rsp,
	};

	if (!trace || trace->pinned)
		return;
	unwind_trace_add(trace, &pin);
	trace->pinned = true;
}

/* Pins if one of this step's reads before last gave a value that does not move with the stack. */
static void pin_absolute(struct memo_trace *trace, const struct unwind_input *input, uint32_t last)
{
	for (uint32_t i = trace->step; i < last; i++) {
		if (trace->read[i].tag == MEMO_ABSOLUTE) {
			unwind_trace_pin(trace, input);
			return;
		}
	}
}

/* Another read follows, so none of those before was the return address. */
void unwind_trace_before_read(struct memo_trace *trace, const struct unwind_input *input)
{
	if (trace && !trace->pinned)
		pin_absolute(trace, input, trace->count);
}

/*
 * A return address that points into the stack is recorded as relative, but code is
 * looked up by its true address. A step that went on without reading where to is
 * not one of ours (cfi_fde.affine, step_rule): such a trace proves nothing.
 */
void unwind_trace_check(struct memo_trace *trace, const struct unwind_input *input,
			bool last_is_no_base, bool to_return_address)
{
	uint32_t last;

	if (!trace || trace->unfit)
		return;
	if (to_return_address && trace->count == trace->step) {
		trace->unfit = true;
		return;
	}
	last = trace->count;
	if (last_is_no_base && last > trace->step)
		last--;
	pin_absolute(trace, input, last);
	if (to_return_address && trace->read[trace->count - 1].tag == MEMO_RELATIVE)
		unwind_trace_pin(trace, input);
}
