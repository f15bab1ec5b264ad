/* SPDX-License-Identifier: MIT */
/*
 * sites.c - one record of sums per (stack, kind), and the totals over them.
 *
 * Everything is additive, so that the end of a block takes away exactly what its
 * beginning added; peaks are taken whenever something was added, in the order of
 * events. What it refuses to do: look at an address (live.c) or at time (the
 * caller gives both).
 *
 * Growth is not the slope over the whole session: a server that fills its caches
 * in the first minute would be called growing for hours. It is the change over a
 * window that starts at the last but one power of two of intervals, which needs
 * two earlier states per site and no history.
 */
#include "src/live/sites.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/base/huge_pages.h"
#include "src/live/sites_private.h"

#define CACHE_LINE	64u
#define FIRST_RENEWAL	4u	/* intervals before the first window ends */
#define MAX_SIZES	16384u	/* other sizes told apart; later ones are rounded up */
#define FIXED_POINT_MAX	4611686018427387904.0	/* 2^62 */

int sites_new(struct stacks *stacks, struct sites **ret)
{
	struct sites *sites = calloc(1, sizeof(*sites));

	if (sites)
		sites->later = calloc(1, sizeof(*sites->later));
	if (!sites || !sites->later) {
		free(sites);
		return -ENOMEM;
	}
	sites->stacks = stacks;
	sites->resizes.bytes = sizeof(struct site_resizes);
	sites->moves.bytes = sizeof(struct site_moves_entry);
	sites->next_renewal = FIRST_RENEWAL;
	*ret = sites;
	return 0;
}

void sites_free(struct sites *sites)
{
	if (!sites)
		return;
	for (uint32_t i = 0; i < sites->count; i++)
		lifetimes_done(&site_placed(sites, i)->lifetimes);
	for (size_t i = 0; i < SITE_CHUNKS; i++)
		free(sites->chunk[i]);
	hashmap_done(&sites->index);
	id_places_done(&sites->places);
	hashmap_done(&sites->threads);
	hashmap_done(&sites->large_size);
	site_side_done(&sites->resizes);
	site_side_done(&sites->moves);
	free(sites->range);
	free(sites->later);
	free(sites);
}

