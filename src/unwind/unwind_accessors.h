/* SPDX-License-Identifier: MIT */
/*
 * unwind_accessors.h - what libunwind may ask of nobody.
 */
#ifndef MEMATTACH_UNWIND_ACCESSORS_H
#define MEMATTACH_UNWIND_ACCESSORS_H

#include <libunwind.h>

/*
 * An address space for libunwind whose questions go to find_proc_info, access_mem and access_reg
 * of own, and are refused else: no floating point, no dynamic code, nothing is resumed. It caches
 * nothing: libunwind's caches outlive a dlclose, and take a lock for each frame.
 * NULL without memory.
 */
unw_addr_space_t unwind_accessors_space(const unw_accessors_t *own);

#endif
