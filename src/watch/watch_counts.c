/* SPDX-License-Identifier: MIT */
/*
 * watch_counts.c - see watch_counts.h and docs/COUNTS.md.
 *
 * Sites get what was allocated at them, and never a live block: which site a freed block came from
 * is not counted. A path can be met in the counters before the record that tells it was read: it
 * is booked by one of the next readings then, the last of which comes after everything.
 */
#include "src/watch/watch_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/watch/counter_bounds.h"

#define COPIES_AT_ONCE	20000.0
#define COPIES_A_SECOND	500.0

int watch_counts_open(struct watch *w)
{
	return counts_new(w->control, w->mapped_bytes, &w->counts);
}

/* The site of a row: its id is kept in the row's mark. 0 or -ENOMEM; mark 0: not known yet. */
static int find_site(struct watch *w, struct counts_row *row, bool last)
{
	uint32_t stack = 0;
	struct site *site;
	int error = 0;

	if (row->by_caller)
		error = watch_caller_stack(w, row->path, &stack);
	else if (w->recognition)
		stack = recognition_stack(w->recognition, row->path);
	if (error || (!stack && !last))
		return error;
	site = sites_get(w->sites, stack, SITE_MALLOC);
	if (!site)
		return -ENOMEM;
	row->mark = site->id;
	return 0;
}

/* Sums are made anew each time, as the counters are. */
static void clear_sites(struct watch *w)
{
	for (uint32_t id = 1; id <= sites_count(w->sites); id++) {
		struct site *site = sites_find(w->sites, id);

		if (site && site->kind != SITE_MMAP)
			site->alloc.count = site->alloc.bytes = 0;
	}
}

static void add_to_site(struct watch *w, struct site *site, const struct counts_rest *more,
			bool changed)
{
	site->alloc.count += more->count;
	site->alloc.bytes += more->bytes;
	if (!changed)
		return;
	site->last_time = reader_time(w->reader);
	if (site->first_time == 0)
		site->first_time = site->last_time;
}

/* What found no room is there, too, so that sites add up to the totals: at no known place. */
static int book_left(struct watch *w)
{
	const struct counts_rest *left = &counts_sums(w->counts)->paths_left;
	struct site *site;

	if (left->count == 0)
		return 0;
	site = sites_get(w->sites, 0, SITE_MALLOC);
	if (!site)
		return -ENOMEM;
	add_to_site(w, site, left, true);
	return 0;
}

static int book_rows(struct watch *w, bool last)
{
	int error = 0;

	for (size_t i = 0; !error && i < counts_rows(w->counts); i++) {
		struct counts_row *row = counts_row(w->counts, i);
		struct site *site;

		if (!row->mark)
			error = find_site(w, row, last);
		site = row->mark ? sites_find(w->sites, row->mark) : NULL;
		if (error || !site)
			continue;
		add_to_site(w, site,
			    &(struct counts_rest){ row->count, row->bytes },
			    row->count != row->booked);
		row->booked = row->count;
	}
	return error ? error : book_left(w);
}

int watch_counts_read(struct watch *w, bool last)
{
	int error = counts_read(w->counts, counter_bounds_events(watch_seconds(w)));

	if (error || counts_kind(w->counts) < COUNTS_SITES)
		return error;
	clear_sites(w);
	return book_rows(w, last);
}

int watch_counts_event(struct watch *w, const struct event *event)
{
	uint32_t stack;
	struct site *site;
	int error;

	if (event->path) {
		(void)watch_named_stack(w, event);
		return 0;
	}
	error = watch_stack(w, event, &stack);
	if (error)
		return error;
	site = sites_get(w->sites, stack, SITE_MALLOC);
	if (!site)
		return -ENOMEM;
	w->copied++;
	return counts_add(w->counts, site->id, event->size);
}

/* Where all stacks are such, copying them would cost what counting is to save. */
void watch_counts_allow(struct watch *w, double seconds)
{
	bool allowed = (double)w->copied < COPIES_AT_ONCE + COPIES_A_SECOND * seconds;

	__atomic_store_n(&w->control->copy_unknown, allowed, __ATOMIC_RELAXED);
}

static struct snapshot_counts figures(const struct watch *w)
{
	const struct counts_sums *sums = counts_sums(w->counts);
	const struct counts_totals *t = &sums->totals;

	return (struct snapshot_counts){
		.kind = (uint32_t)counts_kind(w->counts),
		.alloc_usable = t->alloc_usable, .alloc_unsized = t->alloc_unsized,
		.free_usable = t->free_usable, .free_unsized = t->free_unsized,
		.paths_left = sums->paths_left, .sizes_left = sums->sizes_left,
		.shared_count = sums->shared_count,
	};
}

