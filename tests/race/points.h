/* SPDX-License-Identifier: MIT */
/*
 * points.h - included in front of the real sources of ring and reader: every atomic access is a
 * point at which another task may go on (schedule.h), and time is what the test says.
 *
 * A macro is not expanded within its own expansion, so that these still are the builtins.
 */
#ifndef MEMATTACH_RACE_POINTS_H
#define MEMATTACH_RACE_POINTS_H

#include <stdint.h>

/* Before an access to a shared word. writes: others may be waiting for what it changes. */
void race_point(const volatile void *word, int writes);

#define __atomic_load_n(p, order)       (race_point((p), 0), __atomic_load_n((p), (order)))
#define __atomic_store_n(p, v, order)   (race_point((p), 1), __atomic_store_n((p), (v), (order)))
#define __atomic_add_fetch(p, v, order) (race_point((p), 1), __atomic_add_fetch((p), (v), (order)))
#define __atomic_exchange_n(p, v, order) \
	(race_point((p), 1), __atomic_exchange_n((p), (v), (order)))
#define __atomic_compare_exchange_n(p, ...) \
	(race_point((p), 1), __atomic_compare_exchange_n((p), __VA_ARGS__))

struct ring_control;
uint64_t race_clock(const struct ring_control *control, uint32_t *ret_cpu);

/* The shim's clock, and the CPU that its writer is on: the test's. */
#define arch_clock machine_clock
#include "inject/arch/x86_64/shim_arch.h"
#undef arch_clock
#define arch_clock race_clock

#endif
