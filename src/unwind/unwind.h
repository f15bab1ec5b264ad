/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - from a copy of registers and stack to a list of frames.
 *
 * libunwind's remote interface with our own accessors: the copy first, then the
 * modules' ELF files, never ptrace; and our own find_proc_info.
 */
#ifndef MEMATTACH_UNWIND_H
#define MEMATTACH_UNWIND_H

#include "src/modules/modules.h"
#include "src/modules/stacks.h"

/* Registers that survive a call, plus where we are. Others are taken as unknown. */
struct unwind_registers {
	uint64_t rip, rsp, rbp, rbx, r12, r13, r14, r15;
};
struct unwind_input {
	struct unwind_registers registers;
	const uint8_t *stack;		/* copy of [stack_address, stack_address + stack_bytes) */
	uint64_t stack_address;
	size_t stack_bytes;
	bool first_is_return;		/* registers.rip is a return address */
};
enum unwind_end {
	UNWIND_COMPLETE = 0,	/* reached the outermost frame (undefined return address or 0) */
	/* The copy ended, no call frame information, too deep, or one frame over and over. */
	UNWIND_TRUNCATED,
};
struct unwind_stats {
	uint64_t walks;		/* whole walks made */
	uint64_t memo_hits;	/* stacks that needed none */
	uint64_t memo_unfit;	/* walks that could not be remembered */
	uint64_t memo_conflicts; /* same reads, another walk: a bug if it is not 0 */
	uint64_t memo_flushes;
	size_t memo_bytes;
	uint64_t rows_read;	/* of call frame information, by libunwind */
	uint64_t rows_kept;	/* that were known from an earlier walk */
	size_t row_bytes;
};

struct unwinder;
/* modules is borrowed and must outlive the unwinder. 0 or -ENOMEM. */
int unwinder_new(struct modules *modules, struct unwinder **ret) _must_check_;
void unwinder_free(struct unwinder *unwinder);
/*
 * Walks from input. frame has room for STACKS_MAX_FRAMES. The first frame is
 * registers.rip itself, also when no module holds it. 0, -EINVAL (a NULL stack
 * with bytes), -ENOMEM.
 */
int unwinder_walk(struct unwinder *unwinder, const struct unwind_input *input,
		  struct frame *frame, uint32_t *ret_count, enum unwind_end *ret_end) _must_check_;
/*
 * The same, interned, through the memo of earlier walks (unwind_memo.c). An
 * unwinder serves one struct stacks for its life: -EINVAL for a second one.
 */
int unwinder_stack(struct unwinder *unwinder, struct stacks *stacks,
		   const struct unwind_input *input, uint32_t *ret_stack) _must_check_;
/* The memo takes at most so many bytes. */
void unwinder_set_memory(struct unwinder *unwinder, size_t bytes);
/* Stacks were dropped: the memo forgets all. */
void unwinder_forget(struct unwinder *unwinder);
void unwinder_stats(const struct unwinder *unwinder, struct unwind_stats *ret);

#endif
