/* SPDX-License-Identifier: MIT */
/* top_sites.c - see top_sites.h. */
#include "src/daemon/top_sites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP_SITES_COUNT	(1ull << 53)

void top_sites_done(struct top_sites *top)
{
	free(top->now);
	free(top->next);
	*top = (struct top_sites){ .most = top->most };
}

void top_sites_keep(struct top_sites *top, uint32_t most)
{
	top->most = most < TOP_SITES_MOST ? most : TOP_SITES_MOST;
}

void top_sites_begin(struct top_sites *top)
{
	top_sites_drop(top);
	if (top->most)
		top->next = calloc(top->most, sizeof(*top->next));
}

void top_sites_drop(struct top_sites *top)
{
	free(top->next);
	top->next = NULL;
	top->next_count = 0;
}

/* As many as whoever reads JSON takes exactly. */
static void make_numbers(struct screen_site *site)
{
	if (!isfinite(site->growth))
		site->growth = 0;
	if (site->live_bytes > TOP_SITES_COUNT)
		site->live_bytes = TOP_SITES_COUNT;
	if (site->live_count > TOP_SITES_COUNT)
		site->live_count = TOP_SITES_COUNT;
}

void top_sites_offer(struct top_sites *top, const struct screen_site *site)
{
	uint32_t at = top->next_count;

	if (!top->next)
		return;
	while (at > 0 && top->next[at - 1].site.live_bytes < site->live_bytes)
		at--;
	if (at == top->most)
		return;
	if (top->next_count < top->most)
		top->next_count++;
	memmove(&top->next[at + 1], &top->next[at],
		(top->next_count - at - 1) * sizeof(*top->next));
	top->next[at] = (struct top_site){ .site = *site };
	make_numbers(&top->next[at].site);
}

static const struct top_site *find(const struct top_sites *top, uint32_t site)
{
	for (uint32_t i = 0; i < top->count; i++)
		if (top->now[i].site.id == site)
			return &top->now[i];
	return NULL;
}

bool top_sites_end(struct top_sites *top)
{
	bool unnamed = false;

	for (uint32_t i = 0; i < top->next_count; i++) {
		const struct screen_site site = top->next[i].site;
		const struct top_site *known = find(top, site.id);

		if (known && known->named) {
			top->next[i] = *known;
			top->next[i].site = site;
		}
		unnamed = unnamed || !top->next[i].named;
	}
	free(top->now);
	top->now = top->next;
	top->count = top->next_count;
	top->next = NULL;
	top->next_count = 0;
	return unnamed;
}

void top_sites_name(struct top_sites *top, uint32_t site, const char *function,
		    const char *place)
{
	for (uint32_t i = 0; i < top->count; i++) {
		struct top_site *named = &top->now[i];

		if (named->site.id != site)
			continue;
		named->named = true;
		(void)snprintf(named->function, sizeof(named->function), "%s", function);
		(void)snprintf(named->place, sizeof(named->place), "%s", place);
	}
}

void top_sites_want(const struct top_sites *top, struct screen_want *ret)
{
	*ret = (struct screen_want){ .count = 0 };
	for (uint32_t i = 0; i < top->count; i++)
		if (!top->now[i].named)
			ret->site[ret->count++] = top->now[i].site.id;
}
