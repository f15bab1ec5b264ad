/* SPDX-License-Identifier: MIT */
/* atomic.h - memory order by name. Partners are named where these are used. */
#ifndef MEMATTACH_SHIM_ATOMIC_H
#define MEMATTACH_SHIM_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* A word that others write; no order. */
#define shim_load(p)		__atomic_load_n((p), __ATOMIC_RELAXED)
#define shim_store(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELAXED)
/* What was written before the partner's release is seen after this. */
#define shim_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define shim_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
/* Loads before it are not moved after it (a sequence check follows). */
#define shim_fence_acquire()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
/* Adds; a full barrier on x86. Returns the new value. */
#define shim_add(p, v)		__atomic_add_fetch((p), (v), __ATOMIC_SEQ_CST)

/* *p == expected ? (*p = desired, true) : false */
static inline bool shim_exchange_if(uint64_t *p, uint64_t expected, uint64_t desired)
{
	return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

#endif
