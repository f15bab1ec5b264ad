/* SPDX-License-Identifier: MIT */
/*
 * linux_scalability.c - each thread makes so many allocations of 32 bytes, all live at once,
 * then frees them.
 *
 * After the program of that name by which malloc of Linux servers was measured. The blocks
 * are a chain through themselves: nothing else is allocated. Units are the allocations of
 * each thread, 10,000,000 there, so that the work grows with the number of threads.
 */
#include "tests/bench/bench.h"

#define SIZE 32u

static void linux_scalability(struct bench_worker *w)
{
	void **chain = NULL;

	for (uint64_t i = 0; i < w->bench->units; i++) {
		void **block = bench_malloc(&w->truth, SIZE);

		*block = (void *)chain;
		chain = block;
	}
	while (chain) {
		void **next = *chain;

		bench_free(&w->truth, (void *)chain, SIZE);
		chain = next;
	}
}

int main(int argc, char **argv)
{
	struct bench b = bench_begin(argc, argv);

	return bench_run(&b, linux_scalability);
}
