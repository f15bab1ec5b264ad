/* SPDX-License-Identifier: MIT */
/*
 * memattach-filters.c - answers one question: would the system call filters of a process let
 * memattach's calls pass? Started by systemd for each connection to memattach-filters.socket, with
 * the connection as its standard input. It has CAP_SYS_ADMIN and CAP_SYS_PTRACE, and no filter.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "inject/keeper/filter_helper.h"
#include "inject/tracee/tracee.h"

#define SECONDS		15	/* killed then: the kernel lets go what it holds */
#define USAGE_STATUS	2
#define ERROR_STATUS	6

static bool is_connection(int fd)
{
	int type;
	socklen_t bytes = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_SEQPACKET;
}

int main(void)
{
	int error;

	if (!is_connection(STDIN_FILENO)) {
		fprintf(stderr, "memattach-filters: error: standard input is no connection; "
			"systemd starts it: systemctl enable --now memattach-filters.socket\n");
		return USAGE_STATUS;
	}
	(void)signal(SIGALRM, SIG_DFL);
	(void)alarm(SECONDS);
	error = tracee_init();
	if (!error)
		error = filter_helper_answer(STDIN_FILENO);
	if (!error)
		return 0;
	fprintf(stderr, "memattach-filters: error: no answer was given: %s\n", strerror(-error));
	return ERROR_STATUS;
}
