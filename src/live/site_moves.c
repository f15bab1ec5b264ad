/* SPDX-License-Identifier: MIT */
/* site_moves.c - see site_moves.h. Exact sessions have none, unless their blocks are thinned. */
#include "src/live/site_moves.h"

#include "src/live/sites_private.h"

/* NULL: it has none. */
static struct site_moves_entry *find(const struct sites *sites, const struct site *site)
{
	if (site->moves == 0 || site->moves == SITE_MOVES_UNKNOWN)
		return NULL;
	return site_side_at(&sites->moves, site->moves);
}

/* Made if new. NULL: out of memory, now or before; its growth seems surer than it is. */
static struct site_moves_entry *get(struct sites *sites, struct site *site)
{
	if (site->moves == 0 && site_side_add(&sites->moves, &site->moves) < 0)
		site->moves = SITE_MOVES_UNKNOWN;
	return find(sites, site);
}

void site_moves_come(struct sites *sites, struct site *site, const struct estimate_term *term)
{
	struct site_moves_entry *entry = get(sites, site);

	if (entry)
		estimate_add(&entry->now.in, term);
}

void site_moves_end(struct sites *sites, struct site *site, const struct site_change *change)
{
	struct site_moves_entry *entry = get(sites, site);

	if (!entry)
		return;
	if (change->born >= sites->window_begin)
		estimate_remove(&entry->now.in, &change->term);
	else
		estimate_add(&entry->now.out, &change->term);
}

void site_moves_thin(struct sites *sites, struct site *site, const struct estimate_term *before,
		     const struct estimate_term *after)
{
	struct site_moves_entry *entry = find(sites, site);

	if (entry && before->weighted_count)
		estimate_remove(&entry->now.in, before);
	if (after && after->weighted_count)
		site_moves_come(sites, site, after);
}

void site_moves_renew(struct sites *sites, const struct site *site)
{
	struct site_moves_entry *entry = find(sites, site);

	if (entry)
		*entry = (struct site_moves_entry){ .before = entry->now };
}

struct site_moves site_moves_sum(const struct sites *sites, const struct site *site)
{
	const struct site_moves_entry *entry = find(sites, site);
	struct site_moves sum = { .in = { .count = 0 } };

	if (entry) {
		sum = entry->before;
		estimate_merge(&sum.in, &entry->now.in);
		estimate_merge(&sum.out, &entry->now.out);
	}
	return sum;
}

static void merge(struct site_moves *to, const struct site_moves *from)
{
	estimate_merge(&to->in, &from->in);
	estimate_merge(&to->out, &from->out);
}

void site_moves_merge(struct sites *sites, struct site *to, struct site *from)
{
	struct site_moves_entry *sum = find(sites, to), *more = find(sites, from);

	if (to->moves == 0 || from->moves == SITE_MOVES_UNKNOWN) {
		to->moves = from->moves;
		from->moves = 0;
		return;
	}
	if (!sum || !more)
		return;
	merge(&sum->now, &more->now);
	merge(&sum->before, &more->before);
	from->moves = 0;
}
