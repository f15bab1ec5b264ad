/* SPDX-License-Identifier: MIT */
/* cleanup.h - scope-bound release of locals, and small helpers used everywhere. */
#ifndef MEMATTACH_CLEANUP_H
#define MEMATTACH_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f)	__attribute__((cleanup(f)))
#define _must_check_	__attribute__((warn_unused_result))
#define _printf_(a, b)	__attribute__((format(printf, a, b)))

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static inline void cleanup_free(void *p) { free(*(void **)p); }
static inline void cleanup_file(FILE **f)
{
	if (*f)
		fclose(*f);
}
/* Closes *fd if it is valid; keeps errno. */
void cleanup_fd(int *fd);

/*
 * Closes every descriptor from 3 on but the count ones of keep, which it sorts (-1: none), for a
 * child that is to have no more. With preloaded libraries low numbers stay taken, by nothing.
 */
void close_others(int *keep, size_t count);

#define _cleanup_free_	_cleanup_(cleanup_free)
#define _cleanup_fd_	_cleanup_(cleanup_fd)
#define _cleanup_file_	_cleanup_(cleanup_file)

#endif