/* Counters that the target has written over may be less than they were. */
static uint64_t more_than(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void watch_counts_point(struct watch *w, struct timeline_point *point)
{
	const struct counts_totals *now = &counts_sums(w->counts)->totals;
	struct snapshot_counts counts = figures(w);

	point->alloc_count = more_than(now->alloc_count, w->counted.alloc_count);
	point->alloc_bytes = more_than(now->alloc_bytes, w->counted.alloc_bytes);
	point->free_count = more_than(now->free_count, w->counted.free_count);
	point->live_bytes = 0;
	point->bounded = false;
	point->trend_known = snapshot_counts_trend(&counts, &point->trend_bytes);
	w->counted = *now;
}

static void add_bar(void *context, uint64_t size, uint64_t count)
{
	struct snapshot *to = context;

	to->histogram[to->histogram_count++] = (struct snapshot_bar){ size, count };
}

static int take_histogram(const struct watch *w, struct snapshot *to)
{
	free(to->histogram);
	to->histogram_count = 0;
	to->histogram = calloc(counts_sizes(w->counts, NULL, NULL) + 1, sizeof(*to->histogram));
	if (!to->histogram)
		return -ENOMEM;
	counts_sizes(w->counts, add_bar, to);
	return 0;
}

static int by_site(const void *a, const void *b)
{
	const struct snapshot_step *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return (x->low > y->low) - (x->low < y->low);
}

/* Several names of a path (of epochs, or the same frames) are one site: its steps are joined. */
static size_t join_steps(struct snapshot_step *step, size_t count)
{
	size_t kept = 0;

	qsort(step, count, sizeof(*step), by_site);
	for (size_t i = 0; i < count; i++) {
		if (kept && by_site(&step[kept - 1], &step[i]) == 0) {
			step[kept - 1].count += step[i].count;
			step[kept - 1].bytes += step[i].bytes;
		} else {
			step[kept++] = step[i];
		}
	}
	return kept;
}

static int take_steps(const struct watch *w, struct snapshot *to)
{
	size_t rows = counts_rows(w->counts), count = 0;

	to->step = calloc(rows + 1, sizeof(*to->step));
	if (!to->step)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++) {
		const struct counts_row *row = counts_row(w->counts, i);
		const struct site *site = sites_peek(w->sites, row->mark);
		uint32_t stack;

		if (!site)	/* 0: none yet */
			continue;
		stack = site->stack;
		if (stacks_get(w->stacks, stack).flags & STACK_CALLER_ONLY) {
			to->counts.by_caller.count += row->count;
			to->counts.by_caller.bytes += row->bytes;
		}
		if (stack == 0)
			to->session.lost.stack += row->count;	/* it was never told */
		to->step[count++] = (struct snapshot_step){
			.site = row->mark, .low = counts_step_low(row->step),
			.high = counts_step_low(row->step + 1) - 1,
			.count = row->count, .bytes = row->bytes,
		};
	}
	to->step_count = join_steps(to->step, count);
	return 0;
}

static void take_totals(const struct watch *w, struct snapshot *to)
{
	const struct counts_totals *from = &counts_sums(w->counts)->totals;

	to->totals.alloc_count = to->totals.samples = from->alloc_count;
	to->totals.alloc_bytes = from->alloc_bytes;
	to->totals.free_count = from->free_count;
	to->totals.free_bytes = from->free_unsized ? 0 : from->free_usable;
	to->every_alloc = to->site_peaks = to->resizes = false;
	to->intervals = to->site_intervals = false;
}

/* Recognised are those of a site that has a whole path, and not from a copy. */
static void take_stacks(const struct watch *w, struct snapshot *to)
{
	uint64_t known = to->totals.alloc_count, unknown = to->counts.by_caller.count +
							   to->counts.paths_left.count +
							   to->session.lost.stack + w->copied;

	to->session.stacks.recognised = known > unknown ? known - unknown : 0;
}

int watch_counts_snapshot(const struct watch *w, struct snapshot *to)
{
	int error;

	to->counts = figures(w);
	take_totals(w, to);
	error = take_histogram(w, to);
	if (error || counts_kind(w->counts) < COUNTS_SITES)
		return error;
	error = take_steps(w, to);
	if (!error) {
		take_stacks(w, to);
		snapshot_order_sites(to);
	}
	return error;
}
