/* SPDX-License-Identifier: MIT */
/*
 * pidref.h - a process that can't be mistaken for another one.
 *
 * A pid alone may be recycled; a pidref is pid + pidfd + start time, and every
 * use that goes by number is followed by a check that it still is the same.
 */
#ifndef MEMATTACH_PIDREF_H
#define MEMATTACH_PIDREF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

struct pidref {
	pid_t pid;
	int fd;			/* pidfd; readable once the process has ended */
	uint64_t start_time;	/* clock ticks since boot, /proc/PID/stat field 22 */
};
#define PIDREF_NONE ((struct pidref){ .pid = 0, .fd = -1 })

/* Opens pid. 0, -ESRCH no such process (or a thread id that is no process), -errno. */
int pidref_open(pid_t pid, struct pidref *ret) _must_check_;
/* Closes the descriptor; accepts PIDREF_NONE. */
void pidref_done(struct pidref *ref);
/* True while the process exists (a zombie does not) and is still the one that was opened. */
bool pidref_alive(const struct pidref *ref);
/*
 * The signal that ended the process; its end is waited for up to so many milliseconds. 0: none did,
 * it lives, or nobody can say: its zombie is gone, and the kernel is older than Linux 6.15.
 */
int pidref_end_signal(const struct pidref *ref, int milliseconds);
/* Start time of pid (or of thread tid of it) from /proc: 0 or -errno. */
int pidref_read_start_time(pid_t pid, uint64_t *ret);

#endif
