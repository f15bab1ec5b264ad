/* SPDX-License-Identifier: MIT */
/*
 * bursts.c - an idle program that allocates much at once when it is told to, from deep stacks.
 *
 * Commands: '1' to '6' are bursts of 500, 1,000, 2,000, 10,000, 30,000 and 140,000 blocks of 200
 * bytes, each tenth of which stays; 'l' to 'n' are bursts of 500, 2,000, 10,000 blocks that all
 * stay. The answer is "burst ok ALLOCATED KEPT", of all bursts so far; 'q' ends.
 */
#include "tests/victims/victim.h"

#include <stdlib.h>
#include <string.h>

#define BYTES	200u
#define DEPTH	10
#define MOST	400000u

static void *kept[MOST];
static size_t allocated, kept_count;

static VICTIM_FRAME void take_block(size_t one_in)
{
	void *block = victim_seen(malloc(victim_size(BYTES)));

	if (!block || kept_count == MOST)
		victim_fail("no room");
	if (allocated++ % one_in == 0)
		kept[kept_count++] = block;
	else
		free(block);
}

/* The frames are filled, so that they take room in a stack's copy. */
static VICTIM_FRAME void go_deep(int depth, size_t one_in)
{
	char frame[100];

	memset(frame, depth, sizeof(frame));
	(void)victim_seen(frame);
	if (depth)
		go_deep(depth - 1, one_in);
	else
		take_block(one_in);
	(void)victim_seen(frame);
}

static void burst(size_t count, size_t one_in)
{
	for (size_t i = 0; i < count; i++)
		go_deep(DEPTH, one_in);
	victim_say("burst ok %zu %zu\n", allocated, kept_count);
}

int main(void)
{
	static const size_t some_stay[] = { 500, 1000, 2000, 10000, 30000, 140000 };
	static const size_t all_stay[] = { 500, 2000, 10000 };
	char command;

	victim_setup();
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command >= '1' && command <= '6')
			burst(some_stay[command - '1'], 10);
		else if (command >= 'l' && command <= 'n')
			burst(all_stay[command - 'l'], 1);
	}
	return 0;
}
