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
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/base/memfd.h"

#define LIBRARY_NUMBERS	64	/* a library opens its descriptors early */

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

/*
 * first to last are given up. A preloaded library may remember descriptors of its own (tcmalloc:
 * libunwind's pipe), and read and close whatever has their numbers later on: in that range they
 * stay taken, by nothing.
 */
static void give_up(int nothing, int first, unsigned int last)
{
	for (; nothing >= 0 && first < LIBRARY_NUMBERS && (unsigned int)first <= last; first++)
		if (fcntl(first, F_GETFD) >= 0)
			(void)dup3(nothing, first, O_CLOEXEC);
	if ((unsigned int)first <= last)
		(void)close_range((unsigned int)first, last, 0);
}

void close_others(int *keep, size_t count)
{
	int next = STDERR_FILENO + 1, nothing = getenv("LD_PRELOAD") ? memfd_nothing() : -1;

	qsort(keep, count, sizeof(*keep), by_number);
	for (size_t i = 0; i < count; i++) {
		if (keep[i] > next)
			give_up(nothing, next, (unsigned int)keep[i] - 1);
		if (keep[i] >= next)
			next = keep[i] + 1;
	}
	give_up(nothing, next, ~0u);
}
