/* SPDX-License-Identifier: MIT */
/*
 * turns_busy.c - a thread that waits, and then runs for long without a system call.
 *
 * Commands: 'b' runs until SIGUSR1 comes and answers "busy ok"; 'q' ends and prints
 * "verdict ok|failed".
 */
#include "tests/victims/victim.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCKS	64
#define SECONDS	100	/* at the most */

static int failures;
static volatile sig_atomic_t enough;

static void on_enough(int signal)
{
	(void)signal;
	enough = 1;
}

/* The program's own code; clock_gettime is the vDSO's. */
static VICTIM_FRAME uint64_t compute(uint64_t value)
{
	for (int i = 0; i < 20000; i++)
		value = value * 6364136223846793005u + 1442695040888963407u;
	return value;
}

static VICTIM_FRAME void turn(unsigned char *block[BLOCKS], uint64_t value)
{
	size_t at = value % BLOCKS;

	if (block[at] && block[at][0] != (unsigned char)at)
		failures++;
	free(block[at]);
	block[at] = malloc(16 + value % 500);
	memset(block[at], (int)at, 16);
}

static void run_busy(void)
{
	static unsigned char *block[BLOCKS];
	struct timespec now;
	uint64_t value = 1;
	time_t end;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + SECONDS;
	while (!enough && now.tv_sec < end) {
		value = compute(value);
		turn(block, value >> 20);
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	}
	victim_say("busy ok\n");
}

int main(void)
{
	char command;

	victim_setup();
	(void)signal(SIGUSR1, on_enough);
	victim_ready();
	while ((command = victim_await()) != 'q')
		if (command == 'b')
			run_busy();
	victim_say("verdict %s\n", failures == 0 && victim_interrupts() == 0 ? "ok" : "failed");
	return failures != 0;
}
