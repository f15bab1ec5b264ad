/* SPDX-License-Identifier: MIT */
/*
 * hook_plan.h - what the analyst proposes to patch, and where.
 *
 * Plain data that crosses the socket between analyst and keeper. The analyst
 * fills it from hostile input (link map, ELF, instructions of the target); the
 * keeper compares every byte and range with the live target before it applies
 * anything (hooks_check) and never decodes an instruction itself.
 */
#ifndef MEMATTACH_HOOK_PLAN_H
#define MEMATTACH_HOOK_PLAN_H

#include <string.h>

#include "inject/abi/counts_abi.h"

#define HOOK_MAX_FAMILIES	16
#define HOOK_NAME_BYTES		48
#define HOOK_PATH_BYTES		256
#define HOOK_EXPECT_BYTES	16
#define HOOK_RELOCATED_BYTES	32
#define HOOK_MAX_FIXUPS		2
#define HOOK_MAX_CLEARANCE	(128ull << 20)	/* both sides are within reach of the code */
#define HOOK_MAX_SKIPPED	96
#define HOOK_SKIPPED_BYTES	96
#define HOOK_HARMLESS		0xff	/* of skipped_family */

enum hook_patch_kind {
	HOOK_PATCH_NONE = 0,
	HOOK_PATCH_GAP,		/* short jump over the first instruction, to a gap */
	HOOK_PATCH_DIRECT,	/* 5-byte jmp over a first instruction of 5 bytes or more */
	HOOK_PATCH_STOPPED,	/* 5-byte jmp over several instructions: all threads stopped */
};

enum hook_family_kind {
	HOOK_FAMILY_MALLOC = 0,
	HOOK_FAMILY_MMAP,
	HOOK_FAMILY_LOADER,	/* takes and gives no memory; "confining", too */
	HOOK_FAMILY_CUSTOM,	/* functions that the user has named */
};

/* An allocator (or the system's mapping calls, or the dynamic loader) in one module. */
struct hook_family {
	char name[16];			/* "glibc", ... "other", "mmap", "loader", "custom", ... */
	char version[32];		/* "" when unknown */
	char module[HOOK_PATH_BYTES];	/* path of the module as the link map names it */
	uint32_t kind;			/* enum hook_family_kind */
	uint32_t uses_tls;		/* 1: in each call, see RING_ISLAND_TLS */
	uint32_t keeps_registers;	/* 1: its callers may count on them; KEEPING_HOOK */
	uint32_t reserved;
	struct counts_usable usable;	/* of its blocks; the keeper checks it */
};

/* A 32-bit rip-relative displacement inside relocated[] that must be recomputed. */
struct hook_fixup {
	uint8_t at;		/* offset of the displacement in relocated[] */
	uint8_t end;		/* offset of the end of its instruction in relocated[] */
	uint8_t reserved[6];
	uint64_t target;	/* absolute address it must reach */
};

/* One entry point to patch. */
struct hook_entry {
	char name[HOOK_NAME_BYTES];	/* "malloc", demangled where it is C++ */
	uint64_t address;		/* of the first instruction */
	uint64_t low, high;		/* the function's own code (nested-call test) */
	uint16_t shape;			/* enum ring_shape */
	uint16_t family;		/* index in hook_plan.family */
	uint8_t patch;			/* enum hook_patch_kind */
	uint8_t covered_bytes;		/* of original instructions that relocated[] stands for */
	uint8_t relocated_bytes;	/* length of relocated[] (no jump back included) */
	uint8_t fixup_count;
	uint8_t expect[HOOK_EXPECT_BYTES];	/* bytes at address, as the analyst saw them */
	uint8_t relocated[HOOK_RELOCATED_BYTES];
	struct hook_fixup fixup[HOOK_MAX_FIXUPS];
	uint64_t gap;			/* HOOK_PATCH_GAP: of 5 filler bytes; else 0 */
	uint8_t gap_expect[8];		/* the first 5 are what lies there */
	uint16_t island;		/* index in hook_plan.island */
	uint16_t slot;			/* which struct ring_island_entry of that island */
	uint32_t jumps_on;		/* 1: to another entry, see RING_ISLAND_SPAN */
	uint32_t arguments;		/* RING_SHAPE_CUSTOM_...: ring_arguments_pack() */
	uint32_t hands_on;		/* 1: by any way, see RING_ISLAND_OUTER */
};

/* A page or more of r-x code to place at address (a hole within 1 GiB of what it serves). */
struct hook_island {
	uint64_t address;	/* page-aligned, proposed; free at the time of the proposal */
	uint32_t pages;
	uint32_t reserved;
};

/*
 * The whole proposal. Entries are in the order to apply them: what gives memory
 * back first, so that no block is seen to live for ever; revert in reverse.
 */
struct hook_plan {
	uint32_t entry_count, family_count, island_count, skipped_count;
	uint64_t clearance;	/* bytes to be kept free on both sides of what is mapped, if any */
	struct hook_family family[HOOK_MAX_FAMILIES];
	struct hook_island island[RING_MAX_ISLANDS];
	struct hook_entry entry[RING_MAX_ENTRIES];
	/* What was found and can't or need not be hooked: "realloc (libfoo.so): no gap". */
	char skipped[HOOK_MAX_SKIPPED][HOOK_SKIPPED_BYTES];
	/* Whose each is, an index in family; HOOK_HARMLESS: it needs no hook. */
	uint8_t skipped_family[HOOK_MAX_SKIPPED];

	/* What the keeper needs for remote calls; it re-checks the bytes. */
	uint64_t gadget_syscall_ret;	/* `syscall; ret` in r-x file-backed text */
	uint64_t gadget_restorer;	/* `mov $15,%rax; syscall` (__restore_rt) */
	uint64_t dlopen, dlclose;	/* 0: the target has none; only the map loader works */
	uint64_t link_map;	/* of any module of the program's own namespace, 0: none is known */
	uint64_t main_stack_end;	/* __libc_stack_end or 0 */
	uint32_t dlopen_mode;		/* second argument of dlopen; 0 when there is none */
	uint32_t left_out;		/* entries and families beyond the limits above */

	/*
	 * Code that is no entry but calls entries of the malloc family on behalf of one:
	 * such calls are nested too. Sorted, disjoint; there are at most
	 * RING_MAX_ENTRIES - entry_count.
	 */
	uint32_t helper_count;
	/*
	 * Of skipped: entries that need no hook, since they end in one that has one, or give
	 * and take no block. When there are no others, every block is seen to come and go.
	 */
	uint32_t harmless_count;
	struct ring_range helper[RING_MAX_ENTRIES];
};

/* An allocator, but none of those that we know: a program's own, a wrapper's. */
static inline bool hook_plan_is_unknown(const struct hook_family *family)
{
	return family->kind == HOOK_FAMILY_MALLOC && strcmp(family->name, "other") == 0;
}

/* Are functions of the program's own among the entries (--alloc-fn and the like)? */
static inline bool hook_plan_has_custom(const struct hook_plan *plan)
{
	for (uint32_t i = 0; i < plan->entry_count; i++)
		if (ring_shape_is_custom(plan->entry[i].shape))
			return true;
	return false;
}

#endif
