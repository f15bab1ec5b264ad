/* SPDX-License-Identifier: MIT */
/*
 * start.c - becomes a program that is to be attached to.
 *
 *	start [NAME=VALUE]... PROGRAM [ARGUMENT]...
 *
 * SIGINT and SIGQUIT, which a shell's background processes ignore, end it as they would at a
 * terminal, and any process of the same user may trace it (yama); both outlive exec.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#define PR_SET_PTRACER_ANY ((unsigned long)-1)
#endif

int main(int argc, char *argv[])
{
	while (argc > 1 && strchr(argv[1], '=')) {
		(void)putenv(argv[1]);
		argv++;
		argc--;
	}
	if (argc < 2)
		return 2;
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGQUIT, SIG_DFL);
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	(void)execvp(argv[1], argv + 1);
	(void)fprintf(stderr, "start: %s: %s\n", argv[1], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
