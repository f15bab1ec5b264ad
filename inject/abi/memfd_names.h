/* SPDX-License-Identifier: MIT */
/* memfd_names.h - the names of the unlinked files that memattach maps in a target. */
#ifndef MEMATTACH_MEMFD_NAMES_H
#define MEMATTACH_MEMFD_NAMES_H

#include <stdbool.h>
#include <string.h>

/* For memfd_create(2). */
#define MEMFD_SHIM_NAME "memattach-shim"
#define MEMFD_RING_NAME "memattach-ring"
/* The same in /proc/PID/maps and in the links of /proc/PID/fd, where " (deleted)" follows. */
#define MEMFD_SHIM_PATH "/memfd:" MEMFD_SHIM_NAME
#define MEMFD_RING_PATH "/memfd:" MEMFD_RING_NAME
/* Each of them begins so. */
#define MEMFD_OUR_PATHS "/memfd:memattach-"

/* Whether that path of a mapping or a descriptor names a file of memattach's. */
static inline bool memfd_path_is_ours(const char *path)
{
	return strncmp(path, MEMFD_OUR_PATHS, sizeof(MEMFD_OUR_PATHS) - 1) == 0;
}

/* The same of one of the two files: which is MEMFD_SHIM_PATH or MEMFD_RING_PATH. */
static inline bool memfd_path_is(const char *path, const char *which)
{
	return strncmp(path, which, strlen(which)) == 0;
}

#endif
