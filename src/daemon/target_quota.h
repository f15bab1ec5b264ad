/* SPDX-License-Identifier: MIT */
/*
 * target_quota.h - how many of max-targets are for whom: no user's processes, and none that users
 * have watched by hand, take all the places of the others.
 *
 * A quarter at most goes to what users have watched by hand; an eighth is kept from the processes
 * of any one user but root; a sixteenth is for what root, or the group memattach, has watched.
 */
#ifndef MEMATTACH_DAEMON_PLACES_H
#define MEMATTACH_DAEMON_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum places_asker { PLACES_RULE, PLACES_USER, PLACES_ROOT };
struct places {
	uint32_t most;		/* max-targets */
	uint32_t taken;
	uint32_t by_users;	/* of taken: by hand, by who may not have everything watched */
	uint32_t of_owner;	/* of taken: processes of owner's */
	uid_t owner;		/* of the process that is asked about */
};

/* Has the asker a place for a process of any owner's? */
bool places_any(const struct places *places, enum places_asker asker);
/* The same for one of places->owner's. */
bool places_one(const struct places *places, enum places_asker asker);

#endif
