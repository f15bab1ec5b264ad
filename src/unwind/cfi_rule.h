/* SPDX-License-Identifier: MIT */
/*
 * cfi_rule.h - how to leave one frame, according to libdw.
 *
 * The second opinion, for code whose module has no usable .eh_frame_hdr: .eh_frame
 * without a table, or .debug_frame.
 */
#ifndef MEMATTACH_CFI_RULE_H
#define MEMATTACH_CFI_RULE_H

#include "src/modules/modules.h"

/* The registers that matter, in the order of struct unwind_registers. */
enum cfi_register {
	CFI_RIP = 0, CFI_RSP, CFI_RBP, CFI_RBX, CFI_R12, CFI_R13, CFI_R14, CFI_R15,
	CFI_REGISTERS
};
/* DWARF's number of it. */
unsigned int cfi_dwarf_number(enum cfi_register which);

enum cfi_where {
	CFI_SAME = 0,		/* the caller's value is this frame's */
	CFI_UNDEFINED,		/* can't be known; for CFI_RIP: the outermost frame */
	CFI_AT_CFA,		/* in memory at CFA + offset */
	CFI_AT_REGISTER,	/* in memory at a register of this frame + offset */
	CFI_IS_CFA,		/* is CFA + offset itself */
};

struct cfi_place {
	enum cfi_where where;
	enum cfi_register base;	/* CFI_AT_REGISTER */
	int64_t offset;
};

struct cfi_rule {
	enum cfi_register cfa_base;	/* CFA = this + cfa_offset, */
	int64_t cfa_offset;
	bool cfa_deref;			/* or the word at that address, + cfa_add */
	int64_t cfa_add;
	bool signal;
	struct cfi_place place[CFI_REGISTERS];	/* [CFI_RSP] unused: it is the CFA */
};

struct cfi_rules;
int cfi_rules_new(struct cfi_rules **ret) _must_check_;
void cfi_rules_free(struct cfi_rules *rules);
/*
 * The rule for address (virtual address of the module's file). 0, -ENOENT no call
 * frame information, -EOPNOTSUPP some that is not of this shape, -ENOMEM.
 */
int cfi_rules_find(struct cfi_rules *rules, const struct module *module, uint64_t address,
		   struct cfi_rule *ret) _must_check_;

#endif
