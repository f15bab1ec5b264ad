/* SPDX-License-Identifier: MIT */
/*
 * interval.c - the rows of one interval, within the caller's transaction.
 *
 * Sites that saw no event since the last interval are skipped until the last
 * snapshot, when all are written once more.
 */
#include <math.h>

#include "src/recording/counted.h"
#include "src/recording/reallocs.h"
#include "src/recording/recorded_wrong_frees.h"
#include "src/recording/recording_private.h"

#define CELLS_OF_BOUNDS(bounds)	CELL_I((bounds).low), CELL_I((bounds).high)
/* As read_intervals() in read.c reads them. */
#define CELLS_OF_INTERVALS(in) \
	CELLS_OF_BOUNDS((in).alloc_count), CELLS_OF_BOUNDS((in).alloc_bytes), \
	CELLS_OF_BOUNDS((in).free_count), CELLS_OF_BOUNDS((in).free_bytes), \
	CELLS_OF_BOUNDS((in).live_count), CELLS_OF_BOUNDS((in).peak_live_bytes), \
	CELLS_OF_BOUNDS((in).temporary_count)

/* Entry points are hooked once: written when their number changes, not each interval. */
static int put_allocators(struct recording *recording, const struct snapshot_target *target)
{
	int err = recording_db_run(recording->db, "DELETE FROM allocators;"
						  "DELETE FROM entry_points;");

	for (size_t i = 0; err == 0 && i < target->allocator_count; i++) {
		const struct snapshot_allocator *allocator = &target->allocator[i];

		err = PUT(recording, TABLE_ALLOCATORS, CELL_I(i), CELL_T(allocator->name),
			  CELL_T(allocator->version), CELL_T(allocator->module));
		for (size_t n = 0; err == 0 && n < allocator->hooked_count; n++)
			err = PUT(recording, TABLE_ENTRY_POINTS, CELL_I(i),
				  CELL_T(allocator->hooked[n]), CELL_I(0));
		for (size_t n = 0; err == 0 && n < allocator->unhooked_count; n++)
			err = PUT(recording, TABLE_ENTRY_POINTS, CELL_I(i),
				  CELL_T(allocator->unhooked[n]), CELL_I(1));
	}
	return err;
}

size_t recording_hooked_count(const struct snapshot_target *target)
{
	size_t count = 0;

	for (size_t i = 0; i < target->allocator_count; i++)
		count +=
			1 + target->allocator[i].hooked_count + target->allocator[i].unhooked_count;
	return count;
}

static int put_target(struct recording *recording, const struct snapshot_target *target)
{
	int err = recording_db_run(recording->db, "DELETE FROM target");

	if (err == 0)
		err = PUT(recording, TABLE_TARGET, CELL_I(target->pid), CELL_T(target->exe),
			  CELL_T(target->cmdline), CELL_R(target->start_time),
			  CELL_I(target->threads), CELL_I(target->rss_bytes),
			  CELL_I(target->vsz_bytes), CELL_I(target->owner));
	if (err == 0 && recording_hooked_count(target) != recording->hooked_count)
		err = put_allocators(recording, target);
	return err;
}

static int put_session(struct recording *recording, const struct snapshot *snapshot)
{
	const struct snapshot_session *session = &snapshot->session;
	const struct snapshot_memory *m = &session->memory;
	int err = recording_db_run(recording->db, "DELETE FROM session");

	return err < 0 ? err :
	       PUT(recording, TABLE_SESSION, CELL_T(session->version), CELL_I(session->mode),
		   CELL_I(session->loader), CELL_R(session->begin_time), CELL_R(session->duration),
		   CELL_I(session->sample_interval_bytes), CELL_R(session->overhead_percent),
		   CELL_I(session->attach_stop_us_max), CELL_I(session->detach_stop_us_max),
		   CELL_I(session->threads_stopped), CELL_I(session->detached),
		   CELL_I(session->events.alloc), CELL_I(session->events.free),
		   CELL_I(session->events.map), CELL_I(session->events.unmap),
		   CELL_I(session->lost.alloc), CELL_I(session->lost.free),
		   CELL_I(session->lost.stack), CELL_I(session->lost.map),
		   CELL_I(session->lost.alloc_bytes), CELL_I(session->stacks.distinct),
		   CELL_I(session->stacks.unwound), CELL_I(session->stacks.truncated),
		   CELL_I(session->stacks.recognised), CELL_R(session->blocked_seconds),
		   CELL_I(session->corrupt), CELL_I(session->gaps),
		   CELL_R(session->gap_seconds), CELL_I(snapshot->exact),
		   CELL_I(snapshot->every_alloc), CELL_I(snapshot->complete),
		   CELL_I(snapshot->has_leaks), CELL_I(recording->limit.bytes),
		   CELL_I(recording->limit.given_up), CELL_I(session->stacks.audited),
		   CELL_I(session->stacks.mismatched), CELL_I(m->limit_bytes),
		   CELL_I(m->used_bytes), CELL_I(m->peak_bytes), CELL_I(m->evicted_sites),
		   CELL_I(m->evicted_stacks), CELL_I(m->evicted_alloc_count),
		   CELL_I(m->evicted_alloc_bytes), CELL_I(m->thinned_blocks),
		   CELL_I(m->thinned_bytes), CELL_I(m->thinned_interval_bytes),
		   CELL_I(session->lost.hidden), CELL_I(session->lost.hidden_bytes),
		   CELL_I(session->started));
}

