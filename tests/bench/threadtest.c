/* SPDX-License-Identifier: MIT */
/*
 * threadtest.c - each of P threads allocates 30,000/P objects of 64 bytes, frees them all in
 * the order of their allocation, and does so again.
 *
 * After the program of that name by which Hoard was measured. Units are rounds: 1,000 there.
 */
#include "tests/bench/bench.h"

#define OBJECTS 30000u
#define SIZE 64u

static void *objects[OBJECTS];

static void threadtest(struct bench_worker *w)
{
	unsigned int count = OBJECTS / w->bench->threads;
	void **mine = objects + (size_t)count * w->number;

	for (uint64_t round = 0; round < w->bench->units; round++) {
		for (unsigned int i = 0; i < count; i++)
			mine[i] = bench_malloc(&w->truth, SIZE);
		for (unsigned int i = 0; i < count; i++)
			bench_free(&w->truth, mine[i], SIZE);
	}
}

int main(int argc, char **argv)
{
	struct bench b = bench_begin(argc, argv);

	return bench_run(&b, threadtest);
}
