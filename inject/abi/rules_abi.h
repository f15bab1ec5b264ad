/* SPDX-License-Identifier: MIT */
/*
 * rules_abi.h - rules for leaving frames, as memattach publishes them and the shim follows them.
 *
 * A part of the ring's mapping (control.rules_offset), freestanding like ring_abi.h. memattach
 * writes all of it but the hints; the shim only reads. docs/RECOGNITION.md explains the protocol.
 *
 *	struct rules_head
 *	struct rules_rule [RULES_MAX_RULES]	distinct rules, append-only within an epoch
 *	directory [2]: struct rules_module [RULES_MAX_MODULES], sorted and disjoint
 *	hints: RULES_HINT_LINES lines of rules that were found, by return address; the shim's
 *	arena: rows and page indexes of modules, append-only within an epoch
 *
 * Whatever a reader of this finds here while it is being rewritten, it stays inside: indexes
 * are masked or compared with constants, never with what the memory itself says.
 */
#ifndef MEMATTACH_RULES_ABI_H
#define MEMATTACH_RULES_ABI_H

#include <stddef.h>
#include <stdint.h>

#define RULES_MAX_RULES		16384u
#define RULES_MAX_MODULES	2048u
#define RULES_PAGE_LOG2		8u	/* a module's index has a word for so many bytes of code */

/* What the shim does at a frame. */
enum rules_kind {
	RULES_COPY = 0,	/* no rule is known: the stack is copied */
	RULES_STEP,	/* go on to the caller's frame */
	RULES_END,	/* the outermost frame: its return address is undefined */
	RULES_CUT,	/* nothing describes this code: the path ends, truncated unless rbp is 0 */
	/*
	 * JIT code: to what rbp points to, as the frame that STEP says, if that is less than
	 * RULES_GUESS_REACH above rsp, else the path is cut. rbx is not known after it.
	 */
	RULES_GUESS,
};
#define RULES_GUESS_REACH	65536u
enum rules_base { RULES_BASE_RSP = 0, RULES_BASE_RBP, RULES_BASE_RBX };
enum rules_flag {
	RULES_DEREF	 = 1u << 0,	/* CFA = the word at base + cfa */
	RULES_SAVES_RBP	 = 1u << 1,	/* the caller's rbp is in memory, else unchanged */
	RULES_SAVES_RBX	 = 1u << 2,
	RULES_RBP_BY_RBP = 1u << 3,	/* ... at this frame's rbp + rbp, not at CFA + rbp */
	RULES_RBX_BY_RBP = 1u << 4,
};

/*
 * How to leave a frame: CFA = base + cfa (or the word there), the return address is the word at
 * CFA - 8, rsp after the return is CFA. cfa, rbp and rbx are bytes, multiples of 8. r12 to r15
 * are no concern of any rule: a frame that needs them is RULES_COPY.
 */
struct rules_rule {
	uint8_t kind, base, flags, reserved;
	int32_t cfa;
	int32_t rbp, rbx;	/* where they are saved, with RULES_SAVES_* */
};

/*
 * From low + start on, until the next row of the module. rows are sorted by start, the first
 * starts at 0.
 */
struct rules_row {
	uint32_t start;
	uint32_t rule;		/* < RULES_MAX_RULES */
};

struct rules_module {
	uint64_t low, high;	/* addresses in the target; its rows count from low */
	uint32_t row_at;	/* first row, in rows from the arena's begin */
	uint32_t row_count;	/* > 0, unless there is rule */
	/*
	 * First word of its index, in words of 4 bytes from the arena's begin. Word i: the last
	 * row (from row_at) with start <= i << RULES_PAGE_LOG2. One more word than pages.
	 */
	uint32_t index_at;
	uint32_t rule;		/* not 0: that of all its code, and it has no rows */
};

struct rules_head {
	/*
	 * 0: nothing is published. Even or odd: which directory holds. A walk is worth something
	 * only if this, and the directory's modules being control.module_generation, were so
	 * before and after it.
	 */
	uint64_t generation;
	uint64_t reserved[7];
	uint64_t modules[2];		/* control.module_generation that each directory is for */
	uint32_t count[2];		/* modules in each */
	uint32_t reserved2[10];
};

#define RULES_RULE_AT		((uint64_t)sizeof(struct rules_head))
#define RULES_DIRECTORY_AT(i)	(RULES_RULE_AT + RULES_MAX_RULES * sizeof(struct rules_rule) + \
				 (i) * RULES_MAX_MODULES * sizeof(struct rules_module))
#define RULES_HINTS_AT		RULES_DIRECTORY_AT(2)
#define RULES_ARENA_AT		(RULES_HINTS_AT + RULES_HINT_LINES * RULES_HINT_WAYS * 8u)

/*
 * A hint is one word, so that threads may write them beside each other:
 *
 *	generation (17 bits) | the rest of the spread return address (35) | its rule (12)
 *
 * The return address (47 bits) is spread by a multiplication that loses nothing; its upper 12 bits
 * are the hint's line. What does not fit, a later generation among it, has no hints.
 */
#define RULES_HINT_LINES_LOG2	12u
#define RULES_HINT_LINES	((uint64_t)1 << RULES_HINT_LINES_LOG2)
#define RULES_HINT_WAYS		8u	/* to a line */
#define RULES_HINT_ADDRESS_BITS	47u
#define RULES_HINT_REST_BITS	(RULES_HINT_ADDRESS_BITS - RULES_HINT_LINES_LOG2)
#define RULES_HINT_RULE_BITS	12u
#define RULES_HINT_GENERATIONS	((uint64_t)1 << (64 - RULES_HINT_REST_BITS - RULES_HINT_RULE_BITS))

#ifdef __cplusplus
#define RULES_ASSERT static_assert
#else
#define RULES_ASSERT _Static_assert
#endif
RULES_ASSERT(sizeof(struct rules_rule) == 16, "four to a cache line");
RULES_ASSERT(sizeof(struct rules_module) == 32, "two to a cache line");
RULES_ASSERT(sizeof(struct rules_head) == 128, "the generation has a line of its own");
RULES_ASSERT(RULES_HINTS_AT % 64 == 0, "a line of hints is a cache line");

#endif
