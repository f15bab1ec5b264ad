/* SPDX-License-Identifier: MIT */
/*
 * several_sites.c - see several_private.h.
 *
 * Sums of figures that may be anything end at UINT64_MAX. Errors of sampling are independent from
 * one process to the next, so the half-widths of intervals add up as the squares do. What can't be
 * added (lifetimes, growth, peaks at different moments) is not there.
 */
#include "src/several/several_private.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "src/report/diff_key.h"
#include "src/view/view_metric.h"

/* Figures whose intervals are in snapshot_site.in. */
#define AT(member) offsetof(struct snapshot_site, member)
#define FIGURE(name) { AT(name), AT(in.name) }
static const struct {
	size_t value, bounds;
} figure[] = {
	FIGURE(alloc_count), FIGURE(alloc_bytes), FIGURE(free_count), FIGURE(live_count),
	FIGURE(temporary_count),
};
#define FIGURES ARRAY_SIZE(figure)

struct slot {
	struct snapshot_site sum;	/* its stack: that with the most names */
	struct spread {
		double low, high;	/* squares of the interval's half-widths */
	} live_bytes, spread[FIGURES];
	struct several_site site;
	uint32_t part_room, named;
	size_t order;			/* of appearance */
	void *key;
	UT_hash_handle hh;
};
struct adding {
	struct several *several;
	struct site_frames frames;
	struct slot *slots;		/* a uthash */
	struct slot ***place;		/* by process and site: where it went */
};

static void slot_free(struct slot *slot)
{
	free(slot->site.part);
	free(slot->key);
	free(slot);
}

/* The slot with this key (taken), made if new. NULL: out of memory. */
static struct slot *slot_for(struct adding *a, void *key, size_t key_bytes)
{
	struct slot *slot;

	HASH_FIND(hh, a->slots, key, key_bytes, slot);
	if (slot) {
		free(key);
		return slot;
	}
	slot = calloc(1, sizeof(*slot));
	if (!slot) {
		free(key);
		return NULL;
	}
	slot->key = key;
	slot->order = HASH_COUNT(a->slots);
	HASH_ADD_KEYPTR(hh, a->slots, slot->key, key_bytes, slot);
	if (slot->hh.tbl)
		return slot;
	slot_free(slot);
	return NULL;
}

static struct several_part *part_for(struct slot *slot, uint32_t process)
{
	struct several_site *site = &slot->site;
	uint32_t room = slot->part_room ? slot->part_room * 2 : 2;

	if (site->part_count && site->part[site->part_count - 1].process == process)
		return &site->part[site->part_count - 1];
	if (site->part_count == slot->part_room) {
		void *grown = reallocarray(site->part, room, sizeof(*site->part));

		if (!grown)
			return NULL;
		site->part = grown;
		slot->part_room = room;
	}
	site->part[site->part_count] = (struct several_part){ .process = process };
	return &site->part[site->part_count++];
}

static void sum_to(uint64_t *to, uint64_t more)
{
	*to = view_sum(*to, more);
}

static void add_part(struct several_part *to, const struct snapshot_site *s)
{
	sum_to(&to->live_bytes, s->live_bytes);
	sum_to(&to->live_count, s->live_count);
	sum_to(&to->alloc_bytes, s->alloc_bytes);
	sum_to(&to->alloc_count, s->alloc_count);
	sum_to(&to->free_count, s->free_count);
}

static double square(uint64_t larger, uint64_t smaller)
{
	double apart = larger > smaller ? (double)(larger - smaller) : 0;

	return apart * apart;
}

static void add_spread(struct spread *to, uint64_t value, uint64_t low, uint64_t high)
{
	to->low += square(value, low);
	to->high += square(high, value);
}

static void add_spreads(struct slot *slot, const struct snapshot_site *s)
{
	const char *base = (const char *)s;

	add_spread(&slot->live_bytes, s->live_bytes, s->live_bytes_low, s->live_bytes_high);
	for (size_t i = 0; i < FIGURES; i++) {
		const uint64_t *value = (const void *)(base + figure[i].value);
		const struct snapshot_bounds *bounds = (const void *)(base + figure[i].bounds);

		add_spread(&slot->spread[i], *value, bounds->low, bounds->high);
	}
}

static void add_figures(struct slot *slot, const struct snapshot_site *s)
{
	struct snapshot_site *to = &slot->sum;
	bool first = slot->site.part_count == 0;

	add_spreads(slot, s);
	to->kind = s->kind;
	sum_to(&to->live_bytes, s->live_bytes);
	sum_to(&to->live_count, s->live_count);
	sum_to(&to->alloc_bytes, s->alloc_bytes);
	sum_to(&to->alloc_count, s->alloc_count);
	sum_to(&to->free_count, s->free_count);
	sum_to(&to->peak_live_bytes, s->peak_live_bytes);
	sum_to(&to->temporary_count, s->temporary_count);
	sum_to(&to->samples, s->samples);
	to->threads = s->threads > UINT32_MAX - to->threads ? UINT32_MAX :
		      to->threads + s->threads;
	to->size_low = first || s->size_low < to->size_low ? s->size_low : to->size_low;
	to->size_high = s->size_high > to->size_high ? s->size_high : to->size_high;
	size_set_merge(&to->sizes, &s->sizes);
}

