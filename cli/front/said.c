/* SPDX-License-Identifier: MIT */
/* said.c - see said.h. */
#include "cli/front/said.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/base/memfd.h"

#define SAID_BYTES 8192u
#define PREFIX "memattach: "

int said_open(void)
{
	int said = memfd_new("memattach-said"), error;

	if (said >= 0 && ftruncate(said, SAID_BYTES) == 0 &&
	    fcntl(said, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
		return said;
	error = -errno;
	cleanup_fd(&said);
	return error;
}

int said_redirect(int said)
{
	_cleanup_fd_ int nowhere = memfd_nothing();

	if (nowhere < 0)
		return nowhere;
	if (dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0 ||
	    dup2(said, STDERR_FILENO) < 0)
		return -errno;
	return 0;
}

void said_pass_on(int said, pid_t pid, const char *name, bool quiet, char *ret_last, size_t room)
{
	char text[SAID_BYTES], *rest = text, *line;
	ssize_t got = pread(said, text, sizeof(text) - 1, 0);	/* zeros behind what was written */

	text[got > 0 ? got : 0] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		if (strncmp(line, PREFIX, strlen(PREFIX)) == 0)
			line += strlen(PREFIX);
		if (!line[0])
			continue;
		if (!quiet)
			log_warning("%d%s%s: %s", pid, name[0] ? " " : "", name, line);
		(void)snprintf(ret_last, room, "%s", line);
	}
}
