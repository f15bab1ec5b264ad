/* SPDX-License-Identifier: MIT */
/*
 * cfi_check.h - is this call frame information fit to be given to libunwind?
 *
 * Walks one FDE and its CIE of .eh_frame, every instruction and expression of
 * them, without evaluating anything.
 */
#ifndef MEMATTACH_CFI_CHECK_H
#define MEMATTACH_CFI_CHECK_H

#include "src/modules/modules.h"

struct cfi_fde {
	uint64_t start, end;		/* code it covers; all are virtual addresses of the file */
	uint64_t low, high;		/* the FDE's own bytes */
	uint64_t cie_low, cie_high;	/* its CIE's */
	bool signal;			/* a signal handler's trampoline ('S') */
	/*
	 * Every address that its rules compute is a register or a word of memory plus
	 * a constant: unwinding a stack that was moved moves all of them alike. And the
	 * return address is always a word in memory (or undefined): so it is what a
	 * step reads last, and nothing else is.
	 */
	bool affine;
};

/*
 * Checks the FDE at address. 0; -EBADMSG broken; -EOPNOTSUPP valid perhaps, but
 * not something that libunwind 1.6 interprets safely.
 */
int cfi_check(const struct module *module, uint64_t address, struct cfi_fde *ret) _must_check_;

#endif
