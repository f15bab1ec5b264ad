/* SPDX-License-Identifier: MIT */
/*
 * entry_decode.h - what the instructions at a function's entry allow.
 *
 * Works on copies of the target's bytes and touches nothing else. x86-64, by
 * Zydis. Addresses are those of the target.
 */
#ifndef MEMATTACH_ENTRY_DECODE_H
#define MEMATTACH_ENTRY_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/attach/hook_plan.h"
#include "src/base/cleanup.h"

#define ENTRY_MAX_CODE_BYTES	65536u	/* of one function; more is not looked at */
#define ENTRY_MAX_FILLERS	64u
#define ENTRY_JUMP_BYTES	5u	/* jmp rel32 */
#define ENTRY_SHORT_JUMP_BYTES	2u	/* jmp rel8 */

/* A copy of the code at [low, high). Borrowed bytes. */
struct entry_code {
	uint64_t low, high;
	const uint8_t *bytes;
};

struct entry_span {
	uint64_t low, high;
};

/* Instructions made fit to run elsewhere. */
struct entry_relocation {
	uint8_t covered_bytes;		/* of the original */
	uint8_t first_bytes;		/* length of the first instruction */
	uint8_t instructions;
	uint8_t relocated_bytes;
	uint8_t fixup_count;
	uint8_t relocated[HOOK_RELOCATED_BYTES];
	struct hook_fixup fixup[HOOK_MAX_FIXUPS];
};

/* A linear decoding of one whole function. */
struct entry_scan {
	bool complete;		/* every byte was part of an instruction that decodes */
	bool indirect;		/* jumps through a register or a table: not all targets are known */
	size_t jump_count;
	uint64_t *jump;		/* sorted targets of direct jumps that stay inside */
	size_t filler_count;
	struct entry_span filler[ENTRY_MAX_FILLERS];	/* dead padding, see entry_scan_code */
};

/*
 * Relocates the instructions from entry on until at_least bytes are covered.
 * A branch may only be the last. 0, or -ENOTSUP with *ret_reason (a constant).
 */
int entry_relocate(const struct entry_code *code, uint64_t entry, unsigned int at_least,
		   struct entry_relocation *ret, const char **ret_reason);

/* True if the function is but a `ret` (also `repz ret`) followed by filler up to 5 bytes. */
bool entry_is_lone_ret(const struct entry_code *code, uint64_t entry, uint8_t *ret_bytes);

/*
 * Decodes all of code. A dead padding is a run of nops and int3 behind a jmp,
 * ret or ud2 that no direct jump leads to and that ends at an 8-byte boundary
 * or with the function; none are reported when the scan is incomplete or sees
 * an indirect jump. Free with entry_scan_done. 0 or -ENOMEM.
 */
int entry_scan_code(const struct entry_code *code, struct entry_scan *ret) _must_check_;
void entry_scan_done(struct entry_scan *scan);
/* True if a direct jump leads into [low, high). */
bool entry_scan_jumps_into(const struct entry_scan *scan, uint64_t low, uint64_t high);

/* How many of the first bytes are whole nop or int3 instructions. */
size_t entry_filler_bytes(const uint8_t *bytes, size_t count);

/*
 * Does the function at entry only hand its call on? True with the address it
 * jumps to, when the first instruction is a direct jump; with keeps_first_argument
 * also after tests and moves that leave the first argument and memory alone.
 */
bool entry_forwards(const struct entry_code *code, uint64_t entry, bool keeps_first_argument,
		    uint64_t *ret_target);

/* True with where it leads if the instruction at code->low is a direct jmp. */
bool entry_starts_with_jump(const struct entry_code *code, uint64_t *ret_target);

/* The slot that a PLT stub at code->low jumps through; false if it is none. */
bool entry_plt_slot(const struct entry_code *code, uint64_t *ret_slot);

/* The last constant put into rax before the first ret: an address (`lea`) or a number (`mov`). */
bool entry_constant(const struct entry_code *code, uint64_t entry, bool *ret_is_address,
		    uint64_t *ret_value);

#endif
