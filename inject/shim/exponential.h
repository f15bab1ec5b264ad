/* SPDX-License-Identifier: MIT */
/* exponential.h - exponentially distributed numbers without floating point. */
#ifndef MEMATTACH_SHIM_EXPONENTIAL_H
#define MEMATTACH_SHIM_EXPONENTIAL_H

#include <stdint.h>

/*
 * -ln(u) for u = random / 2^64 (0 counts as 1), in units of 2^-58: up to
 * 64 ln 2, 64 bits. Relative error below 1e-9 for results above 1e-8.
 */
uint64_t shim_exponential(uint64_t random);

#endif
