/* SPDX-License-Identifier: MIT */
/*
 * cfi_table.h - a module's call frame information, compiled to rows of rules.
 *
 * What the shim follows (inject/abi/rules_abi.h). A walk by these rules gives exactly
 * the frames of unwinder_walk(), or comes to a row of RULES_COPY.
 */
#ifndef MEMATTACH_CFI_TABLE_H
#define MEMATTACH_CFI_TABLE_H

#include "inject/abi/rules_abi.h"
#include "src/modules/modules.h"
#include "src/unwind/rule_set.h"

/* More than any program has; a table that would be larger is not made. */
#define CFI_TABLE_MAX_ROWS	(1u << 23)

struct cfi_table {
	uint64_t low, high;	/* virtual addresses of the file: its executable segments */
	struct rules_row *row;	/* as in struct rules_module; neighbours differ */
	uint32_t row_count;
	uint32_t *index;	/* a word for each 1 << RULES_PAGE_LOG2 bytes, and one more */
	uint32_t index_count;
};

/*
 * Compiles all of the module's call frame information. The rules go to set, also
 * those of a table that is then not made. Code that certainly has none is
 * RULES_CUT: the walk ends there, complete if rbp is 0, else truncated. What is not
 * certain is RULES_COPY. 0, to be ended with cfi_table_done(); -ENOENT no executable
 * code, or no bytes of the file; -E2BIG code of 4 GiB and more, more than
 * CFI_TABLE_MAX_ROWS, or far more work than that is worth; -ENOMEM.
 */
int cfi_table_build(const struct module *module, struct rule_set *set,
		    struct cfi_table *ret) _must_check_;
/* Also after an error, and twice. */
void cfi_table_done(struct cfi_table *table);
/* The rule for address (virtual address of the file); RULES_COPY's outside of [low, high). */
uint32_t cfi_table_find(const struct cfi_table *table, uint64_t address);

#endif
