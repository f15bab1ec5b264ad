/* SPDX-License-Identifier: MIT */
/*
 * target_quota.c - see target_quota.h. With few places nothing is kept: one for each would be too
 * much.
 */
#include "src/daemon/target_quota.h"

#define USERS_PART	4u
#define OTHERS_PART	8u
#define ROOT_PART	16u

bool places_any(const struct places *places, enum places_asker asker)
{
	uint32_t kept = asker == PLACES_ROOT ? 0 : places->most / ROOT_PART;
	uint32_t users = places->most / USERS_PART;

	if (asker == PLACES_USER && places->by_users >= (users ? users : 1))
		return false;
	return places->taken < places->most - kept;
}

bool places_one(const struct places *places, enum places_asker asker)
{
	return places_any(places, asker) &&
	       (asker == PLACES_ROOT || places->owner == 0 ||
		places->of_owner < places->most - places->most / OTHERS_PART);
}
