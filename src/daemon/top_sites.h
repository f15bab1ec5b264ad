/* SPDX-License-Identifier: MIT */
/*
 * top_sites.h - the call paths of a watched process that hold the most live bytes, with the names
 * of their innermost functions. What its analyst says of them is believed as little as the rest.
 */
#ifndef MEMATTACH_DAEMON_TOP_SITES_H
#define MEMATTACH_DAEMON_TOP_SITES_H

#include <stdbool.h>

#include "src/screen/wire.h"

#define TOP_SITES_MOST		20u
#define TOP_SITES_FUNCTION	128u
#define TOP_SITES_PLACE		96u

struct top_site {
	struct screen_site site;
	bool named;
	char function[TOP_SITES_FUNCTION], place[TOP_SITES_PLACE];	/* any bytes */
};
struct top_sites {
	uint32_t most;			/* so many are kept: 0 to TOP_SITES_MOST */
	struct top_site *now;		/* by live bytes, the largest first; NULL: none were */
	uint32_t count;
	struct top_site *next;		/* those of the figures that are being read */
	uint32_t next_count;
};

void top_sites_done(struct top_sites *top);
/* Keeps so many from the next figures on. */
void top_sites_keep(struct top_sites *top, uint32_t most);
/* Of each figures, in any order: begin, offer each site, end. Out of memory there are none. */
void top_sites_begin(struct top_sites *top);
void top_sites_offer(struct top_sites *top, const struct screen_site *site);
/* They are those of now; names stay. Whether there are some whose names are not known. */
bool top_sites_end(struct top_sites *top);
/* What was read is not used. */
void top_sites_drop(struct top_sites *top);
/* One that is not among them is left out, long names are cut. */
void top_sites_name(struct top_sites *top, uint32_t site, const char *function,
		    const char *place);
/* Those to be named. */
void top_sites_want(const struct top_sites *top, struct screen_want *ret);

#endif