static int put_totals(struct recording *recording, const struct snapshot *snapshot)
{
	const struct snapshot_totals *t = &snapshot->totals;
	const struct snapshot_map_totals *m = &snapshot->map_totals;

	return PUT(recording, TABLE_SNAPSHOTS, CELL_I(++recording->snapshot_count),
		   CELL_R(snapshot->session.duration), CELL_I(t->alloc_count),
		   CELL_I(t->alloc_bytes), CELL_I(t->free_count), CELL_I(t->free_bytes),
		   CELL_I(t->double_free_count), CELL_I(t->illegal_free_count),
		   CELL_I(t->free_unknown_count), CELL_I(t->temporary_count),
		   CELL_I(t->overhead_bytes), CELL_I(t->live_count), CELL_I(t->live_bytes),
		   CELL_I(t->peak_live_bytes), CELL_I(t->live_bytes_low),
		   CELL_I(t->live_bytes_high), CELL_I(t->missed_free_count),
		   CELL_I(t->untracked_count), CELL_I(t->samples), CELL_I(m->map_count),
		   CELL_I(m->map_bytes), CELL_I(m->unmap_count), CELL_I(m->unmap_bytes),
		   CELL_I(m->live_count), CELL_I(m->live_bytes), CELL_I(m->peak_live_bytes),
		   CELL_I(m->allocator_live_bytes), CELL_I(m->unmap_unknown_bytes),
		   CELL_I(snapshot->reason), CELLS_OF_INTERVALS(t->in));
}

/* An end that is the value itself, as most are, is NULL, which takes no room. */
#define CELL_OF_END(point, end, figure) \
	CELL_I_IF((point)->in.figure.end, \
		  (point)->bounded && (point)->in.figure.end != (point)->figure)
#define CELLS_OF_ENDS(point, figure) \
	CELL_OF_END(point, low, figure), CELL_OF_END(point, high, figure)

/* The last known point may have grown; when points were joined, all are new. */
static int put_timeline(struct recording *recording, const struct snapshot *snapshot)
{
	size_t from = recording->timeline_count ? recording->timeline_count - 1 : 0;
	int err = 0;

	if (snapshot->timeline_count < recording->timeline_count) {
		err = recording_db_run(recording->db, "DELETE FROM timeline");
		from = 0;
	}
	for (size_t i = from; err == 0 && i < snapshot->timeline_count; i++) {
		const struct timeline_point *point = &snapshot->timeline[i];

		err = PUT(recording, TABLE_TIMELINE, CELL_I(i), CELL_R(point->time),
			  CELL_I(point->alloc_count), CELL_I(point->free_count),
			  CELL_I(point->alloc_bytes), CELL_I(point->live_bytes),
			  CELL_I(point->rss_bytes), CELL_I(point->vsz_bytes),
			  CELL_I_IF(point->trend_bytes, point->trend_known),
			  CELL_I(point->sample_interval),
			  CELLS_OF_ENDS(point, alloc_count), CELLS_OF_ENDS(point, free_count),
			  CELLS_OF_ENDS(point, alloc_bytes), CELLS_OF_ENDS(point, live_bytes),
			  CELL_I_IF(point->lost, point->bounded));
	}
	return err;
}

static int put_histogram(struct recording *recording, const struct snapshot *snapshot)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < snapshot->histogram_count; i++)
		err = PUT(recording, TABLE_HISTOGRAM, CELL_I(snapshot->histogram[i].size),
			  CELL_I(snapshot->histogram[i].count));
	return err;
}

