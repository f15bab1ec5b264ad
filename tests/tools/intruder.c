/* SPDX-License-Identifier: MIT */
/*
 * intruder.c - somebody who has taken over the analyst of a session that watches, and a child of
 * it: tries to break out, and says on stderr what came of it. Then the session goes on.
 */
#include "src/session/intruder.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/break_out.h"

static void try_and_tell(const char *who)
{
	unsigned int tried, done = break_out(true, &tried);

	fprintf(stderr, "%s tried %u, %u were not refused\n", who, tried, done);
}

void intruder_begin(void)
{
	pid_t child;

	try_and_tell("the analyst");
	child = fork();
	if (child == 0) {
		try_and_tell("a child of the analyst");
		_exit(0);
	}
	if (child > 0)
		(void)waitpid(child, NULL, 0);
}
