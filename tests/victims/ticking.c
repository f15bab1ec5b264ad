/* SPDX-License-Identifier: MIT */
/*
 * ticking.c - does a little now and then, as most processes of a machine do.
 *
 *	ticking --every=MS --blocks=N --lose=BYTES
 *
 * Every MS milliseconds (1000) it allocates N blocks (20) in place of the last ones, and forgets
 * one of --lose bytes (0). Commands: 'c' checks its blocks, "check ok"; 'q' ends and prints
 * "verdict ok|failed".
 */
#include "tests/victims/victim.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BLOCKS 1000

static unsigned char *block[MAX_BLOCKS];
static int blocks;

static size_t size_of(int i)
{
	return (size_t)24 << (i % 6);
}

static VICTIM_FRAME unsigned char *replaced(int i)
{
	return victim_seen(malloc(victim_size(size_of(i))));
}

static VICTIM_FRAME void *forgotten(size_t size)
{
	return victim_seen(malloc(victim_size(size)));
}

static void tick(size_t lose)
{
	for (int i = 0; i < blocks; i++) {
		free(block[i]);
		block[i] = replaced(i);
		memset(block[i], i, size_of(i));
	}
	if (lose)
		memset(forgotten(lose), 1, lose);
}

static int check(void)
{
	int wrong = 0;

	for (int i = 0; i < blocks; i++)
		wrong += block[i][0] != (unsigned char)i ||
			 block[i][size_of(i) - 1] != (unsigned char)i;
	return wrong;
}

int main(int argc, char **argv)
{
	int every = (int)victim_number(argv, "every", 1000);
	size_t lose = (size_t)victim_number(argv, "lose", 0);
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char command = 0;

	(void)argc;
	victim_setup();
	blocks = (int)victim_number(argv, "blocks", 20);
	if (blocks < 0 || blocks > MAX_BLOCKS)
		victim_fail("--blocks");
	tick(0);
	victim_ready();
	while (command != 'q') {
		if (poll(&input, 1, every) == 0) {
			tick(lose);
			continue;
		}
		if (read(STDIN_FILENO, &command, 1) != 1)
			break;
		if (command == 'c')
			victim_say("check %s\n", check() ? "failed" : "ok");
	}
	victim_say("verdict %s\n", check() ? "failed" : "ok");
	return check() != 0;
}
