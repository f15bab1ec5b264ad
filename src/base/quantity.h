/* SPDX-License-Identifier: MIT */
/* quantity.h - sizes, times and percentages, as people write them. The whole text, or -EINVAL. */
#ifndef MEMATTACH_QUANTITY_H
#define MEMATTACH_QUANTITY_H

#include <stdint.h>

#include "src/base/cleanup.h"

/* A whole number with an optional suffix K, M or G (powers of 1024). 0, -EINVAL, -ERANGE. */
int quantity_size(const char *text, uint64_t *ret) _must_check_;
/*
 * Seconds, not negative, at most 1e9: a number, or numbers with units as systemd.time(7) has them,
 * "90", "1.5h", "2min 30s", "7d": ms, s, min, h, d, w. 0, -EINVAL.
 */
int quantity_seconds(const char *text, double *ret) _must_check_;
/* Percent, above 0 and at most 100, with or without the sign. 0, -EINVAL. */
int quantity_percent(const char *text, double *ret) _must_check_;

#endif
