/* SPDX-License-Identifier: MIT */
/*
 * signal_return.h - the code through which a signal handler returns, known by its bytes.
 *
 * For trampolines without call frame information (musl).
 */
#ifndef MEMATTACH_SIGNAL_RETURN_H
#define MEMATTACH_SIGNAL_RETURN_H

#include "src/modules/modules.h"

/* Whether one starts at address (virtual address of the module's file). */
bool signal_return_at(const struct module *module, uint64_t address);
/* Whether one starts in [from, to), or the file has not all bytes that would tell. */
bool signal_return_within(const struct module *module, uint64_t from, uint64_t to);

#endif
