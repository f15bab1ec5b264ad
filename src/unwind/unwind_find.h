/* SPDX-License-Identifier: MIT */
/*
 * unwind_find.h - the call frame information for a place in a module.
 *
 * Looks it up in the module's .eh_frame_hdr, checks it (cfi_check.h) and
 * hands it to libunwind.
 */
#ifndef MEMATTACH_UNWIND_FIND_H
#define MEMATTACH_UNWIND_FIND_H

#include <libunwind.h>

#include "src/unwind/cfi_check.h"
#include "src/modules/modules.h"

struct unwind_find;
int unwind_find_new(struct unwind_find **ret) _must_check_;
void unwind_find_free(struct unwind_find *find);
/*
 * The checked FDE that covers address (virtual address of the module's file).
 * 0; -ENOENT the module has no search table or none of its entries covers
 * address; -EOPNOTSUPP, -EBADMSG as cfi_check; -ENOMEM.
 */
int unwind_find_fde(struct unwind_find *find, const struct module *module, uint64_t address,
		    struct cfi_fde *ret) _must_check_;
/*
 * Fills ret for ip (an address in the target) by letting libunwind read the FDE
 * that unwind_find_fde returned last, through the accessors of space.
 * 0 or -UNW_E...
 */
int unwind_find_info(const struct unwind_find *find, unw_addr_space_t space, unw_word_t ip,
		     unw_proc_info_t *ret, int need_unwind_info, void *argument);
/*
 * The word of module's file at address (in the target), as much of it as there is, the rest as 0;
 * false: nothing.
 */
bool unwind_find_word(const struct unwind_find *find, const struct module *module,
		      uint64_t address, uint64_t *ret);

#endif
