/* SPDX-License-Identifier: MIT */
/*
 * site_moves.h - what sampled blocks of a site did since its windows began (sites_tick): what its
 * growth is in doubt of (sites_growth).
 */
#ifndef MEMATTACH_SITE_MOVES_H
#define MEMATTACH_SITE_MOVES_H

#include "src/live/estimate.h"

struct sites;
struct site;
struct site_change;

struct site_moves {
	struct estimate in;	/* blocks that came in the window and still live */
	struct estimate out;	/* blocks older than the window that were freed in it */
};
/* Of the present window, and of the one before. */
struct site_moves_entry {
	struct site_moves now, before;
};

/* A block comes, or ends (born says when it came). pre: it is not certain (estimate_term). */
void site_moves_come(struct sites *sites, struct site *site, const struct estimate_term *term);
void site_moves_end(struct sites *sites, struct site *site, const struct site_change *change);
/*
 * A block that came in the window counts as after, not as before, which may have been certain.
 * after: NULL, not at all.
 */
void site_moves_thin(struct sites *sites, struct site *site, const struct estimate_term *before,
		     const struct estimate_term *after);
/* A window begins. */
void site_moves_renew(struct sites *sites, const struct site *site);
/* Both windows together. */
struct site_moves site_moves_sum(const struct sites *sites, const struct site *site);
/* from's are to's. */
void site_moves_merge(struct sites *sites, struct site *to, struct site *from);

#endif
