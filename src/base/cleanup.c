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

static void close_from_to(int first, int last)
{
	if (first <= last)
		(void)close_range((unsigned int)first, (unsigned int)last, 0);
}

void close_others(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;

	if (low <= STDERR_FILENO)
		low = STDERR_FILENO;
	if (high < low)
		high = low;
	close_from_to(STDERR_FILENO + 1, low - 1);
	close_from_to(low + 1, high - 1);
	(void)close_range((unsigned int)high + 1, ~0u, 0);
}
