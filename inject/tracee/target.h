/* SPDX-License-Identifier: MIT */
/* target.h - the process that is being entered, as the keeper holds it. */
#ifndef MEMATTACH_TARGET_H
#define MEMATTACH_TARGET_H

#include <stdbool.h>

#include "src/base/pidref.h"
#include "src/base/procmaps.h"

struct target {
	struct pidref ref;
	int mem;	/* /proc/TID/mem, read and, unless read_only, write */
	int maps;	/* /proc/TID/maps of a live thread (a dead leader's is empty) */
	int task;	/* directory /proc/PID/task */
	pid_t held; /* a thread that we hold stopped all the time (a program being started), 0 */
	uint64_t *owed;	/* owned; signals that came to it meanwhile (bit 0: 1); NULL unless held */
	bool read_only;	/* mem is: only the user itself and CAP_DAC_OVERRIDE may write there */
	int pagemap;	/* /proc/TID/pagemap, -1 where it may not be opened */
};
#define TARGET_NONE ((struct target){ .ref = PIDREF_NONE, .mem = -1, .maps = -1, .task = -1, \
				     .pagemap = -1 })

/* Takes ownership of ref (also on error it is left to the caller). 0, -ESRCH, -EACCES, -errno. */
int target_open(const struct pidref *ref, struct target *ret) _must_check_;
/* Closes the descriptors and the pidref. */
void target_done(struct target *target);

#endif
