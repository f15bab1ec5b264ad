/* SPDX-License-Identifier: MIT */
/*
 * cfi_rows.h - an FDE's instructions, run through: which rule holds from where to where.
 *
 * What cfi_check() refuses is refused here, too, and a few things more. Whatever
 * the bytes are, it takes time in proportion to their number and no memory.
 */
#ifndef MEMATTACH_CFI_ROWS_H
#define MEMATTACH_CFI_ROWS_H

#include "src/unwind/cfi_entry.h"
#include "src/unwind/cfi_rule.h"

/* Nested DW_CFA_remember_state. */
#define CFI_ROWS_MAX_STATES	64u

/*
 * cfa_base CFI_REGISTERS, and a place at such a base, stand for what has none of the shapes of
 * struct cfi_rule. [start, end) is not empty.
 */
struct cfi_row {
	uint64_t start, end;
	const struct cfi_rule *rule;
};
struct cfi_fde_program {
	const struct cfi_cie *cie;
	const struct cfi_rule *initial;	/* from cfi_rows_initial */
	struct cfi_bytes bytes;		/* its instructions */
	uint64_t start, end;		/* what it covers */
};

/* The rule after the CIE's instructions. 0 or -EOPNOTSUPP. */
int cfi_rows_initial(const struct cfi_cie *cie, struct cfi_rule *ret) _must_check_;
/*
 * Calls each() for every row, in order, until it returns nonzero, which is returned.
 * 0, or -EOPNOTSUPP for instructions that are broken or not known: then the rows
 * that there were are worth nothing.
 */
int cfi_rows_each(const struct cfi_fde_program *program,
		  int (*each)(void *context, const struct cfi_row *row),
		  void *context) _must_check_;

#endif
