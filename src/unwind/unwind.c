/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - from a copy of registers and stack to an interned stack.
 *
 * The walk itself is in unwind_walk.c, the memory of earlier walks in
 * unwind_memo.c; this file joins them and keeps the memo honest: it is emptied
 * whenever the table of modules changed, because an address may then mean
 * something else, and walks whose trace can't be trusted never enter it.
 * unwinder_walk() goes past the memo, and past the rows that libunwind has read before, on
 * purpose: tests and the audit compare.
 */
#include "src/unwind/unwind.h"

#include <errno.h>

#include "src/unwind/unwind_locks.h"
#include "src/unwind/unwind_memo.h"
#include "src/unwind/unwind_repeats.h"
#include "src/unwind/unwind_walk.h"

struct unwinder {
	struct modules *modules;
	struct unwind_walker *walker;
	struct unwind_repeats *repeats;
	struct unwind_memo *memo;
	const struct stacks *stacks;	/* whose ids the memo holds */
	uint64_t generation;		/* of modules, for which the memo holds */
	struct unwind_stats stats;
	struct memo_trace trace;
	struct frame frame[STACKS_MAX_FRAMES];
};

int unwinder_new(struct modules *modules, struct unwinder **ret)
{
	struct unwinder *unwinder = calloc(1, sizeof(*unwinder));
	int r;

	if (!unwinder)
		return -ENOMEM;
	unwinder->modules = modules;
	r = unwind_walker_new(modules, &unwinder->walker);
	if (r == 0)
		r = unwind_repeats_new(modules, &unwinder->repeats);
	if (r == 0)
		r = unwind_memo_new(&unwinder->memo);
	if (r < 0) {
		unwinder_free(unwinder);
		return r;
	}
	*ret = unwinder;
	return 0;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	unwind_memo_free(unwinder->memo);
	unwind_repeats_free(unwinder->repeats);
	unwind_walker_free(unwinder->walker);
	free(unwinder);
}

/* What is read beyond a stack's end is none of its frames. */
static void end_at_repeats(const struct unwinder *unwinder, const struct frame *frame,
			   uint32_t *count, enum unwind_end *end)
{
	uint32_t kept = unwind_repeats_keep(unwinder->repeats, frame, *count);

	if (kept < *count)
		*end = UNWIND_TRUNCATED;
	*count = kept;
}

static int walk(struct unwinder *unwinder, const struct unwind_input *input,
		struct memo_trace *trace, struct frame *frame, uint32_t *ret_count,
		enum unwind_end *ret_end)
{
	int r;

	unwinder->stats.walks++;
	unwind_locks_begin();
	r = unwind_walker_run(unwinder->walker, input, trace, frame, ret_count, ret_end);
	unwind_locks_end();
	if (r == 0)
		end_at_repeats(unwinder, frame, ret_count, ret_end);
	return r;
}

int unwinder_walk(struct unwinder *unwinder, const struct unwind_input *input,
		  struct frame *frame, uint32_t *ret_count, enum unwind_end *ret_end)
{
	return walk(unwinder, input, NULL, frame, ret_count, ret_end);
}

static void forget_if_changed(struct unwinder *unwinder)
{
	uint64_t generation = modules_generation(unwinder->modules);

	if (generation == unwinder->generation)
		return;
	if (unwind_memo_bytes(unwinder->memo) > 0)
		unwinder->stats.memo_flushes++;
	unwind_memo_flush(unwinder->memo);
	unwinder->generation = generation;
}

/*
 * What the memo has of one stack holds for another place as all that is compared with the stack
 * pointer moves with it; one that is not on the stack at all does not.
 */
static bool sp_is_on_stack(const struct unwind_input *input)
{
	return input->registers.rsp - input->stack_address <= input->stack_bytes;
}

/* The memo only saves time: what it can't hold is no error. */
static void remember(struct unwinder *unwinder, const struct unwind_input *input, uint32_t stack)
{
	int r;

	if (!sp_is_on_stack(input))
		return;
	if (unwinder->trace.unfit) {
		unwinder->stats.memo_unfit++;
		return;
	}
	r = unwind_memo_add(unwinder->memo, input, &unwinder->trace, stack);
	if (r == -EILSEQ)
		unwinder->stats.memo_conflicts++;
	else if (r < 0)
		unwinder->stats.memo_unfit++;
	else
		unwinder->stats.memo_flushes += (uint64_t)r;
}

static int walk_and_intern(struct unwinder *unwinder, struct stacks *stacks,
			   const struct unwind_input *input, uint32_t *ret_stack)
{
	enum unwind_end end;
	uint32_t count;
	int r;

	r = walk(unwinder, input, &unwinder->trace, unwinder->frame, &count, &end);
	if (r < 0)
		return r;
	return stacks_intern(stacks, unwinder->frame, count,
			     end == UNWIND_COMPLETE ? 0 : STACK_TRUNCATED, ret_stack);
}

int unwinder_stack(struct unwinder *unwinder, struct stacks *stacks,
		   const struct unwind_input *input, uint32_t *ret_stack)
{
	uint32_t stack;
	int r;

	if ((unwinder->stacks && unwinder->stacks != stacks) ||
	    (!input->stack && input->stack_bytes > 0))
		return -EINVAL;
	unwinder->stacks = stacks;
	forget_if_changed(unwinder);
	stack = sp_is_on_stack(input) ? unwind_memo_find(unwinder->memo, input) : 0;
	if (stack != 0) {
		unwinder->stats.memo_hits++;
		*ret_stack = stack;
		return 0;
	}
	r = walk_and_intern(unwinder, stacks, input, &stack);
	if (r < 0)
		return r;
	remember(unwinder, input, stack);
	*ret_stack = stack;
	return 0;
}

void unwinder_set_memory(struct unwinder *unwinder, size_t bytes)
{
	unwind_memo_set_most(unwinder->memo, bytes);
}

void unwinder_forget(struct unwinder *unwinder)
{
	if (unwind_memo_bytes(unwinder->memo) > 0)
		unwinder->stats.memo_flushes++;
	unwind_memo_flush(unwinder->memo);
}

void unwinder_stats(const struct unwinder *unwinder, struct unwind_stats *ret)
{
	struct unwind_states_stats rows;

	*ret = unwinder->stats;
	ret->memo_bytes = unwind_memo_bytes(unwinder->memo);
	unwind_walker_stats(unwinder->walker, &rows);
	ret->rows_read = rows.read;
	ret->rows_kept = rows.kept;
	ret->row_bytes = rows.bytes;
}