/* Frames are those of site, just taken. */
static int describe(struct adding *a, struct slot *slot, uint32_t process,
		    const struct snapshot_site *site)
{
	const struct diff_entry like = { .frame = a->frames.frame,
					 .frame_count = a->frames.frame_count };
	uint32_t named = diff_key_named_frames(&like) + 1;

	if (named <= slot->named)
		return 0;
	slot->named = named;
	slot->sum.skip_frames = site->skip_frames;
	return several_stacks_add(a->several, process, site->stack, &slot->sum.stack);
}

static int add_site(struct adding *a, uint32_t process, const struct snapshot_site *site,
		    struct slot **ret)
{
	struct diff_entry like = { .verdict = NULL };
	struct several_part *part;
	struct slot *slot;
	size_t key_bytes = 0;
	void *key;
	int err = site_frames_take(&a->frames, a->several->process[process].content, site);

	if (err < 0)
		return err;
	like.frame = a->frames.frame;
	like.frame_count = a->frames.frame_count;
	key = diff_key_make(&like, snapshot_kind_name(site->kind), &key_bytes);
	slot = key ? slot_for(a, key, key_bytes) : NULL;
	if (!slot || a->several->tables->no_memory)
		return -ENOMEM;
	add_figures(slot, site);
	part = part_for(slot, process);
	if (!part)
		return -ENOMEM;
	add_part(part, site);
	*ret = slot;
	return describe(a, slot, process, site);
}

static int add_process(struct adding *a, uint32_t process)
{
	const struct snapshot *snapshot = a->several->process[process].content->snapshot;
	int err = 0;

	a->place[process] = calloc(snapshot->site_count + 1, sizeof(struct slot *));
	if (!a->place[process])
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < snapshot->site_count; i++)
		err = add_site(a, process, &snapshot->site[i], &a->place[process][i]);
	return err;
}

/* As in a snapshot of one process: by live bytes, then allocated ones. */
static int by_live(struct slot *a, struct slot *b)
{
	if (a->sum.live_bytes != b->sum.live_bytes)
		return a->sum.live_bytes < b->sum.live_bytes ? 1 : -1;
	if (a->sum.alloc_bytes != b->sum.alloc_bytes)
		return a->sum.alloc_bytes < b->sum.alloc_bytes ? 1 : -1;
	return (a->order > b->order) - (a->order < b->order);
}

static struct snapshot_bounds bounds_of(uint64_t value, const struct spread *spread)
{
	double low = sqrt(spread->low), high = sqrt(spread->high);

	return (struct snapshot_bounds){
		low < (double)value ? value - (uint64_t)low : 0,
		high < (double)(UINT64_MAX - value) ? value + (uint64_t)high : UINT64_MAX,
	};
}

static void set_intervals(struct slot *slot)
{
	struct snapshot_bounds live = bounds_of(slot->sum.live_bytes, &slot->live_bytes);
	char *base = (char *)&slot->sum;

	slot->sum.live_bytes_low = live.low;
	slot->sum.live_bytes_high = live.high;
	for (size_t i = 0; i < FIGURES; i++) {
		const uint64_t *value = (const void *)(base + figure[i].value);
		struct snapshot_bounds *bounds = (void *)(base + figure[i].bounds);

		*bounds = bounds_of(*value, &slot->spread[i]);
	}
}

/* From the slots, which are sorted, into what is several's. */
static int move_sites(struct adding *a)
{
	struct several *several = a->several;
	struct snapshot *snapshot = several->snapshot;
	struct slot *slot, *next;

	snapshot->site = calloc(HASH_COUNT(a->slots) + 1u, sizeof(*snapshot->site));
	several->site = calloc(HASH_COUNT(a->slots) + 1u, sizeof(*several->site));
	if (!snapshot->site || !several->site)
		return -ENOMEM;
	HASH_ITER(hh, a->slots, slot, next) {
		size_t at = snapshot->site_count++;

		set_intervals(slot);
		slot->sum.id = (uint32_t)at + 1;
		snapshot->site[at] = slot->sum;
		several->site[at] = slot->site;
		slot->site.part = NULL;
	}
	return 0;
}

static int note_ids(struct adding *a)
{
	struct several *several = a->several;

	for (size_t p = 0; p < several->watched; p++) {
		size_t count = several->process[p].content->snapshot->site_count;
		uint32_t *id = calloc(count + 1, sizeof(*id));

		if (!id)
			return -ENOMEM;
		several->tables->site_id[p] = id;
		for (size_t i = 0; i < count; i++)
			id[i] = a->place[p][i]->sum.id;
	}
	return 0;
}

static void adding_done(struct adding *a)
{
	struct slot *slot, *next;

	for (size_t p = 0; a->place && p < a->several->watched; p++)
		free(a->place[p]);
	free(a->place);
	HASH_ITER(hh, a->slots, slot, next) {
		HASH_DEL(a->slots, slot);
		slot_free(slot);
	}
	site_frames_done(&a->frames);
}

int several_sites_add(struct several *several)
{
	struct adding a = { .several = several, .frames = several_match_frames(several) };
	int err = 0;

	a.place = calloc(several->watched + 1, sizeof(*a.place));
	several->tables->site_id = calloc(several->watched + 1, sizeof(uint32_t *));
	if (!a.place || !several->tables->site_id)
		err = -ENOMEM;
	for (size_t p = 0; err == 0 && p < several->watched; p++)
		err = add_process(&a, (uint32_t)p);
	if (err == 0) {
		HASH_SORT(a.slots, by_live);
		err = move_sites(&a);
	}
	if (err == 0)
		err = note_ids(&a);
	adding_done(&a);
	return err;
}