static int put_site(struct recording *recording, const struct snapshot_site *s)
{
	return PUT(recording, TABLE_SITES, CELL_I(s->id), CELL_I(s->stack), CELL_I(s->kind),
		   CELL_I(s->skip_frames), CELL_I(s->verdict), CELL_I(s->live_count),
		   CELL_I(s->live_bytes), CELL_I(s->live_bytes_low), CELL_I(s->live_bytes_high),
		   CELL_I(s->alloc_count), CELL_I(s->alloc_bytes), CELL_I(s->free_count),
		   CELL_I(s->peak_live_bytes), CELL_I(s->temporary_count), CELL_I(s->samples),
		   CELL_I(s->threads), CELL_R(s->lifetime_p50), CELL_R(s->lifetime_p90),
		   CELL_R(s->lifetime_max), CELL_R(s->first_time), CELL_R(s->last_time),
		   CELL_R(s->growth), CELL_R(s->growth_low), CELL_R(s->growth_high),
		   CELL_I(s->at_peak_bytes), CELL_I(s->at_peak_count),
		   CELL_I(s->size_low), CELL_I(s->size_high), CELLS_OF_INTERVALS(s->in),
		   CELL_I(s->sizes.word[0]), CELL_I(s->sizes.word[1]),
		   CELL_I(s->sizes.word[2]), CELL_I(s->sizes.word[3]));
}

/* Sites with events since then are written; at the end all. */
static double sites_since(const struct recording *recording, const struct snapshot *snapshot)
{
	bool all = snapshot->session.detached != SNAPSHOT_ATTACHED;

	/* An interval's events may be up to a batch older than its end. */
	return all ? -INFINITY : recording->until - 1.0;
}

static int put_sites(struct recording *recording, const struct snapshot *snapshot, double since)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < snapshot->site_count; i++)
		if (snapshot->site[i].last_time >= since)
			err = put_site(recording, &snapshot->site[i]);
	return err;
}

static int put_leaks(struct recording *recording, const struct snapshot *snapshot)
{
	int err = recording_db_run(recording->db, "DELETE FROM leaks; DELETE FROM leak_addresses;");

	for (size_t i = 0; err == 0 && i < snapshot->leak_count; i++) {
		const struct snapshot_leak *leak = &snapshot->leak[i];

		err = PUT(recording, TABLE_LEAKS, CELL_I(leak->site), CELL_I(leak->count),
			  CELL_I(leak->bytes), CELL_R(leak->oldest));
		for (uint32_t n = 0; err == 0 && n < leak->address_count; n++)
			err = PUT(recording, TABLE_LEAK_ADDRESSES, CELL_I(leak->site), CELL_I(n),
				  CELL_I(leak->address[n]));
	}
	return err;
}

int recording_put_interval(struct recording *recording, const struct snapshot *snapshot,
			   const struct stacks *stacks, const struct modules *modules,
			   struct recording_reach *ret)
{
	/* More may come meanwhile, by the pulse: they are the next interval's. */
	const uint32_t stack_count = stacks_count(stacks);
	double since = sites_since(recording, snapshot);
	int err = put_target(recording, &snapshot->target);

	ret->stack_count = stack_count;
	if (err == 0)
		err = put_totals(recording, snapshot);
	if (err == 0)
		err = put_timeline(recording, snapshot);
	if (err == 0)
		err = put_histogram(recording, snapshot);
	if (err == 0)
		err = recording_put_modules(recording, modules, &ret->module_count);
	if (err == 0)
		err = stack_rows_put(&recording->rows, stacks, recording->stack_count + 1,
				     stack_count);
	if (err == 0)
		err = put_sites(recording, snapshot, since);
	if (err == 0)
		err = recording_reallocs_put(recording->db, snapshot, since);
	if (err == 0)
		err = recording_series_add(recording->series, recording->snapshot_count, snapshot);
	if (err == 0 && snapshot->has_leaks)
		err = put_leaks(recording, snapshot);
	if (err == 0)
		err = recording_wrong_frees_put(recording->db, snapshot);
	if (err == 0)
		err = recording_counted_put(recording->db, recording->snapshot_count,
					    recording->limit.bytes, snapshot);
	if (err == 0)
		err = recording_limit_keep(&recording->limit, recording->db, recording->series,
					   recording->snapshot_count, COURSE_PART);
	if (err == 0)	/* last: it says how much was given up */
		err = put_session(recording, snapshot);
	return err;
}
