/* SPDX-License-Identifier: MIT */
/*
 * victim.c - readiness, commands and output of the test programs.
 *
 * Everything here works without an allocation: victims with known truth call it
 * while they are being watched. stdio was the obvious alternative and allocates
 * its buffers at the first use, which would be part of the truth then.
 * A victim dies with its parent (PR_SET_PDEATHSIG), so that a killed script
 * leaves nothing behind.
 */
#include "tests/victims/victim.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#define PR_SET_PTRACER_ANY ((unsigned long)-1)
#endif

static int interrupts;

void victim_allow_tracers(void)
{
	/* Fails with EINVAL where there is no yama: nothing to allow there. */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

void victim_setup(void)
{
	victim_allow_tracers();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		victim_fail("PR_SET_PDEATHSIG");
	/* The heap exists from now on: one that a remote dlopen makes would be a difference. */
	free(victim_seen(malloc(1)));
}

void victim_yield(void)
{
	(void)!nice(10);
}

void victim_write(const char *text, size_t size)
{
	while (size > 0) {
		ssize_t done = write(STDOUT_FILENO, text, size);

		if (done < 0 && errno != EINTR)
			_exit(3);
		if (done > 0) {
			text += done;
			size -= (size_t)done;
		}
	}
}

void victim_say(const char *format, ...)
{
	static char line[4096];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(line))
		victim_fail("line too long");
	victim_write(line, (size_t)length);
}

void victim_ready(void)
{
	victim_say("ready %d\n", (int)getpid());
}

char victim_await(void)
{
	for (;;) {
		char command;
		ssize_t got = read(STDIN_FILENO, &command, 1);

		if (got == 1 && command != '\n')
			return command;
		if (got == 0)
			return 'q';
		if (got < 0 && errno != EINTR)
			victim_fail("stdin");
		if (got < 0)
			interrupts++;
	}
}

int victim_interrupts(void)
{
	return interrupts;
}

void victim_fail(const char *why)
{
	static const char prefix[] = "victim: ";

	/* The process ends with status 3 whether or not anybody can read this. */
	if (write(STDERR_FILENO, prefix, sizeof(prefix) - 1) < 0 ||
	    write(STDERR_FILENO, why, strlen(why)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
		_exit(3);
	_exit(3);
}

const char *victim_option(char *const argv[], const char *name, const char *fallback)
{
	size_t length = strlen(name);

	for (char *const *argument = argv + 1; argv[0] && *argument; argument++) {
		if (strncmp(*argument, "--", 2) == 0 && strncmp(*argument + 2, name, length) == 0 &&
		    (*argument)[2 + length] == '=')
			return *argument + 3 + length;
	}
	return fallback;
}

long victim_number(char *const argv[], const char *name, long fallback)
{
	const char *text = victim_option(argv, name, NULL);

	return text ? strtol(text, NULL, 10) : fallback;
}
