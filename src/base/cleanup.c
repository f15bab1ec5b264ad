/* SPDX-License-Identifier: MIT */
/*
 * cleanup.c - the one release helper that is more than a call.
 *
 * Everything else in cleanup.h is inline. Closing a descriptor must not disturb
 * errno: the attribute runs on the way out of functions that have just failed
 * and whose caller still reads it. EINTR is not retried: on Linux the
 * descriptor is gone after the first close() whatever it returned, and a second
 * one could hit a descriptor that another thread was given meanwhile.
 */
#include "src/base/cleanup.h"

#include <errno.h>

void cleanup_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}
