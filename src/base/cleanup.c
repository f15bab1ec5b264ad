/* SPDX-License-Identifier: MIT */
/*
 * cleanup.c - the release helpers that are more than a call.
 *
 * Everything else in cleanup.h is inline. Closing a descriptor must not disturb
 * errno: the attribute runs on the way out of functions that have just failed
 * and whose caller still reads it. EINTR is not retried: on Linux the
 * descriptor is gone after the first close() whatever it returned, and a second
 * one could hit a descriptor that another thread was given meanwhile.
 */
#include "src/base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void cleanup_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

static int by_number(const void *left, const void *right)
{
	int a = *(const int *)left, b = *(const int *)right;

	return (a > b) - (a < b);
}

void close_others(int *keep, size_t count)
{
	int next = STDERR_FILENO + 1;

	qsort(keep, count, sizeof(*keep), by_number);
	for (size_t i = 0; i < count; i++) {
		if (keep[i] > next)
			(void)close_range((unsigned int)next, (unsigned int)keep[i] - 1, 0);
		if (keep[i] >= next)
			next = keep[i] + 1;
	}
	(void)close_range((unsigned int)next, ~0u, 0);
}
