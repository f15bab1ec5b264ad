/* SPDX-License-Identifier: MIT */
/* watch_snapshot.c - what a session's books say at a moment: points of the timeline, snapshots. */
#include "src/watch/watch_counts.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/watch/counter_bounds.h"
#include "src/watch/evict.h"

#define COUNTS_NS 5000000ull
#define GAP_SLACK_SECONDS 60	/* a machine that was held up counts on */

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* What was read a moment ago will do. */
static int read_counts(struct watch *w)
{
	uint64_t now = now_ns();

	if (w->counts_ns && now - w->counts_ns < COUNTS_NS)
		return 0;
	w->counts_ns = now;
	return watch_counts_read(w, w->finished);
}

/* The snapshot's wrong frees get the names of their entry points. */
static void name_calls(const struct watch *w, struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->wrong_free_count; i++) {
		struct snapshot_wrong_free *wrong = &snapshot->wrong_free[i];
		const char *name = wrong->realloc ? "realloc" : "free";

		if (wrong->entry < w->plan->entry_count)
			name = w->plan->entry[wrong->entry].name;
		(void)snprintf(wrong->call, sizeof(wrong->call), "%.*s",
			       (int)sizeof(wrong->call) - 1, name);
	}
}

static void note_recognition(const struct watch *w, struct snapshot_session *session)
{
	struct recognition_stats stats;

	if (!w->recognition)
		return;
	recognition_stats(w->recognition, &stats);
	session->stacks.recognised = stats.recognised;
	session->stacks.truncated += stats.truncated;
	session->stacks.audited = stats.audited;
	session->stacks.mismatched = stats.mismatched;
	session->lost.stack += stats.unknown;
}

/* What was missed. pre: the pace has just looked. */
static struct doubt doubt_of(const struct watch *w, const struct snapshot_session *session,
			     const struct reader_losses *losses)
{
	return (struct doubt){
		.unseen = pace_unseen(&w->pace), .passed = pace_passed(&w->pace),
		.hidden = losses->hidden, .hidden_bytes = losses->hidden_bytes,
		.lost_frees = losses->free_booked,
		.open = session->gaps > 0 || session->corrupt > 0,
		.held = held_now(&w->memory_held),
		.held_peak = losses->map ? 0 : held_peak(&w->memory_held, w->sites),
	};
}

/* The target's counters, as far as they can be true; else nothing that follows is certain. */
static void take_losses(const struct watch *w, struct reader_losses *losses,
			struct snapshot_session *session)
{
	const double seconds = watch_seconds(w);
	uint64_t gap = __atomic_load_n(&w->control->gap_cycles, __ATOMIC_RELAXED);
	bool whole = !w->overwritten;

	reader_losses(w->reader, losses);
	whole &= counter_bounds_losses(losses, seconds, w->ticks.hz);
	whole &= !w->counts || !counts_are_corrupt(w->counts);
	if ((double)gap > (seconds + GAP_SLACK_SECONDS) * w->ticks.hz) {
		gap = 0;
		whole = false;
	}
	if (!whole && !losses->corrupt)
		losses->corrupt = 1;
	snapshot_session_losses(session, losses, &w->ticks);
	session->gaps = w->epoch - 1 + w->lapsed;
	session->gap_seconds = ticks_span(&w->ticks, gap + w->open_gap);
}

/* What was missed so far; session: losses, interval, costs. */
static struct doubt missed(struct watch *w, struct snapshot_session *session)
{
	struct reader_losses losses;

	take_losses(w, &losses, session);
	session->sample_interval_bytes = w->control->interval;
	session->overhead_percent = pace_overhead(&w->pace);
	return doubt_of(w, session, &losses);
}

int watch_tick(struct watch *w)
{
	struct target_sizes sizes = target_view_sizes(w->view);
	struct snapshot_input input = { .sites = w->sites, .live = w->live };
	struct snapshot_session session = { 0 };
	struct timeline_point point = {
		.rss_bytes = sizes.rss, .vsz_bytes = sizes.vsz,
		.sample_interval = w->reader ? w->control->interval : 0,
	};
	int error;

	held_look(&w->memory_held, sizes.data);
	sites_tick(w->sites, w->reader ? reader_time(w->reader) : ticks_now());
	error = w->counts ? read_counts(w) : 0;
	if (error)
		return error;
	if (w->reader)
		input.doubt = missed(w, &session);
	point.time = watch_seconds(w);
	snapshot_point(&input, &w->timeline, &point);
	if (w->counts)
		watch_counts_point(w, &point);
	return timeline_add(&w->timeline, &point);
}

int watch_snapshot(struct watch *w, struct snapshot_target *target,
		   struct snapshot_session *session, struct snapshot **ret)
{
	struct snapshot_input input = {
		.target = target, .session = session, .sites = w->sites, .live = w->live,
		.timeline = &w->timeline, .ticks = &w->ticks,
		.now = w->reader ? reader_time(w->reader) : ticks_now(),
		.leaks = w->options.leaks,
	};
	struct target_sizes sizes = target_view_sizes(w->view);
	int error;

	held_look(&w->memory_held, sizes.data);
	if (sizes.rss) {
		target->rss_bytes = sizes.rss;
		target->vsz_bytes = sizes.vsz;
	}
	if (w->reader)
		input.doubt = missed(w, session);
	session->events.alloc = w->events.alloc;
	session->events.free = w->events.free;
	session->events.map = w->events.map;
	session->events.unmap = w->events.unmap;
	session->stacks.distinct = stacks_count(w->stacks);
	session->stacks.unwound = w->events.unwound;
	session->stacks.truncated = w->events.truncated;
	note_recognition(w, session);
	evict_note(w, session);
	error = w->counts ? read_counts(w) : 0;
	if (!error)
		error = snapshot_take(&input, ret);
	if (!error && w->counts)
		error = watch_counts_snapshot(w, *ret);
	if (!error)
		name_calls(w, *ret);
	return error;
}
