/* SPDX-License-Identifier: MIT */
/*
 * site_lives.h - how long the blocks of each site lived, and when those that live were born:
 * what a verdict by survival (leak/candidates/suspect.h) needs of a session, in a size that can be
 * kept.
 */
#ifndef MEMATTACH_SITE_LIVES_H
#define MEMATTACH_SITE_LIVES_H

#include "src/base/ticks.h"
#include "src/live/live.h"
#include "src/live/sites.h"

#define SITE_LIVES_PARTS 128u

struct site_life {
	uint32_t site;			/* id */
	double seconds;			/* since the session began: when this was so */
	struct lifetimes freed;		/* of freed blocks, in nanoseconds */
	double oldest;			/* birth of the oldest that lives; NAN: none does */
	/* Blocks (samples) that live, by birth, in equal parts of [0, seconds). */
	uint32_t born[SITE_LIVES_PARTS];
};
struct site_lives {
	double seconds;			/* the session's, when the last of it was so */
	size_t count;
	struct site_life *life;		/* by site, ascending */
};

/*
 * All sites of blocks (mappings have none) with an event since TSC since, as of TSC now.
 * 0 or -ENOMEM.
 */
int site_lives_take(const struct sites *sites, const struct live *live, const struct ticks *ticks,
		    uint64_t since, uint64_t now, struct site_lives **ret) _must_check_;
/* NULL is ignored. */
void site_lives_free(struct site_lives *lives);
/* The site's, NULL: nothing is known. */
const struct site_life *site_lives_find(const struct site_lives *lives, uint32_t site);
/* How many live. */
uint64_t site_life_living(const struct site_life *life);

#endif
