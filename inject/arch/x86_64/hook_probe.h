/* SPDX-License-Identifier: MIT */
/* hook_probe.h - our own malloc and free behind hooks, for hook_cost.c: see hook_probe.S. */
#ifndef MEMATTACH_HOOK_PROBE_H
#define MEMATTACH_HOOK_PROBE_H

#include <stdint.h>

/* Where hook_probe_malloc() and hook_probe_free() jump to. */
extern uint64_t hook_probe_to[2] __attribute__((visibility("hidden")));

/* The entries, and our own malloc and free. Not to be called from C. */
void hook_probe_malloc(void) __attribute__((visibility("hidden")));
void hook_probe_free(void) __attribute__((visibility("hidden")));
void hook_probe_plain_malloc(void) __attribute__((visibility("hidden")));
void hook_probe_plain_free(void) __attribute__((visibility("hidden")));

/* Allocates 64 bytes and gives them back, count times. pre: count > 0. */
void hook_probe_pairs(uint64_t count, void (*allocate)(void), void (*give_back)(void))
	__attribute__((visibility("hidden")));

#endif
