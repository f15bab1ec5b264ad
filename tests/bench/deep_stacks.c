/* SPDX-License-Identifier: MIT */
/*
 * deep_stacks.c - hardly a stack comes twice: each allocation lies at the end of a random walk of
 * 6 to 24 frames among eight functions that call each other. A block lives until 1,000 others of
 * its thread were allocated.
 *
 * Units are allocations, shared by the threads.
 */
#include "tests/bench/bench.h"

#define SLOTS 1000u
#define SIZE(path) (16u + (path) % 241u)

struct slot {
	void *block;
	size_t size;
};
struct walk {
	struct bench_truth *truth;
	size_t size;
};

static struct slot slots[BENCH_THREADS][SLOTS];

static void *step(const struct walk *walk, unsigned int left, uint64_t path);

/* The empty assembly keeps the call from becoming a jump, which would leave no frame. */
#define STEP(name) \
	__attribute__((noinline)) static void *name(const struct walk *walk, unsigned int left, \
						    uint64_t path) \
	{ \
		void *block = step(walk, left - 1, path >> 3); \
\
		__asm__ volatile("" : "+r"(block) : : "memory"); \
		return block; \
	}
STEP(step_a)
STEP(step_b)
STEP(step_c)
STEP(step_d)
STEP(step_e)
STEP(step_f)
STEP(step_g)
STEP(step_h)

__attribute__((noinline)) static void *step(const struct walk *walk, unsigned int left,
					     uint64_t path)
{
	static void *(*const next[8])(const struct walk *, unsigned int, uint64_t) = {
		step_a, step_b, step_c, step_d, step_e, step_f, step_g, step_h };
	void *block = left == 0 ? bench_malloc(walk->truth, walk->size) :
				  next[path % 8](walk, left, path);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static void replace(struct bench_worker *w, struct slot *slot)
{
	uint64_t path = bench_random(&w->state);
	struct walk walk = { .truth = &w->truth, .size = SIZE(path >> 40) };

	if (slot->block)
		bench_free(&w->truth, slot->block, slot->size);
	slot->size = walk.size;
	slot->block = step(&walk, 3 + (unsigned int)(path >> 60) % 10, path);
}

static void work(struct bench_worker *w)
{
	struct slot *mine = slots[w->number];
	uint64_t allocs = bench_share(w);

	for (uint64_t i = 0; i < allocs; i++)
		replace(w, &mine[i % SLOTS]);
	for (unsigned int i = 0; i < SLOTS; i++)
		if (mine[i].block)
			bench_free(&w->truth, mine[i].block, mine[i].size);
}

int main(int argc, char **argv)
{
	struct bench b = bench_begin(argc, argv);

	return bench_run(&b, work);
}
