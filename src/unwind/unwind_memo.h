/* SPDX-License-Identifier: MIT */
/*
 * unwind_memo.h - stacks that were walked before, recognised without walking.
 *
 * A walk is a deterministic function of what it reads: a few registers and words
 * of the stack copy. The reads of a walk, in order, with what they gave, are its
 * trace; the memo is a trie of traces.
 */
#ifndef MEMATTACH_UNWIND_MEMO_H
#define MEMATTACH_UNWIND_MEMO_H

#include "src/unwind/cfi_rule.h"
#include "src/unwind/unwind.h"

#define MEMO_MAX_READS	4096u
#define MEMO_MAX_BYTES	(64u << 20)
/* Values less than this above rsp are kept relative to rsp, all others as they are. */
#define MEMO_WINDOW	(1ull << 24)

enum memo_kind {
	MEMO_NONE = 0,
	MEMO_REGISTER,	/* where: enum cfi_register; of the input */
	MEMO_STACK,	/* where: address - rsp; the word there, or that the copy has none */
	MEMO_PIN,	/* rsp itself: what follows holds only for a stack at this very place */
	MEMO_LEAF,	/* where: the stack's id */
};
enum memo_tag { MEMO_ABSOLUTE = 0, MEMO_RELATIVE, MEMO_FAILED };

struct memo_read {
	enum memo_kind kind;
	enum memo_tag tag;
	int64_t where;
	uint64_t value;
};
struct memo_trace {
	struct memo_read read[MEMO_MAX_READS];
	uint32_t count;
	uint32_t step;		/* index of the current step's first read */
	bool pinned;
	bool unfit;		/* must not be remembered */
};

struct unwind_memo;
int unwind_memo_new(struct unwind_memo **ret) _must_check_;
void unwind_memo_free(struct unwind_memo *memo);
/* Forgets everything. */
void unwind_memo_flush(struct unwind_memo *memo);
/* At most so many bytes instead of MEMO_MAX_BYTES, if that is fewer. */
void unwind_memo_set_most(struct unwind_memo *memo, size_t bytes);
size_t unwind_memo_bytes(const struct unwind_memo *memo);
/* The stack that a walk from input would give, or 0: not known. */
uint32_t unwind_memo_find(const struct unwind_memo *memo, const struct unwind_input *input);
/*
 * Remembers that the walk from input read trace and gave stack. 1 after everything
 * had to be forgotten first, 0, -ENOMEM (nothing remembered), -EILSEQ (a walk with
 * the same reads went on differently: a bug, not remembered).
 */
int unwind_memo_add(struct unwind_memo *memo, const struct unwind_input *input,
		    const struct memo_trace *trace, uint32_t stack);

_Static_assert(sizeof(struct unwind_registers) == CFI_REGISTERS * sizeof(uint64_t) &&
	       offsetof(struct unwind_registers, r15) == CFI_R15 * sizeof(uint64_t) &&
	       offsetof(struct unwind_registers, rbp) == CFI_RBP * sizeof(uint64_t) &&
	       offsetof(struct unwind_registers, rbx) == CFI_RBX * sizeof(uint64_t),
	       "struct unwind_registers is in the order of enum cfi_register");

/* One register of the input; rip and rsp too. */
static inline uint64_t unwind_input_register(const struct unwind_input *input, enum cfi_register r)
{
	return r < CFI_REGISTERS ? (&input->registers.rip)[r] : 0;
}

/* The word at address, if all of it lies in the copy. */
static inline bool unwind_input_word(const struct unwind_input *input, uint64_t address,
				     uint64_t *ret)
{
	uint64_t at = address - input->stack_address;

	if (input->stack_bytes < sizeof(*ret) || at > input->stack_bytes - sizeof(*ret))
		return false;
	__builtin_memcpy(ret, input->stack + at, sizeof(*ret));
	return true;
}

/* Values of registers and of the stack, made independent of where the stack lies. */
static inline enum memo_tag memo_normalise(const struct unwind_input *input, uint64_t *value)
{
	uint64_t relative = *value - input->registers.rsp;

	if (relative >= MEMO_WINDOW)
		return MEMO_ABSOLUTE;
	*value = relative;
	return MEMO_RELATIVE;
}

#endif
