/* SPDX-License-Identifier: MIT */
/*
 * site_evict.c - see site_evict.h.
 *
 * Which go: those that hold little, allocated seldom, and did nothing since the last time. What
 * did nothing for that long counts as if it held a 256th: a site that once allocated a lot must
 * not stand in the way of those at work. Mappings go last, as there are few of them.
 * Evicting one at a time, by a heap or a clock, was rejected: every block and pair of the one
 * would have to be found, and half of all at once costs one pass over the blocks. A sketch that
 * lets only the frequent in was rejected, too: what leaks slowly would never be seen.
 */
#include "src/live/site_evict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/give_back.h"
#include "src/live/sites_private.h"

#define ALLOCATORS_OTHER 3u
#define ACTIVE_SCORE	8.0	/* powers of two */
#define MAPPING_SCORE	64.0

struct candidate {
	double score;
	uint64_t last_time;
	uint32_t place;
};

static unsigned int other_index(enum site_kind kind, bool allocator)
{
	return allocator ? ALLOCATORS_OTHER : (unsigned int)kind;
}

struct site *sites_other(struct sites *sites, enum site_kind kind, bool allocator)
{
	uint32_t *id = &sites->other[other_index(kind, allocator)];
	struct site *site = *id ? sites_find(sites, *id) : NULL;

	if (site)
		return site;
	site = sites_add(sites, sites->other_stack, kind);
	if (!site)
		return NULL;
	site->allocator = allocator;
	*id = site->id;
	return site;
}

bool site_is_other(const struct sites *sites, const struct site *site)
{
	return site->id == sites->other[other_index(site->kind, site->allocator)];
}

/* ---- which ---- */

static double score_of(const struct sites *sites, const struct site *site)
{
	double score = log2(1.0 + (double)estimate_bytes(&site->live)) +
		       log2(1.0 + (double)(site->alloc.count + site->alloc.samples));

	if (site->last_time > sites->evicted_at)
		score += ACTIVE_SCORE;
	return site->kind == SITE_MMAP ? score + MAPPING_SCORE : score;
}

static int by_score(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->score < b->score || a->score > b->score)
		return a->score < b->score ? -1 : 1;
	if (a->last_time != b->last_time)
		return a->last_time < b->last_time ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

static uint32_t candidates(const struct sites *sites, const struct site_choice *choice,
			   struct candidate *candidate)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < sites->count; i++) {
		const struct site *site = site_placed(sites, i);
		bool kept = site_is_other(sites, site);

		for (size_t k = 0; !kept && k < choice->keep_count; k++)
			kept = choice->keep[k] == site->id;
		if (!kept)
			candidate[count++] = (struct candidate){ score_of(sites, site),
								 site->last_time, i };
	}
	return count;
}

/* After this sites_other can't fail. */
static int make_others(struct sites *sites)
{
	if (!sites_other(sites, SITE_MALLOC, false) || !sites_other(sites, SITE_MMAP, false) ||
	    !sites_other(sites, SITE_CUSTOM, false) || !sites_other(sites, SITE_MMAP, true))
		return -ENOMEM;
	return id_places_begin(&sites->places);
}

int sites_evict_begin(struct sites *sites, const struct site_choice *choice, uint32_t *ret_count)
{
	_cleanup_free_ struct candidate *candidate = NULL;
	uint32_t count, go;

	*ret_count = 0;
	lifetimes_settle(sites->later);
	if (sites->count <= choice->most)
		return 0;
	sites->other_stack = choice->other_stack;
	candidate = reallocarray(NULL, sites->count + SITE_OTHERS, sizeof(*candidate));
	if (!candidate || make_others(sites) < 0)
		return -ENOMEM;
	count = candidates(sites, choice, candidate);
	go = sites->count - choice->most;
	go = go < count ? go : count;
	qsort(candidate, count, sizeof(*candidate), by_score);
	for (uint32_t i = 0; i < go; i++)
		site_placed(sites, candidate[i].place)->evicted = true;
	*ret_count = go;
	return 0;
}

uint32_t sites_heir(const struct sites *sites, uint32_t id)
{
	const struct site *site = sites_peek(sites, id);

	if (!site || !site->evicted)
		return site ? id : 0;
	return sites->other[other_index(site->kind, site->allocator)];
}

/* ---- merging ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void merge_window(struct site_window *to, const struct site_window *from)
{
	to->level += from->level;
	to->samples += from->samples;
}

/* What lived of both when their group was at its peak is known. */
static void merge_levels(struct sites *sites, struct site *to, const struct site *from)
{
	uint64_t level, count, more_level, more_count;

	site_peak_levels(sites, to, &level, &count);
	site_peak_levels(sites, from, &more_level, &more_count);
	estimate_merge(&to->live, &from->live);
	to->left_level = level + more_level;
	to->left_count = count + more_count;
	to->changed = ++sites->changes;
	to->peak_level = larger(larger(to->peak_level, from->peak_level),
				estimate_level(&to->live));
	if (to->peak.level || from->peak.level)
		to->peak = (struct site_peak){ to->peak_level,
					       larger(to->peak.seen, from->peak.seen),
					       to->peak.variance + from->peak.variance };
}

static void merge_times(struct site *to, const struct site *from)
{
	if (!to->first_time || (from->first_time && from->first_time < to->first_time))
		to->first_time = from->first_time;
	to->last_time = larger(to->last_time, from->last_time);
	if (from->size_low < to->size_low)
		to->size_low = from->size_low;
	to->size_high = larger(to->size_high, from->size_high);
	size_set_merge(&to->sizes, &from->sizes);
}

