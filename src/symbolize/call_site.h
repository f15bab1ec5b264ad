/* SPDX-License-Identifier: MIT */
/* call_site.h - from a return address back to the call instruction. */
#ifndef MEMATTACH_CALL_SITE_H
#define MEMATTACH_CALL_SITE_H

#include "src/modules/modules.h"

/*
 * The address of the call instruction that ends at return_address, found by
 * decoding from function (its entry, or any instruction before the call; both are
 * virtual addresses of the module's file). return_address - 1, which lies within
 * the call, when it can't be told.
 */
uint64_t call_site_find(const struct module *module, uint64_t function, uint64_t return_address);

/* Whether the bytes before address (virtual address of the file) can be a call instruction. */
bool call_site_may_end_at(const struct module *module, uint64_t address);

#endif
