/* SPDX-License-Identifier: MIT */
/*
 * shbench.c - blocks of random sizes, 1 to 1,000 bytes: each round frees that of a random
 * slot, if there is one, and allocates another. What is left is freed at the end.
 *
 * After MicroQuill's program of that name. Units are rounds, 2,000,000 there, shared by the
 * threads.
 */
#include "tests/bench/bench.h"

#define SLOTS 1000u
#define LARGEST 1000u

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

static void shbench(struct bench_worker *w)
{
	uint64_t rounds = bench_share(w);

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t random = bench_random(&w->state);
		struct slot *slot = &slots[w->number][random % SLOTS];

		empty(w, slot);
		slot->size = 1 + (random >> 32) % LARGEST;
		slot->block = bench_malloc(&w->truth, slot->size);
	}
	for (unsigned int i = 0; i < SLOTS; i++)
		empty(w, &slots[w->number][i]);
}

int main(int argc, char **argv)
{
	struct bench b = bench_begin(argc, argv);

	return bench_run(&b, shbench);
}
