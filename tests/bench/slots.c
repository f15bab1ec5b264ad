/* SPDX-License-Identifier: MIT */
/*
 * slots.c - one thread, 20,000 live blocks, each step frees one and allocates another.
 *
 * The worst usual case for a heap profiler: nothing but malloc and free, 13 frames deep,
 * on 64 call paths. Units are pairs of calls.
 */
#include "tests/bench/bench.h"

#include <stdlib.h>

#define SLOTS 20000u

static void *slots[SLOTS];

int main(int argc, char **argv)
{
	struct bench b = bench_begin(argc, argv);
	uint64_t state = 1, used = 0;

	bench_start(&b);
	for (uint64_t i = 0; i < b.units; i++) {
		void **slot = &slots[bench_random(&state) % SLOTS];

		used += !*slot;
		free(*slot);
		*slot = bench_alloc(bench_size(&state), (unsigned int)i);
	}
	return bench_finish(&b, b.units, b.units - used);
}
