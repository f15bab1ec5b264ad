/* SPDX-License-Identifier: MIT */
/*
 * allotment.h - one budget of processor time for all sessions: what each may spend of it.
 *
 * A session spends a percentage of what its process takes for itself. Together they may not spend
 * more than so much of the machine: where they would, all of them get the same percentage, or what
 * their rule allows if that is less. Nobody's idleness is another's loss, and no process is left
 * without samples because a busy one was there first.
 */
#ifndef MEMATTACH_DAEMON_ALLOTMENT_H
#define MEMATTACH_DAEMON_ALLOTMENT_H

#include <stddef.h>

struct allotment {
	double use;		/* processors that the process takes for itself */
	double most;		/* percent of that, by its rule */
	double percent;		/* result: that it may spend, at least ALLOTMENT_LEAST */
	size_t owner;		/* the caller's */
};
#define ALLOTMENT_LEAST 0.01	/* percent: below, the interval has no bounds any more */

/* processors: that all of them may spend together. Sorts them by most. */
void allotment_share(struct allotment *each, size_t count, double processors);

#endif