int sites_set_allocator_frames(struct sites *sites, const struct frame_range *range, size_t count)
{
	struct frame_range *copy = calloc(count ? count : 1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	if (count)
		memcpy(copy, range, count * sizeof(*copy));
	free(sites->range);
	sites->range = copy;
	sites->range_count = count;
	return 0;
}

static bool frame_is_allocator(const struct sites *sites, const struct frame *frame)
{
	/* A call may be a function's last instruction: what it returns to is the next function. */
	uint64_t offset = frame->offset - (frame->flags & FRAME_RETURN ? 1 : 0);

	for (size_t i = 0; i < sites->range_count; i++) {
		const struct frame_range *range = &sites->range[i];

		if (range->module == frame->module && offset >= range->low && offset < range->high)
			return true;
	}
	return false;
}

uint16_t sites_skip_frames(const struct sites *sites, uint32_t stack_id)
{
	struct stack stack = stacks_get(sites->stacks, stack_id);
	uint32_t i = 0;

	while (i < stack.frame_count && frame_is_allocator(sites, &stack.frame[i]))
		i++;
	return (uint16_t)i;
}

/* Blocks: leave out the allocator's innermost frames. Mappings: is there one at all? */
static void site_look_at_stack(const struct sites *sites, struct site *site)
{
	struct stack stack = stacks_get(sites->stacks, site->stack);
	uint32_t i = 0;

	if (site->kind == SITE_MMAP) {
		while (i < stack.frame_count && !site->allocator)
			site->allocator = frame_is_allocator(sites, &stack.frame[i++]);
		return;
	}
	site->skip_frames = sites_skip_frames(sites, site->stack);
}

/* Room for one more. */
static int sites_reserve(struct sites *sites)
{
	unsigned int at = site_chunk(sites->count);
	size_t count = (size_t)SITE_FIRST_CHUNK << at;
	struct site *chunk;

	if (at >= SITE_CHUNKS)
		return -ENOMEM;
	if (sites->chunk[at])
		return 0;
	chunk = reallocarray(NULL, count, sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	huge_pages_ask(chunk, count * sizeof(*chunk));
	sites->chunk[at] = chunk;
	return 0;
}

struct site *sites_add(struct sites *sites, uint32_t stack, enum site_kind kind)
{
	struct site *site;
	uint32_t id;

	if (sites_reserve(sites) < 0 || id_places_add(&sites->places, sites->count, &id) < 0)
		return NULL;
	site = site_placed(sites, sites->count++);
	*site = (struct site){ .id = id, .stack = stack, .kind = kind,
			       .last_thread = UINT32_MAX, .size_low = UINT64_MAX };
	site_look_at_stack(sites, site);
	return site;
}

/* By the index, made if new. */
static struct site *sites_get_slowly(struct sites *sites, uint32_t stack, enum site_kind kind)
{
	uint64_t key = site_key(stack, kind), id;
	struct site *site;

	if (hashmap_get(&sites->index, key, &id))
		return sites_find(sites, (uint32_t)id);
	if (stacks_is_dropped(sites->stacks, stack))
		return sites_other(sites, kind, false);
	site = sites_add(sites, stack, kind);
	if (site && hashmap_put(&sites->index, key, site->id) < 0)
		return NULL;	/* it stays, and nothing will ever be booked there */
	return site;
}

/* Its first bytes. */
static void fetch(const struct site *site, size_t bytes)
{
	for (size_t at = 0; site && at < bytes; at += CACHE_LINE)
		__builtin_prefetch((const char *)site + at, 1);
}

void sites_foresee(const struct sites *sites, unsigned int stage, uint32_t stack)
{
	if (stage < 2)
		stacks_foresee(sites->stacks, stack);
	else if (stage == 2)
		fetch(sites_peek(sites, stacks_tag(sites->stacks, stack)),
		      offsetof(struct site, untracked));
}

void sites_foresee_end(const struct sites *sites, uint32_t id)
{
	fetch(sites_peek(sites, id), offsetof(struct site, alloc));
}

struct site *sites_get(struct sites *sites, uint32_t stack, enum site_kind kind)
{
	struct site *site = NULL;

	if (kind == SITE_MALLOC)
		site = sites_find(sites, stacks_tag(sites->stacks, stack));
	if (site && site->stack == stack && site->kind == kind)
		return site;
	site = sites_get_slowly(sites, stack, kind);
	if (site && kind == SITE_MALLOC)
		stacks_set_tag(sites->stacks, stack, site->id);
	return site;
}

struct site *sites_find(struct sites *sites, uint32_t id)
{
	uint32_t place = id_places_get(&sites->places, id);

	return place == ID_PLACES_NONE ? NULL : site_placed(sites, place);
}

const struct site *sites_peek(const struct sites *sites, uint32_t id)
{
	uint32_t place = id_places_get(&sites->places, id);

	return place == ID_PLACES_NONE ? NULL : site_placed(sites, place);
}

const struct lifetimes *sites_lifetimes(const struct sites *sites, const struct site *site)
{
	lifetimes_settle(sites->later);
	return &site->lifetimes;
}

uint32_t sites_count(const struct sites *sites)
{
	return sites->places.last;
}

uint32_t sites_places(const struct sites *sites)
{
	return sites->count;
}

const struct site *sites_at(const struct sites *sites, uint32_t place)
{
	return site_placed(sites, place);
}

uint32_t sites_place(const struct sites *sites, uint32_t id)
{
	return id_places_get(&sites->places, id);
}

static unsigned int site_group_number(const struct site *site)
{
	return site->allocator ? GROUP_ALLOCATOR : site->kind;
}

static struct site_totals *site_group(struct sites *sites, const struct site *site)
{
	return &sites->group[site_group_number(site)];
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The same for value bytes of each such block, in 1 / ESTIMATE_BYTES_ONE. */
static uint64_t term_scale(const struct estimate_term *term, uint64_t value)
{
	double weight = (double)term->weighted_count / ESTIMATE_COUNT_ONE;

	if (term->weighted_count == 0)
		return value * (uint64_t)ESTIMATE_BYTES_ONE;
	return (uint64_t)((double)value * weight * ESTIMATE_BYTES_ONE);
}

/* Above MAX_SIZES different sizes: the next of 8 steps per doubling. */
static uint64_t size_round_up(uint64_t size)
{
	unsigned int shift = 63u - (unsigned int)__builtin_clzll(size) - 3u;
	uint64_t step = 1ull << shift;

	return (size + step - 1u) & ~(step - 1u);
}

static void histogram_add(struct sites *sites, const struct estimate_term *term)
{
	uint64_t size = term->size, number = 0;

	if (size < SITE_SMALL_SIZES) {
		sites->small_size[size] += estimate_term_count(term);
		return;
	}
	if (!hashmap_get(&sites->large_size, size, &number) &&
	    hashmap_count(&sites->large_size) >= MAX_SIZES) {
		size = size_round_up(size);
		hashmap_get(&sites->large_size, size, &number);
	}
	/* Out of memory for one more bar: the totals still know of the block. */
	if (hashmap_put(&sites->large_size, size, number + estimate_term_count(term)) < 0)
		return;
}

static void site_add_thread(struct sites *sites, struct site *site, uint32_t thread)
{
	uint64_t key = ((uint64_t)site->id << 32) | thread, ignored;

	site->last_thread = thread;
	if (thread < 64) {
		site->thread_count += !(site->thread_bits >> thread & 1u);
		site->thread_bits |= 1ull << thread;
		return;
	}
	if (!hashmap_get(&sites->threads, key, &ignored) &&
	    hashmap_put(&sites->threads, key, 1) == 0)
		site->thread_count++;
}

/* Whole blocks and parts of them, in 1 / ESTIMATE_COUNT_ONE. */
static uint64_t site_count_level(const struct site *site)
{
	return site->live.count * (uint64_t)ESTIMATE_COUNT_ONE + site->live.weighted_count;
}

/*
 * Before what lives of site changes. Where it has not changed since its group's peak, its level is
 * that at the peak: kept now, as it goes. So a peak costs nothing when it comes, however many
 * sites there are.
 */
void site_changes(struct sites *sites, struct site *site)
{
	if (site->changed <= site_group(sites, site)->peak_change) {
		site->left_level = estimate_level(&site->live);
		site->left_count = site_count_level(site);
	}
	site->changed = ++sites->changes;
}

void site_peak_levels(const struct sites *sites, const struct site *site, uint64_t *ret_level,
		      uint64_t *ret_count)
{
	bool still = site->changed <= sites->group[site_group_number(site)].peak_change;

	*ret_level = still ? estimate_level(&site->live) : site->left_level;
	*ret_count = still ? site_count_level(site) : site->left_count;
}

struct site_level sites_at_peak(const struct sites *sites, const struct site *site)
{
	uint64_t level, count;

	site_peak_levels(sites, site, &level, &count);
	return (struct site_level){
		.bytes = estimate_level_bytes(level),
		.count = (count + (uint64_t)ESTIMATE_COUNT_ONE / 2) / (uint64_t)ESTIMATE_COUNT_ONE,
	};
}

static void note_peak(struct site_peak *peak, const struct estimate *live, uint64_t level)
{
	if (live->weighted_bytes == 0)
		return;
	*peak = (struct site_peak){ level, live->bytes + live->sampled_bytes,
				    live->variance_bytes };
}

/* After the group's level rose, by a change of site. */
static void totals_rose(struct site_totals *totals, const struct site *site)
{
	uint64_t level = estimate_level(&totals->live);

	if (level <= totals->peak_level)
		return;
	totals->peak_level = level;
	totals->peak_change = site->changed;
	note_peak(&totals->peak, &totals->live, level);
}

/* After the site's own level rose. */
static void site_rose(struct site *site)
{
	uint64_t level = estimate_level(&site->live);

	if (level <= site->peak_level)
		return;
	site->peak_level = level;
	note_peak(&site->peak, &site->live, level);
}

/* What it adds to those that live. NULL: nothing. */
static const struct estimate_term *change_lives(const struct site_change *change)
{
	if (!change->thinned)
		return change->untracked ? NULL : &change->term;
	return change->lives.weighted_count || change->lives.size ? &change->lives : NULL;
}

static void totals_come(struct site_totals *totals, const struct site *site,
			const struct site_change *change)
{
	const struct estimate_term *lives = change_lives(change);

	estimate_add(&totals->alloc, &change->term);
	if (change->untracked)
		estimate_add(&totals->untracked, &change->term);
	if (!lives)
		return;
	estimate_add(&totals->live, lives);
	totals->overhead_level += term_scale(lives, change->overhead);
	totals_rose(totals, site);
}

static void totals_go(struct site_totals *totals, const struct site_change *change)
{
	estimate_remove(&totals->live, &change->term);
	totals->overhead_level -= term_scale(&change->term, change->overhead);
	totals->temporary_count += change->temporary;
}

void sites_alloc(struct sites *sites, struct site *site, const struct site_change *change)
{
	const struct estimate_term *lives = change_lives(change);

	if (lives)
		site_changes(sites, site);
	totals_come(site_group(sites, site), site, change);
	if (site->kind == SITE_MALLOC)
		histogram_add(sites, &change->term);
	if (change->term.size < site->size_low)
		site->size_low = change->term.size;
	site->size_high = later(site->size_high, change->term.size);
	size_set_add(&site->sizes, change->term.size);
	estimate_add(&site->alloc, &change->term);
	if (site->first_time == 0)
		site->first_time = change->time;
	site->last_time = change->time;
	if (site->last_thread != change->thread)
		site_add_thread(sites, site, change->thread);
	if (change->untracked) {
		estimate_add(&site->untracked, &change->term);
		sites->oddities.untracked++;
	}
	if (!lives)
		return;
	estimate_add(&site->live, lives);
	if (lives->weighted_count)
		site_moves_come(sites, site, lives);
	site_rose(site);
}

static uint64_t change_age(const struct site_change *change)
{
	return change->time > change->born ? change->time - change->born : 0;
}

static void site_lived(struct sites *sites, struct site *site, uint64_t ticks, double weight)
{
	size_t before = site_lifetimes_bytes(site);

	lifetimes_add_later(&site->lifetimes, ticks, weight, sites->later);
	sites->lifetimes_bytes += site_lifetimes_bytes(site) - before;
}

void sites_release(struct sites *sites, struct site *site, const struct site_change *change)
{
	site_changes(sites, site);
	totals_go(site_group(sites, site), change);
	estimate_remove(&site->live, &change->term);
	if (change->term.weighted_count)
		site_moves_end(sites, site, change);
	site->temporary_count += change->temporary;
	site->last_time = change->time;
	site_lived(sites, site, change_age(change),
		      (double)estimate_term_count(&change->term) / ESTIMATE_COUNT_ONE);
}

void sites_lose(struct sites *sites, struct site *site, const struct site_change *change)
{
	struct site_totals *totals = site_group(sites, site);

	site_changes(sites, site);
	totals_go(totals, change);
	estimate_add(&totals->untracked, &change->term);
	estimate_remove(&site->live, &change->term);
	estimate_add(&site->untracked, &change->term);
	if (change->term.weighted_count)
		site_moves_end(sites, site, change);
}

void sites_thin(struct sites *sites, struct site *site, const struct site_change *before,
		const struct site_change *after)
{
	struct site_totals *totals = site_group(sites, site);
	bool recent = before->born >= sites->window_begin;

	site_changes(sites, site);
	estimate_remove(&totals->live, &before->term);
	totals->overhead_level -= term_scale(&before->term, before->overhead);
	estimate_remove(&site->live, &before->term);
	if (recent)
		site_moves_thin(sites, site, &before->term, after ? &after->term : NULL);
	if (!after)
		return;
	estimate_add(&totals->live, &after->term);
	totals->overhead_level += term_scale(&after->term, after->overhead);
	estimate_add(&site->live, &after->term);
}

/* Weights are of records, which may be forged. Whole numbers below 2^53 stay what they are. */
static uint64_t fixed_point(double value)
{
	return value < FIXED_POINT_MAX ? (uint64_t)(value + 0.5) : (uint64_t)FIXED_POINT_MAX;
}

int sites_resize(struct sites *sites, struct site *site, enum site_resize how,
		 const struct site_change *change)
{
	struct site_resizes *to;

	if (!site->resized && site_side_add(&sites->resizes, &site->resized) < 0)
		return -ENOMEM;
	to = site_side_at(&sites->resizes, site->resized);
	to->count[how] += estimate_term_count(&change->term);
	if (site->first_time == 0)
		site->first_time = change->time;
	site->last_time = change->time;
	return 0;
}

void sites_resize_known(struct sites *sites, const struct site *site, enum site_resize_known how,
			double weight, uint64_t bytes)
{
	struct site_resizes *to = site_side_at(&sites->resizes, site->resized);

	to->known[how] += fixed_point(weight * ESTIMATE_COUNT_ONE);
	to->copied_bytes += fixed_point(weight * (double)bytes * ESTIMATE_BYTES_ONE);
}

const struct site_resizes *sites_resizes(const struct sites *sites, const struct site *site)
{
	return site->resized ? site_side_at(&sites->resizes, site->resized) : NULL;
}

void sites_shrink(struct sites *sites, struct site *site, const struct site_change *change,
		  bool whole)
{
	struct site_totals *totals = site_group(sites, site);

	site_changes(sites, site);
	totals->live.bytes -= change->term.size;
	totals->live.count -= whole;
	site->live.bytes -= change->term.size;
	site->live.count -= whole;
	site->last_time = change->time;
	if (whole)
		site_lived(sites, site, change_age(change), 1.0);
}

void sites_regrow(struct sites *sites, struct site *site, const struct site_change *change,
		  bool whole)
{
	struct site_totals *totals = site_group(sites, site);

	site_changes(sites, site);
	totals->live.bytes += change->term.size;
	totals->live.count += whole;
	totals_rose(totals, site);
	site->live.bytes += change->term.size;
	site->live.count += whole;
	site->peak_level = later(site->peak_level, estimate_level(&site->live));
	if (whole)
		site_lived(sites, site, change_age(change), -1.0);
}

struct estimate sites_freed(const struct site *site)
{
	struct estimate seen = estimate_without(&site->alloc, &site->untracked);

	return estimate_without(&seen, &site->live);
}

struct estimate sites_totals_freed(const struct site_totals *totals)
{
	struct estimate seen = estimate_without(&totals->alloc, &totals->untracked);

	return estimate_without(&seen, &totals->live);
}

const struct site_totals *sites_totals(const struct sites *sites, enum site_kind kind)
{
	return &sites->group[kind];
}

const struct site_totals *sites_allocator_maps(const struct sites *sites)
{
	return &sites->group[GROUP_ALLOCATOR];
}

struct site_oddities *sites_oddities(struct sites *sites)
{
	return &sites->oddities;
}

const struct site_oddities *sites_oddities_peek(const struct sites *sites)
{
	return &sites->oddities;
}

struct large_sizes {
	struct { uint64_t size, number; } bar[MAX_SIZES + 512u];
	size_t count;
};

static void large_collect(void *context, uint64_t size, uint64_t number)
{
	struct large_sizes *large = context;

	if (large->count >= ARRAY_SIZE(large->bar))
		return;
	large->bar[large->count].size = size;
	large->bar[large->count++].number = number;
}

static int large_compare(const void *a, const void *b)
{
	const uint64_t *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

static size_t histogram_large(const struct sites *sites,
			      void (*each)(void *context, uint64_t size, double count),
			      void *context)
{
	_cleanup_free_ struct large_sizes *large = calloc(1, sizeof(*large));

	if (!large)
		return 0;
	hashmap_each(&sites->large_size, large_collect, large);
	qsort(large->bar, large->count, sizeof(large->bar[0]), large_compare);
	for (size_t i = 0; each && i < large->count; i++)
		each(context, large->bar[i].size,
		     (double)large->bar[i].number / ESTIMATE_COUNT_ONE);
	return large->count;
}

size_t sites_histogram(const struct sites *sites,
		       void (*each)(void *context, uint64_t size, double count), void *context)
{
	size_t bars = 0;

	for (uint64_t size = 0; size < SITE_SMALL_SIZES; size++) {
		if (sites->small_size[size] == 0)
			continue;
		bars++;
		if (each)
			each(context, size, (double)sites->small_size[size] / ESTIMATE_COUNT_ONE);
	}
	return bars + histogram_large(sites, each, context);
}

static void renew_window(struct sites *sites, struct site *site)
{
	site_moves_renew(sites, site);
	site->previous = site->window;
	site->window = (struct site_window){
		.level = estimate_level(&site->live),
		.samples = site->alloc.count + site->alloc.samples,
	};
}

void sites_tick(struct sites *sites, uint64_t now)
{
	if (++sites->ticks < sites->next_renewal)
		return;
	sites->next_renewal *= 2;
	sites->previous_begin = sites->window_begin;
	sites->window_begin = now;
	for (uint32_t i = 0; i < sites->count; i++)
		renew_window(sites, site_placed(sites, i));
}

/*
 * The value is what lives now less what lived then. In doubt are only the sampled
 * blocks that are in one and not in the other: those that came or went meanwhile.
 */
struct site_growth sites_growth(const struct sites *sites, const struct site *site,
				struct estimate_unseen unseen, uint64_t begin, uint64_t now)
{
	struct site_moves moves = site_moves_sum(sites, site);
	struct estimate_interval came, went;
	struct site_growth ret = {
		.samples = site->alloc.count + site->alloc.samples - site->previous.samples,
	};
	struct estimate_interval *bytes = &ret.bytes;

	came = estimate_bytes_interval(&moves.in, unseen);
	went = estimate_bytes_interval(&moves.out, unseen);
	bytes->value = ((double)estimate_level(&site->live) - (double)site->previous.level) /
		       ESTIMATE_BYTES_ONE;
	bytes->low = bytes->value - hypot(came.value - came.low, went.high - went.value);
	bytes->high = bytes->value + hypot(came.high - came.value, went.value - went.low);
	begin = later(begin, sites->previous_begin);
	ret.ticks = now > begin ? now - begin : 0;
	return ret;
}
