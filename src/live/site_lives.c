/* SPDX-License-Identifier: MIT */
/*
 * site_lives.c - see site_lives.h.
 *
 * Lifetimes are turned into nanoseconds, so that they mean the same on another machine and after
 * a reboot. Births need one pass over all live blocks: callers take this less and less
 * often the longer they watch. 128 parts of the session are fine enough for quarters and for a
 * tenth of it; a part's blocks count as born at its end, which makes none older than it is.
 * Rejected: ages on the logarithmic scale of lifetimes, on which the oldest, which matter here,
 * are told apart worst; and every block's birth, which has no bound.
 */
#include "src/live/site_lives.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct taking {
	const struct ticks *ticks;
	double seconds;
	const struct sites *sites;
	struct site_life **by_place;	/* NULL: not wanted */
};

static void add_block(void *context, const struct live_block *block)
{
	const struct taking *t = context;
	struct site_life *life = t->by_place[sites_place(t->sites, block->site)];
	double born = ticks_seconds(t->ticks, block->time);
	double part = born / t->seconds * SITE_LIVES_PARTS;

	if (!life)
		return;
	if (!(part > 0))
		part = 0;
	if (!(life->oldest <= born))
		life->oldest = born;
	life->born[part < SITE_LIVES_PARTS ? (unsigned int)part : SITE_LIVES_PARTS - 1]++;
}

static bool is_wanted(const struct site *site, uint64_t since)
{
	return site->kind != SITE_MMAP && site->alloc.count + site->alloc.samples > 0 &&
	       site->last_time >= since;
}

static void take_all(const struct sites *sites, const struct taking *t, uint64_t since,
		     struct site_lives *lives)
{
	for (uint32_t i = 0; i < sites_places(sites); i++) {
		const struct site *site = sites_at(sites, i);
		struct site_life *life = &lives->life[lives->count];

		if (!is_wanted(site, since))
			continue;
		life->site = site->id;
		life->seconds = t->seconds;
		life->oldest = NAN;
		lifetimes_merge(&life->freed, sites_lifetimes(sites, site), 1e9 / t->ticks->hz);
		t->by_place[i] = life;
		lives->count++;
	}
}

int site_lives_take(const struct sites *sites, const struct live *live, const struct ticks *ticks,
		    uint64_t since, uint64_t now, struct site_lives **ret)
{
	struct taking t = { .ticks = ticks, .seconds = ticks_seconds(ticks, now),
			    .sites = sites };
	_cleanup_free_ struct site_life **by_place = calloc((size_t)sites_places(sites) + 1,
							    sizeof(*by_place));
	struct site_lives *lives = calloc(1, sizeof(*lives));
	size_t wanted = 0;

	for (uint32_t i = 0; i < sites_places(sites); i++)
		wanted += is_wanted(sites_at(sites, i), since);
	if (lives)
		lives->life = calloc(wanted + 1, sizeof(*lives->life));
	if (!by_place || !lives || !lives->life) {
		free(lives);
		return -ENOMEM;
	}
	t.seconds = t.seconds > 0 ? t.seconds : 0;
	t.by_place = by_place;
	lives->seconds = t.seconds;
	take_all(sites, &t, since, lives);
	live_each(live, add_block, &t);
	*ret = lives;
	return 0;
}

void site_lives_free(struct site_lives *lives)
{
	if (!lives)
		return;
	for (size_t i = 0; i < lives->count; i++)
		lifetimes_done(&lives->life[i].freed);
	free(lives->life);
	free(lives);
}

static int by_site(const void *key, const void *element)
{
	uint32_t site = *(const uint32_t *)key, other = ((const struct site_life *)element)->site;

	return (site > other) - (site < other);
}

const struct site_life *site_lives_find(const struct site_lives *lives, uint32_t site)
{
	if (!lives->count)
		return NULL;
	return bsearch(&site, lives->life, lives->count, sizeof(*lives->life), by_site);
}

uint64_t site_life_living(const struct site_life *life)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < SITE_LIVES_PARTS; i++)
		count += life->born[i];
	return count;
}