/* Those from 64 on are in a table of their own. */
static void merge_threads(struct site *to, const struct site *from)
{
	uint64_t new = from->thread_bits & ~to->thread_bits;

	to->thread_bits |= new;
	to->thread_count += (uint32_t)__builtin_popcountll(new);
}

static void merge_resizes(struct sites *sites, struct site *to, const struct site *from)
{
	struct site_resizes *sum, *more;

	if (!from->resized)
		return;
	if (!to->resized) {
		to->resized = from->resized;
		return;
	}
	sum = site_side_at(&sites->resizes, to->resized);
	more = site_side_at(&sites->resizes, from->resized);
	for (int i = 0; i < SITE_RESIZES; i++)
		sum->count[i] += more->count[i];
	for (int i = 0; i < SITE_RESIZES_KNOWN; i++)
		sum->known[i] += more->known[i];
	sum->copied_bytes += more->copied_bytes;
}

static void merge(struct sites *sites, struct site *from)
{
	struct site *to = sites_other(sites, from->kind, from->allocator);
	size_t before = site_lifetimes_bytes(to) + site_lifetimes_bytes(from);

	sites->evictions.sites++;
	sites->evictions.alloc_count += estimate_count(&from->alloc);
	sites->evictions.alloc_bytes += estimate_bytes(&from->alloc);
	merge_levels(sites, to, from);
	estimate_merge(&to->alloc, &from->alloc);
	estimate_merge(&to->untracked, &from->untracked);
	to->temporary_count += from->temporary_count;
	merge_times(to, from);
	merge_threads(to, from);
	merge_resizes(sites, to, from);
	merge_window(&to->window, &from->window);
	merge_window(&to->previous, &from->previous);
	site_moves_merge(sites, to, from);
	lifetimes_merge(&to->lifetimes, &from->lifetimes, 1.0);
	lifetimes_done(&from->lifetimes);
	sites->lifetimes_bytes += site_lifetimes_bytes(to) - before;
}

/* ---- what is kept beside the sites ---- */

struct renaming {
	struct sites *sites;
	struct hashmap fresh;
};

static void rename_thread(void *context, uint64_t key, uint64_t value)
{
	struct renaming *r = context;
	uint32_t heir = sites_heir(r->sites, (uint32_t)(key >> 32));
	uint64_t renamed = (uint64_t)heir << 32 | (uint32_t)key, ignored;

	if (!heir || hashmap_get(&r->fresh, renamed, &ignored))
		return;
	/* Out of memory: the thread may be counted once more. */
	if (hashmap_put(&r->fresh, renamed, value) == 0 && renamed != key)
		sites_find(r->sites, heir)->thread_count++;
}

static void rename_threads(struct sites *sites)
{
	struct renaming r = { .sites = sites };

	hashmap_each(&sites->threads, rename_thread, &r);
	hashmap_done(&sites->threads);
	sites->threads = r.fresh;
}

static uint32_t *number_of_resizes(void *context, uint32_t i)
{
	return &site_placed(context, i)->resized;
}

static uint32_t *number_of_moves(void *context, uint32_t i)
{
	return &site_placed(context, i)->moves;
}

/* What lies behind the last site takes no memory any more. */
static void give_back_chunks(struct sites *sites)
{
	unsigned int last = site_chunk(sites->count);
	size_t used = sites->count + SITE_FIRST_CHUNK - ((size_t)SITE_FIRST_CHUNK << last);

	for (unsigned int i = last + 1; i < SITE_CHUNKS; i++) {
		free(sites->chunk[i]);
		sites->chunk[i] = NULL;
	}
	if (sites->chunk[last])
		give_back_buffer(sites->chunk[last] + used,
				 ((size_t)SITE_FIRST_CHUNK << last) * sizeof(struct site) -
				 used * sizeof(struct site));
}

static void pack_sites(struct sites *sites)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < sites->count; i++) {
		struct site *site = site_placed(sites, i);

		if (site->evicted) {
			hashmap_remove(&sites->index, site_key(site->stack, site->kind), NULL);
			id_places_set(&sites->places, site->id, ID_PLACES_NONE);
			continue;
		}
		id_places_set(&sites->places, site->id, count);
		*site_placed(sites, count++) = *site;
	}
	sites->count = count;
	give_back_chunks(sites);
}

void sites_evict_end(struct sites *sites)
{
	uint64_t last = sites->evicted_at;

	rename_threads(sites);
	for (uint32_t i = 0; i < sites->count; i++) {
		struct site *site = site_placed(sites, i);

		last = larger(last, site->last_time);
		site->pair = 0;
		if (site->evicted)
			merge(sites, site);
	}
	pack_sites(sites);
	site_side_pack(&sites->resizes, sites->count, number_of_resizes, sites);
	site_side_pack(&sites->moves, sites->count, number_of_moves, sites);
	sites->evicted_at = last;
	sites->evictions.times++;
}

void sites_each_stack(const struct sites *sites, void (*each)(void *context, uint32_t stack),
		      void *context)
{
	for (uint32_t i = 0; i < sites->count; i++)
		each(context, site_placed(sites, i)->stack);
}

struct site_evictions sites_evictions(const struct sites *sites)
{
	return sites->evictions;
}

size_t sites_bytes(const struct sites *sites)
{
	return sizeof(*sites) + sites->count * (sizeof(struct site) + 2u * sizeof(void *)) +
	       sites->lifetimes_bytes + id_places_bytes(&sites->places) +
	       hashmap_bytes(&sites->index) + hashmap_bytes(&sites->threads) +
	       hashmap_bytes(&sites->large_size) +
	       site_side_bytes(&sites->resizes) + site_side_bytes(&sites->moves);
}
