/* SPDX-License-Identifier: MIT */
/*
 * many_stacks.c - more call stacks, or more live blocks, than a small memory can hold.
 *
 *	many_stacks --stacks=N --blocks=N
 *
 * Commands: 'g' makes N allocations, each at the end of a random walk among eight functions that
 * call each other, so that hardly a stack comes twice. One of 16 blocks is kept; every hundredth
 * time steady_leak() allocates 48 bytes, too, and never frees them. 'l' makes N blocks at once, of
 * which it frees every second. 'z' makes N allocations at one place, and frees each by a realloc to
 * 0 bytes at a stack of its own. All print the truth; 'q' ends.
 */
#include "tests/victims/victim.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP		16u
#define STEADY_EVERY	100u
#define STEADY_BYTES	48u
#define ZERO_STEPS	5u	/* 8^5 different stacks */

struct truth {
	unsigned long long allocs, alloc_bytes, frees, live_bytes, steady;
};

static struct truth truth;
static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void *counted(size_t size)
{
	void *block = victim_seen(malloc(victim_size(size)));

	if (!block)
		victim_fail("malloc");
	truth.allocs++;
	truth.alloc_bytes += size;
	truth.live_bytes += size;
	return block;
}

static void give_back(void *block, size_t size)
{
	free(block);
	truth.frees++;
	truth.live_bytes -= size;
}

static void *shrinking;		/* what 'z' is about to free */

/* At the end of a walk: size 0 frees shrinking. */
static void *arrive(size_t size)
{
	if (size)
		return counted(size);
	if (realloc(shrinking, victim_size(0)))
		victim_fail("realloc to 0 bytes gives a block");
	truth.frees++;
	truth.live_bytes -= STEADY_BYTES;
	return NULL;
}

static void *step(size_t size, unsigned int left, uint64_t path);

#define STEP(name) \
	VICTIM_FRAME static void *name(size_t size, unsigned int left, uint64_t path) \
	{ \
		return victim_seen(step(size, left - 1, path >> 3)); \
	}
STEP(step_a)
STEP(step_b)
STEP(step_c)
STEP(step_d)
STEP(step_e)
STEP(step_f)
STEP(step_g)
STEP(step_h)

VICTIM_FRAME static void *step(size_t size, unsigned int left, uint64_t path)
{
	static void *(*const next[8])(size_t, unsigned int, uint64_t) = {
		step_a, step_b, step_c, step_d, step_e, step_f, step_g, step_h };

	return victim_seen(left == 0 ? arrive(size) : next[path % 8](size, left, path));
}

VICTIM_FRAME static void steady_leak(void)
{
	victim_seen(counted(STEADY_BYTES));
	truth.steady++;
}

static void say(void)
{
	victim_say("truth {\"allocs\": %llu, \"alloc_bytes\": %llu, \"frees\": %llu, "
		   "\"live_bytes\": %llu, \"steady\": %llu}\n", truth.allocs, truth.alloc_bytes,
		   truth.frees, truth.live_bytes, truth.steady);
}

static void walk(long count)
{
	for (long i = 0; i < count; i++) {
		uint64_t path = next_random();
		size_t size = 16 + (path >> 40) % 240;
		void *block = step(size, 4 + (unsigned int)(path >> 60) % 8, path);

		if (i % KEEP != 0)
			give_back(block, size);
		if (i % STEADY_EVERY == 0)
			steady_leak();
	}
	say();
}

VICTIM_FRAME static void *live_block(size_t size)
{
	return victim_seen(counted(size));
}

static void live(long count)
{
	void **block = calloc((size_t)count, sizeof(*block));

	if (!block)
		victim_fail("calloc");
	truth.allocs++;
	truth.alloc_bytes += (unsigned long long)count * sizeof(*block);
	truth.live_bytes += (unsigned long long)count * sizeof(*block);
	for (long i = 0; i < count; i++)
		block[i] = live_block(16 + (size_t)(i % 100));
	for (long i = 0; i < count; i += 2)
		give_back(block[i], 16 + (size_t)(i % 100));
	victim_seen(block);
	say();
}

static void zero(long count)
{
	for (long i = 0; i < count; i++) {
		shrinking = live_block(STEADY_BYTES);
		victim_seen(step(0, ZERO_STEPS, (uint64_t)i));
	}
	say();
}

int main(int argc, char *argv[])
{
	char command;

	(void)argc;
	victim_setup();
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 'g')
			walk(victim_number(argv, "stacks", 300000));
		else if (command == 'l')
			live(victim_number(argv, "blocks", 1000000));
		else if (command == 'z')
			zero(victim_number(argv, "stacks", 300000));
	}
	return victim_interrupts() != 0;
}
