/* SPDX-License-Identifier: MIT */
/*
 * resizes.c - many reallocs of known outcome, with books, for sampled sessions.
 *
 * Each function makes calls of one kind, thousands of them and of sizes about a sampling interval,
 * so that an estimate of them is good to some percent. Command 'g' runs them all and says, by
 * function, "resized NAME" with what became of its calls; then "done ok". 'q' ends.
 */
#include "tests/victims/victim.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TIMES		4000
#define FEW		400	/* of large ones */

enum outcome { GROWN, SHRUNK, SAME, MOVED, FAILED, FROM_NULL, FREED, OUTCOMES };
static long resized[OUTCOMES], copied;

static void note(uintptr_t before, const void *block, size_t from, size_t to)
{
	if (!before)
		resized[FROM_NULL]++;
	else if (!block)
		resized[to ? FAILED : FREED]++;
	else if ((uintptr_t)block != before)
		resized[MOVED]++, copied += (long)(from < to ? from : to);
	else
		resized[to > from ? GROWN : to < from ? SHRUNK : SAME]++;
}

/* Inlined, so that the function that calls it is the site. */
static VICTIM_INLINED void *resize(void *old, size_t from, size_t to)
{
	volatile uintptr_t before = (uintptr_t)old;	/* the compiler need not know what it is */
	void *block = victim_seen(realloc(old, victim_size(to)));

	note(before, block, from, to);
	return block ? block : to ? (void *)before : NULL;
}

/* A string that grows by and by, most of the time where it is. */
VICTIM_FRAME static void append(void)
{
	for (int i = 0; i < TIMES / 16; i++) {
		size_t size = 40;
		void *text = victim_seen(malloc(victim_size(size)));

		for (int step = 1; step <= 64; step++, size += 40)
			text = resize(text, size, size + 40);
		free(text);
	}
}

/* Small ones with a wall behind: most are not drawn, and those after them get their addresses. */
VICTIM_FRAME static void widen(void)
{
	for (int i = 0; i < TIMES * 8; i++) {
		void *small = victim_seen(malloc(victim_size(200)));
		void *wall = victim_seen(malloc(victim_size(200)));

		small = resize(small, 200, 400);
		free(wall);
		free(small);
	}
}

VICTIM_FRAME static void shrink(void)
{
	for (int i = 0; i < TIMES; i++) {
		void *block = victim_seen(malloc(victim_size(6000)));

		block = resize(block, 6000, 3000);
		free(resize(block, 3000, 3000));
	}
}

/* What lies behind is in its way. */
VICTIM_FRAME static void carry(void)
{
	for (int i = 0; i < TIMES; i++) {
		void *block = victim_seen(malloc(victim_size(2500)));
		void *wall = victim_seen(malloc(victim_size(2500)));

		block = resize(block, 2500, 5000);
		free(wall);
		free(block);
	}
}

VICTIM_FRAME static void carry_large(void)
{
	for (int i = 0; i < FEW; i++) {
		void *block = victim_seen(malloc(victim_size(3000)));
		void *wall = victim_seen(malloc(victim_size(3000)));

		block = resize(block, 3000, 100000);
		free(wall);
		free(block);
	}
}

VICTIM_FRAME static void fail(void)
{
	for (int i = 0; i < FEW; i++) {
		void *block = victim_seen(malloc(victim_size(1000)));

		free(resize(block, 1000, SIZE_MAX / 4));
	}
}

VICTIM_FRAME static void begin_and_end(void)
{
	for (int i = 0; i < TIMES; i++) {
		void *block = resize(victim_seen(NULL), 0, 1500);

		if (resize(block, 1500, 0))
			victim_fail("realloc(p, 0) gave a block");
	}
}

static void run(const char *name, void (*function)(void))
{
	memset(resized, 0, sizeof(resized));
	copied = 0;
	function();
	victim_say("resized %s %ld %ld %ld %ld %ld %ld %ld %ld\n", name, resized[GROWN],
		   resized[SHRUNK], resized[SAME], resized[MOVED], copied, resized[FAILED],
		   resized[FROM_NULL], resized[FREED]);
}

int main(int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	victim_setup();
	victim_ready();
	while (victim_await() != 'q') {
		run("append", append);
		run("widen", widen);
		run("shrink", shrink);
		run("carry", carry);
		run("carry_large", carry_large);
		run("fail", fail);
		run("begin_and_end", begin_and_end);
		victim_say("done ok\n");
	}
	return 0;
}
