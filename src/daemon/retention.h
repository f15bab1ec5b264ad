/* SPDX-License-Identifier: MIT */
/* retention.h - which recordings go. */
#ifndef MEMATTACH_DAEMON_RETENTION_H
#define MEMATTACH_DAEMON_RETENTION_H

#include <stdbool.h>
#include <time.h>

#include "src/daemon/settings.h"

/* Is the recording of this name still being written? */
typedef bool retention_in_use(void *context, const char *name);

/*
 * Removes recordings ("*.memattach") of folder: those last written more than keep_for seconds
 * before now, then the oldest until there are keep_count at most, of keep_bytes at most together.
 * Those in use count, but stay. The number that went; -errno: folder can't be read.
 */
int retention_apply(const char *folder, const struct watch_settings *watch, time_t now,
		    retention_in_use *in_use, void *context) _must_check_;

#endif
