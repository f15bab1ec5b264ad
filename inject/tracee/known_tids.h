/* SPDX-License-Identifier: MIT */
/*
 * known_tids.h - which threads are in hand already, when a process's threads are listed again.
 *
 * A process may have tens of thousands of them, which stand while this is asked for each.
 */
#ifndef MEMATTACH_KNOWN_TIDS_H
#define MEMATTACH_KNOWN_TIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

struct known_tids {	/* zeroed: none */
	pid_t *tid;
	size_t count, sorted, room;	/* the first so many are sorted */
};

/* Notes one that is not known. 0 or -ENOMEM. */
int known_tids_add(struct known_tids *known, pid_t tid) _must_check_;
/* From here on those that were added are known. */
void known_tids_sort(struct known_tids *known);
/* Was it added before the last known_tids_sort()? */
bool known_tids_has(const struct known_tids *known, pid_t tid);
void known_tids_done(struct known_tids *known);

#endif
