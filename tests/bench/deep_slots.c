/* SPDX-License-Identifier: MIT */
/*
 * deep_slots.c - as slots.c, in each of P threads: 20,000 live blocks a thread, each step frees
 * one and allocates another of 16 to 4,080 bytes, 13 frames deep on 64 call paths.
 *
 * Heap profilers spend their time on stacks: here every call has one that is not the last
 * call's. Units are pairs of calls, shared by the threads; what is left is freed at the end.
 */
#include "tests/bench/bench.h"

#define SLOTS 20000u

struct slot {
	void *block;
	size_t size;
};

static struct slot slots[BENCH_THREADS][SLOTS];

static void empty(struct bench_worker *w, struct slot *slot)
{
	if (slot->block)
		bench_free(&w->truth, slot->block, slot->size);
	slot->block = NULL;
}

static void fill(struct bench_worker *w, struct slot *slot, unsigned int path)
{
	slot->size = bench_size(&w->state);
	slot->block = bench_alloc(slot->size, path);
	w->truth.allocs++;
	w->truth.alloc_bytes += slot->size;
}

static void deep_slots(struct bench_worker *w)
{
	struct slot *mine = slots[w->number];
	uint64_t pairs = bench_share(w);

	for (uint64_t i = 0; i < pairs; i++) {
		struct slot *slot = &mine[bench_random(&w->state) % SLOTS];

		empty(w, slot);
		fill(w, slot, (unsigned int)i);
	}
	for (unsigned int i = 0; i < SLOTS; i++)
		empty(w, &mine[i]);
}

int main(int argc, char **argv)
{
	struct bench b = bench_begin(argc, argv);

	return bench_run(&b, deep_slots);
}
