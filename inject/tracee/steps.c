/* SPDX-License-Identifier: MIT */
/*
 * steps.c - see steps.h. Only built with --enable-step-counter; a product build
 * has no way to be told to kill itself.
 */
#include "inject/tracee/steps.h"

#ifdef MEMATTACH_TEST_STEPS
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NO_CALL = 0x1fff };

static unsigned long number_in(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

void step_point(void)
{
	static unsigned long count;

	if (++count == number_in("MEMATTACH_KILL_STEP"))
		(void)kill(getpid(), SIGKILL);
}

static bool is_refused(const char *what, long number)
{
	static unsigned long count;

	if (++count != number_in("MEMATTACH_REFUSE_CALL"))
		return false;
	(void)dprintf(STDERR_FILENO, "step: %s %ld is refused\n", what, number);
	return true;
}

long step_call(long number)
{
	return is_refused("call", number) ? NO_CALL : number;
}

uint64_t step_function(uint64_t function, uint64_t nothing)
{
	return is_refused("function", (long)function) ? nothing : function;
}
#endif
