/* SPDX-License-Identifier: MIT */
/*
 * site_evict.h - fewer sites: the cold ones become one, "other", with all that they had.
 *
 * Sums stay what they were, to the byte; the peak of "other" is the least that it can have been.
 * Ids of evicted sites are never given again. A stack that was dropped (stacks_sweep) and comes
 * once more by an old name of it is booked at "other", too.
 */
#ifndef MEMATTACH_SITE_EVICT_H
#define MEMATTACH_SITE_EVICT_H

#include "src/live/sites.h"

/* So far. */
struct site_evictions {
	uint64_t times;
	uint64_t sites;			/* one that comes and goes twice counts twice */
	uint64_t alloc_count, alloc_bytes;	/* what had been allocated at them */
};

/* "Other" of a kind (allocator: of mappings that allocators made), made if new. NULL: -ENOMEM. */
struct site *sites_other(struct sites *sites, enum site_kind kind, bool allocator);
bool site_is_other(const struct sites *sites, const struct site *site);
/*
 * Chooses sites to evict, so that most stay. keep: ids that are not to be chosen.
 * Until sites_evict_end each has an heir. 0 and how many; or -ENOMEM: nothing changed.
 */
struct site_choice {
	uint32_t most;
	uint32_t other_stack;		/* with STACK_OTHER */
	const uint32_t *keep;
	size_t keep_count;
};
int sites_evict_begin(struct sites *sites, const struct site_choice *choice,
		      uint32_t *ret_count) _must_check_;
/* Where what is booked at id goes from now on: id itself, or "other". 0: there is no such site. */
uint32_t sites_heir(const struct sites *sites, uint32_t id);
/*
 * Merges. pre: sites_evict_begin; who remembers ids of sites has replaced them by their heirs, and
 * pairs were renamed with them: no site knows its own any more. Pointers to sites are stale.
 */
void sites_evict_end(struct sites *sites);
/* Calls each() with the stack of every site that there is. */
void sites_each_stack(const struct sites *sites, void (*each)(void *context, uint32_t stack),
		      void *context);
struct site_evictions sites_evictions(const struct sites *sites);
/* Memory that the sites take. */
size_t sites_bytes(const struct sites *sites);

#endif
