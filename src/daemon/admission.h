/* SPDX-License-Identifier: MIT */
/*
 * admission.h - which connection gets one of a bounded number of places, so that neither one user
 * nor many can keep all others out by connecting and saying nothing.
 */
#ifndef MEMATTACH_DAEMON_ADMISSION_H
#define MEMATTACH_DAEMON_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A connection that asks, in the caller's order. */
struct admission_place {
	bool taken;
	bool silent;		/* its request is not complete */
	uid_t uid;		/* ADMISSION_UNKNOWN: any user's */
	double since;		/* when it connected, or had its last answer; seconds */
};
#define ADMISSION_UNKNOWN ((uid_t)-1)

/* Rules for one set of places. */
struct admission_rules {
	size_t most_of_user;	/* places at a time; root and this process's user have no limit */
	size_t reserved;	/* of the places, for those two alone */
};

/* Root, and the user of this process. */
bool admission_is_privileged(uid_t uid);
/*
 * The place for a connection of uid: a free one, or that of the connection which has been silent
 * for the longest time (neither root's nor this user's), which is to be closed first. -EBUSY: none.
 */
int admission_find(const struct admission_place *place, size_t count,
		   const struct admission_rules *rules, uid_t uid);

#endif
