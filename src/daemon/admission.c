/* SPDX-License-Identifier: MIT */
/*
 * admission.c - see admission.h.
 *
 * A limit for each user alone is not enough: a user may have thousands of ids (subuid(5)). So a
 * newcomer takes the place of a connection that has said nothing for the longest time; whoever asks
 * at once, as all our clients do, is answered before that happens.
 */
#include "src/daemon/admission.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

bool admission_is_privileged(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static size_t places_of(const struct admission_place *place, size_t count, uid_t uid)
{
	size_t theirs = 0;

	for (size_t i = 0; i < count; i++)
		theirs += place[i].taken && place[i].uid == uid;
	return theirs;
}

/* The free place that a connection may have; -EBUSY. */
static int find_free(const struct admission_place *place, size_t count, size_t reserved)
{
	size_t others = 0, found = count;

	for (size_t i = count; i-- > 0;) {
		others += place[i].taken && !admission_is_privileged(place[i].uid);
		found = place[i].taken ? found : i;
	}
	return found < count && others + reserved < count ? (int)found : -EBUSY;
}

static int find_silent(const struct admission_place *place, size_t count)
{
	int oldest = -EBUSY;

	for (size_t i = 0; i < count && i < INT_MAX; i++)
		if (place[i].taken && place[i].silent && !admission_is_privileged(place[i].uid) &&
		    (oldest < 0 || place[i].since < place[oldest].since))
			oldest = (int)i;
	return oldest;
}

int admission_find(const struct admission_place *place, size_t count,
		   const struct admission_rules *rules, uid_t uid)
{
	bool privileged = admission_is_privileged(uid);
	int found;

	if (!privileged && uid != ADMISSION_UNKNOWN &&
	    places_of(place, count, uid) >= rules->most_of_user)
		return -EBUSY;
	found = find_free(place, count, privileged ? 0 : rules->reserved);
	return found >= 0 ? found : find_silent(place, count);
}
