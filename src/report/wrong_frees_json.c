/* SPDX-License-Identifier: MIT */
/*
 * wrong_frees_json.c - wrong frees in the document. An empty list means that none was seen
 * while everything was; totals.double_free_count is null when that is not so, and what
 * was found before is listed all the same. Addresses are text, as in leaks_json.c.
 */
#include "src/report/wrong_frees_json.h"

#include "src/report/frame_json.h"

static void put_address(struct emit *emit, const char *key, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	emit_text(emit, key, text);
}

static void put_block(struct emit *emit, const struct snapshot_wrong_free *wrong)
{
	if (!wrong->block_address) {
		emit_null(emit, "block");
		return;
	}
	emit_begin(emit, "block", '{');
	put_address(emit, "address", wrong->block_address);
	emit_uint_if(emit, "bytes", wrong->block_size, wrong->allocated.stack);
	if (!wrong->allocated.stack && wrong->block_size)
		emit_uint(emit, "usable_bytes", wrong->block_size);
	emit_end(emit, '}');
}

/* null where it was not seen. */
static void put_call(struct emit *emit, const struct report_input *input, const char *key,
		     const struct snapshot_call *call)
{
	struct stack stack = stacks_get(input->stacks, call->stack);

	if (!call->stack) {
		emit_null(emit, key);
		return;
	}
	emit_begin(emit, key, '{');
	emit_real(emit, "time", call->time);
	emit_uint_if(emit, "thread", call->thread, call->thread != FREED_NO_THREAD);
	emit_bool(emit, "truncated", stack.flags & STACK_TRUNCATED);
	emit_begin(emit, "frames", '[');
	if (stack.frame_count > call->skip_frames)
		frame_json_put(emit, &input->names, stack.frame + call->skip_frames,
			       stack.frame_count - call->skip_frames);
	emit_end(emit, ']');
	emit_end(emit, '}');
}

static void put_wrong_free(struct emit *emit, const struct report_input *input,
			   const struct snapshot_wrong_free *wrong)
{
	bool twice = wrong_free_kind(wrong->reason) == WRONG_FREE_DOUBLE;

	emit_begin(emit, NULL, '{');
	emit_text(emit, "kind", twice ? "double" : "illegal");
	emit_text(emit, "reason", wrong_free_reason_name(wrong->reason));
	emit_text(emit, "call", wrong->call);
	emit_uint(emit, "count", wrong->count);
	put_address(emit, "address", wrong->address);
	put_block(emit, wrong);
	put_call(emit, input, "allocated", &wrong->allocated);
	put_call(emit, input, "freed_first", &wrong->freed_first);
	put_call(emit, input, "freed", &wrong->freed);
	emit_end(emit, '}');
}

void wrong_frees_json_put(struct emit *emit, const struct report_input *input)
{
	const struct snapshot *snapshot = input->snapshot;

	if (!snapshot->exact || !snapshot->wrong_free) {
		emit_null(emit, "wrong_frees");
		return;
	}
	emit_begin(emit, "wrong_frees", '[');
	for (size_t i = 0; i < snapshot->wrong_free_count; i++)
		put_wrong_free(emit, input, &snapshot->wrong_free[i]);
	emit_end(emit, ']');
}
