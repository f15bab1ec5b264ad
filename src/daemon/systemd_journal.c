/* SPDX-License-Identifier: MIT */
/* systemd_journal.c - see systemd_journal.h. */
#include "src/daemon/systemd_journal.h"

#if HAVE_SYSTEMD

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

bool journal_is_there(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat status;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device &&
	       status.st_ino == inode;
}

bool journal_put(const char *const field[], size_t count)
{
	struct iovec part[JOURNAL_FIELDS];

	if (count > JOURNAL_FIELDS)
		return false;
	for (size_t i = 0; i < count; i++)
		part[i] = (struct iovec){ (void *)(uintptr_t)field[i], strlen(field[i]) };
	return sd_journal_sendv(part, (int)count) == 0;
}

#else

bool journal_is_there(void)
{
	return false;
}

bool journal_put(const char *const field[], size_t count)
{
	(void)field;
	(void)count;
	return false;
}

#endif
