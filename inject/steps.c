/* SPDX-License-Identifier: MIT */
/*
 * steps.c - see steps.h. Only built with --enable-step-counter; a product build
 * has no way to be told to kill itself.
 */
#include "inject/steps.h"

#ifdef MEMATTACH_TEST_STEPS
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

void step_point(void)
{
	static unsigned long count;
	static long wanted = -1;
	const char *text;

	if (wanted < 0) {
		text = getenv("MEMATTACH_KILL_STEP");
		wanted = text ? strtol(text, NULL, 10) : 0;
	}
	if (++count == (unsigned long)wanted)
		(void)kill(getpid(), SIGKILL);
}
#endif
