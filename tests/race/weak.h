/* SPDX-License-Identifier: MIT */
/*
 * weak.h - included in front of a real source whose stores another process reads without a lock:
 * they are noted, in the program's order, and made all the same.
 */
#ifndef MEMATTACH_RACE_WEAK_H
#define MEMATTACH_RACE_WEAK_H

#include <stdint.h>

void weak_store(const volatile void *word, uint64_t value, int order);
void weak_fence(int order);

#define __atomic_store_n(p, v, order) \
	(weak_store((p), (uint64_t)(v), (order)), __atomic_store_n((p), (v), (order)))
#define __atomic_add_fetch(p, v, order) \
	(weak_store((p), (uint64_t)(*(p) + (v)), (order)), __atomic_add_fetch((p), (v), (order)))
#define __atomic_thread_fence(order) (weak_fence(order), __atomic_thread_fence(order))

#endif
