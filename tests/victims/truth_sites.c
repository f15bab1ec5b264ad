/* SPDX-License-Identifier: MIT */
/*
 * truth_sites.c - many sites with different sizes and counts, for sampling.
 *
 *	truth_sites N SEED
 *
 * Site i is a path of its own through four functions that differ in name only,
 * one step for each base-4 digit of i; its blocks have one size, drawn from SEED. A
 * part of them is freed. The sites take turns, so that none owns a stretch
 * of the sampler's count-down. Commands: 'g' allocates and prints the
 * truth, 'q' ends.
 */
#include "tests/victims/truth.h"
#include "tests/victims/victim.h"

#include <stdlib.h>

#define MAX_SITES	256
#define DIGITS		4	/* 4^4 = MAX_SITES */
#define MAX_BLOCKS	400000

struct site {
	size_t size;
	unsigned blocks, free_every;
};

static struct site sites[MAX_SITES];
static struct truth_block blocks[MAX_BLOCKS];
static unsigned block_count, site_count;
static unsigned random_state;

static unsigned next_random(void)
{
	random_state = random_state * 1103515245u + 12345u;
	return random_state >> 8;
}

VICTIM_FRAME static void allocate(size_t size)
{
	TRUTH_FUNCTION();

	TRUTH_ALLOC(&blocks[block_count], size, malloc(size));
	block_count++;
}

/* One more step of the path that the digits of site describe, or the allocation. */
static void step(unsigned site, unsigned digit);

#define STEP(name) \
	VICTIM_FRAME static void name(unsigned site, unsigned digit) \
	{ \
		TRUTH_FUNCTION(); \
		TRUTH_CALL(step(site, digit)); \
	}

STEP(path_zero)
STEP(path_one)
STEP(path_two)
STEP(path_three)

VICTIM_FRAME static void step(unsigned site, unsigned digit)
{
	TRUTH_FUNCTION();

	if (digit == DIGITS) {
		TRUTH_CALL(allocate(sites[site].size));
		return;
	}
	switch (site >> (2 * digit) & 3) {
	case 0:
		TRUTH_CALL(path_zero(site, digit + 1));
		break;
	case 1:
		TRUTH_CALL(path_one(site, digit + 1));
		break;
	case 2:
		TRUTH_CALL(path_two(site, digit + 1));
		break;
	default:
		TRUTH_CALL(path_three(site, digit + 1));
	}
}

/* Sizes from 16 bytes to 128 KiB, evenly by magnitude; 2 KiB to 2 MiB a site. */
static void draw_sites(void)
{
	for (unsigned i = 0; i < site_count; i++) {
		size_t base = (size_t)16 << next_random() % 13;
		size_t total = (size_t)2048 << next_random() % 11;

		sites[i].size = base + next_random() % base;
		sites[i].blocks = (unsigned)(total / sites[i].size) + 1;
		if (sites[i].blocks > MAX_BLOCKS / site_count)
			sites[i].blocks = MAX_BLOCKS / site_count;
		sites[i].free_every = 2 + next_random() % 6;
	}
}

VICTIM_FRAME static void run(void)
{
	unsigned left = site_count;
	TRUTH_FUNCTION();

	for (unsigned turn = 0; left > 0; turn++) {
		left = 0;
		for (unsigned i = 0; i < site_count; i++) {
			if (turn >= sites[i].blocks)
				continue;
			left++;
			TRUTH_CALL(step(i, 0));
			if (turn % sites[i].free_every == 0)
				TRUTH_FREE(&blocks[block_count - 1], free);
		}
	}
}

int main(int argc, char *argv[])
{
	struct truth_claims claims = { .totals = 1, .peaks = 1 };
	TRUTH_FUNCTION();

	victim_setup();
	site_count = argc > 1 ? (unsigned)atoi(argv[1]) : 64;
	random_state = argc > 2 ? (unsigned)atoi(argv[2]) * 2654435761u : 1;
	if (site_count < 1 || site_count > MAX_SITES)
		victim_fail("1..256 sites");
	draw_sites();
	victim_ready();
	if (victim_await() != 'g')
		return 0;
	TRUTH_CALL(run());
	truth_print(claims);
	while (victim_await() != 'q')
		;
	return 0;
}
