/* SPDX-License-Identifier: MIT */
/*
 * report_json.c - the document that other tools rely on, key by key as docs/snapshot.schema.json.
 *
 * Every key is always there; what this session can't know is null, never 0: a
 * reader must be able to tell "none" from "not looked for". Keys are only ever
 * added within one schema name.
 */
#include "src/report/report_json.h"

#include <math.h>

#include "src/report/counts_report.h"
#include "src/report/frame_json.h"
#include "src/report/leaks_json.h"
#include "src/report/wrong_frees_json.h"

static void put_allocator(struct emit *emit, const struct snapshot_allocator *allocator)
{
	emit_begin(emit, NULL, '{');
	emit_text(emit, "name", allocator->name);
	emit_text(emit, "version", allocator->version[0] ? allocator->version : NULL);
	emit_text(emit, "module", allocator->module);
	emit_begin(emit, "hooked", '[');
	for (size_t i = 0; i < allocator->hooked_count; i++)
		emit_text(emit, NULL, allocator->hooked[i]);
	emit_end(emit, ']');
	emit_begin(emit, "unhooked", '[');
	for (size_t i = 0; i < allocator->unhooked_count; i++)
		emit_text(emit, NULL, allocator->unhooked[i]);
	emit_end(emit, ']');
	emit_end(emit, '}');
}

static void put_target(struct emit *emit, const struct snapshot_target *target)
{
	emit_begin(emit, "target", '{');
	emit_uint(emit, "pid", (uint64_t)target->pid);
	emit_text(emit, "exe", target->exe);
	emit_text(emit, "cmdline", target->cmdline);
	emit_real(emit, "start_time", target->start_time);
	emit_uint(emit, "threads", target->threads);
	emit_uint(emit, "rss_bytes", target->rss_bytes);
	emit_uint(emit, "vsz_bytes", target->vsz_bytes);
	emit_begin(emit, "allocators", '[');
	for (size_t i = 0; i < target->allocator_count; i++)
		put_allocator(emit, &target->allocator[i]);
	emit_end(emit, ']');
	emit_end(emit, '}');
}

static void put_counts(struct emit *emit, const struct snapshot *snapshot)
{
	const struct snapshot_session *session = &snapshot->session;

	emit_begin(emit, "events", '{');
	emit_uint(emit, "alloc", session->events.alloc);
	emit_uint(emit, "free", session->events.free);
	emit_uint(emit, "map", session->events.map);
	emit_uint(emit, "unmap", session->events.unmap);
	emit_end(emit, '}');
	emit_begin(emit, "lost", '{');
	emit_uint(emit, "alloc", session->lost.alloc);
	emit_uint(emit, "alloc_bytes", session->lost.alloc_bytes);
	emit_uint(emit, "hidden_count", session->lost.hidden);
	emit_uint(emit, "hidden_bytes", session->lost.hidden_bytes);
	emit_uint(emit, "free", session->lost.free);
	emit_uint(emit, "map", session->lost.map);
	emit_uint(emit, "stack", session->lost.stack);
	emit_uint(emit, "untracked", snapshot->totals.untracked_count);
	emit_uint(emit, "corrupt", session->corrupt);
	emit_uint(emit, "gaps", session->gaps);
	emit_real(emit, "gap_seconds", session->gap_seconds);
	emit_end(emit, '}');
	emit_begin(emit, "stacks", '{');
	emit_uint(emit, "distinct", session->stacks.distinct);
	emit_uint(emit, "unwound", session->stacks.unwound);
	emit_uint(emit, "truncated", session->stacks.truncated);
	emit_uint(emit, "recognised", session->stacks.recognised);
	emit_uint(emit, "audited", session->stacks.audited);
	emit_uint(emit, "mismatched", session->stacks.mismatched);
	emit_end(emit, '}');
}

/* A target that ended may go on as another program, or in children; neither is watched. */
static void put_heirs(struct emit *emit, const struct snapshot_session *session)
{
	if (session->became[0])
		emit_text(emit, "became", session->became);
	if (session->signal)
		emit_uint(emit, "killed_by_signal", session->signal);
	if (!session->unwatched)
		return;
	emit_begin(emit, "unwatched_children", '[');
	for (uint32_t i = 0; i < session->unwatched && i < SNAPSHOT_MAX_CHILDREN; i++)
		emit_uint(emit, NULL, (uint64_t)session->unwatched_pid[i]);
	emit_end(emit, ']');
}

/* Only if there are any: it is an exception that a reader should not have to look for. */
static void put_children_left(struct emit *emit, const struct snapshot_session *session)
{
	if (!session->children_left)
		return;
	emit_begin(emit, "children_left", '[');
	for (uint32_t i = 0; i < session->children_left && i < SNAPSHOT_MAX_CHILDREN; i++) {
		emit_begin(emit, NULL, '{');
		emit_uint(emit, "pid", (uint64_t)session->child[i].pid);
		emit_text(emit, "reason", session->child[i].reason);
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
}

/* Only where it was asked for. */
static void put_older(struct emit *emit, const struct snapshot_older *older)
{
	if (!older->asked)
		return;
	emit_begin(emit, "older_blocks", '{');
	emit_bool(emit, "judged", older->judged);
	emit_text(emit, "why", older->why[0] ? older->why : NULL);
	emit_uint(emit, "count", older->count);
	emit_uint(emit, "bytes", older->bytes);
	emit_uint(emit, "memory_bytes", older->memory_bytes);
	emit_uint(emit, "pause_us", older->pause_us);
	emit_end(emit, '}');
}

static void put_memory(struct emit *emit, const struct snapshot_memory *memory)
{
	if (!memory->limit_bytes)
		return;
	emit_begin(emit, "memory", '{');
	emit_uint(emit, "limit_bytes", memory->limit_bytes);
	emit_uint(emit, "used_bytes", memory->used_bytes);
	emit_uint(emit, "peak_bytes", memory->peak_bytes);
	emit_uint(emit, "evicted_sites", memory->evicted_sites);
	emit_uint(emit, "evicted_stacks", memory->evicted_stacks);
	emit_uint(emit, "evicted_alloc_count", memory->evicted_alloc_count);
	emit_uint(emit, "evicted_alloc_bytes", memory->evicted_alloc_bytes);
	emit_uint(emit, "thinned_blocks", memory->thinned_blocks);
	emit_uint(emit, "thinned_bytes", memory->thinned_bytes);
	emit_uint(emit, "thinned_interval_bytes", memory->thinned_interval_bytes);
	emit_end(emit, '}');
}

static void put_session(struct emit *emit, const struct snapshot *snapshot)
{
	const struct snapshot_session *session = &snapshot->session;

	emit_begin(emit, "session", '{');
	emit_text(emit, "version", session->version);
	emit_text(emit, "mode", snapshot_mode_name(session->mode));
	emit_text(emit, "loader", snapshot_loader_name(session->loader));
	emit_bool(emit, "partial", snapshot_is_partial(snapshot));
	if (session->started)
		emit_bool(emit, "started", true);
	emit_real(emit, "begin_time", session->begin_time);
	emit_real(emit, "duration", session->duration);
	if (session->max_recording)
		emit_uint(emit, "max_recording_bytes", session->max_recording);
	if (session->given_up)
		emit_uint(emit, "snapshots_given_up", session->given_up);
	if (session->recorded_seconds > 0)	/* only of a moment */
		emit_real(emit, "recorded_seconds", session->recorded_seconds);
	emit_uint(emit, "sample_interval_bytes", session->sample_interval_bytes);
	if (session->overhead_percent >= 0)
		emit_real(emit, "overhead_percent", session->overhead_percent);
	else
		emit_null(emit, "overhead_percent");
	emit_uint(emit, "attach_stop_us_max", session->attach_stop_us_max);
	emit_uint(emit, "detach_stop_us_max", session->detach_stop_us_max);
	emit_uint(emit, "threads_stopped", session->threads_stopped);
	emit_text(emit, "detached", snapshot_detached_name(session->detached));
	put_heirs(emit, session);
	put_children_left(emit, session);
	put_older(emit, &session->older);
	put_memory(emit, &session->memory);
	emit_real(emit, "blocked_seconds", session->blocked_seconds);
	emit_uint(emit, "samples", snapshot->totals.samples);
	put_counts(emit, snapshot);
	emit_end(emit, '}');
}

void json_put_intervals(struct emit *emit, const struct snapshot_intervals *in, bool known,
			bool every_alloc)
{
	PUT_BOUNDS(emit, "alloc_count", &in->alloc_count, known);
	PUT_BOUNDS(emit, "alloc_bytes", &in->alloc_bytes, known);
	PUT_BOUNDS(emit, "free_count", &in->free_count, known);
	PUT_BOUNDS(emit, "live_count", &in->live_count, known);
	PUT_BOUNDS(emit, "peak_live_bytes", &in->peak_live_bytes, known);
	PUT_BOUNDS(emit, "temporary_count", &in->temporary_count, known && every_alloc);
}

void json_put_free_bytes_ends(struct emit *emit, const struct snapshot *snapshot)
{
	PUT_BOUNDS(emit, "free_bytes", &snapshot->totals.in.free_bytes, snapshot->intervals);
}

static uint64_t whole(double value)
{
	return value < 1.8e19 ? (uint64_t)value : UINT64_MAX;
}

/* As wide, in proportion, as the interval of the blocks that live; not known where none does. */
static struct snapshot_bounds overhead_bounds(const struct snapshot_totals *totals)
{
	double each = totals->live_count ?
		(double)totals->overhead_bytes / (double)totals->live_count : 0;

	return (struct snapshot_bounds){
		whole(floor(each * (double)totals->in.live_count.low)),
		whole(ceil(each * (double)totals->in.live_count.high)),
	};
}

static void put_totals(struct emit *emit, const struct snapshot *snapshot)
{
	const struct snapshot_totals *totals = &snapshot->totals;
	double allocs = (double)totals->alloc_count;
	bool live = snapshot_knows_live(snapshot, NULL);
	struct snapshot_bounds overhead = overhead_bounds(totals);

	emit_begin(emit, "totals", '{');
	emit_uint(emit, "alloc_count", totals->alloc_count);
	emit_uint(emit, "alloc_bytes", totals->alloc_bytes);
	emit_real(emit, "alloc_bytes_avg",
		  totals->alloc_count ? (double)totals->alloc_bytes / allocs : 0);
	emit_uint(emit, "free_count", totals->free_count);
	emit_uint_if(emit, "free_bytes", totals->free_bytes, !snapshot->counts.free_unsized);
	emit_uint_if(emit, "double_free_count", totals->double_free_count, snapshot->complete);
	emit_uint_if(emit, "illegal_free_count", totals->illegal_free_count, snapshot->complete);
	emit_uint_if(emit, "overhead_bytes", totals->overhead_bytes, live);
	PUT_BOUNDS(emit, "overhead_bytes", &overhead,
		   live && snapshot->intervals && totals->live_count);
	emit_uint_if(emit, "live_count", totals->live_count, live);
	emit_uint_if(emit, "live_bytes", totals->live_bytes, live);
	emit_uint_if(emit, "live_bytes_low", totals->live_bytes_low, live);
	emit_uint_if(emit, "live_bytes_high", totals->live_bytes_high, live);
	emit_uint_if(emit, "peak_live_bytes", totals->peak_live_bytes, live);
	emit_uint_if(emit, "temporary_count", totals->temporary_count, snapshot->every_alloc);
	emit_uint_if(emit, "free_unknown_count", totals->free_unknown_count, snapshot->exact);
	emit_uint_if(emit, "missed_free_count", totals->missed_free_count, live);
	json_put_free_bytes_ends(emit, snapshot);
	json_put_intervals(emit, &totals->in, snapshot->intervals, snapshot->every_alloc);
	emit_end(emit, '}');
}

static void put_map_totals(struct emit *emit, const struct snapshot_map_totals *totals)
{
	emit_begin(emit, "map_totals", '{');
	emit_uint(emit, "map_count", totals->map_count);
	emit_uint(emit, "map_bytes", totals->map_bytes);
	emit_uint(emit, "unmap_count", totals->unmap_count);
	emit_uint(emit, "unmap_bytes", totals->unmap_bytes);
	emit_uint(emit, "live_count", totals->live_count);
	emit_uint(emit, "live_bytes", totals->live_bytes);
	emit_uint(emit, "peak_live_bytes", totals->peak_live_bytes);
	emit_uint(emit, "allocator_live_bytes", totals->allocator_live_bytes);
	emit_uint(emit, "unmap_unknown_bytes", totals->unmap_unknown_bytes);
	emit_end(emit, '}');
}

void json_put_point_ends(struct emit *emit, const struct timeline_point *point, bool live)
{
	const struct timeline_intervals *in = &point->in;

	PUT_BOUNDS(emit, "alloc_count", &in->alloc_count, point->bounded);
	PUT_BOUNDS(emit, "free_count", &in->free_count, point->bounded);
	PUT_BOUNDS(emit, "alloc_bytes", &in->alloc_bytes, point->bounded);
	PUT_BOUNDS(emit, "live_bytes", &in->live_bytes, point->bounded && live);
}

static void put_timeline(struct emit *emit, const struct snapshot *snapshot)
{
	emit_begin(emit, "timeline", '[');
	for (size_t i = 0; i < snapshot->timeline_count; i++) {
		const struct timeline_point *point = &snapshot->timeline[i];

		emit_begin(emit, NULL, '{');
		emit_real(emit, "time", point->time);
		emit_uint(emit, "alloc_count", point->alloc_count);
		emit_uint(emit, "free_count", point->free_count);
		emit_uint(emit, "alloc_bytes", point->alloc_bytes);
		emit_uint_if(emit, "live_bytes", point->live_bytes,
			     snapshot_knows_live(snapshot, NULL));
		if (snapshot->session.mode == SNAPSHOT_COUNTS)
			counts_json_trend(emit, point->trend_bytes, point->trend_known);
		emit_uint(emit, "rss_bytes", point->rss_bytes);
		emit_uint(emit, "vsz_bytes", point->vsz_bytes);
		emit_uint(emit, "sample_interval_bytes", point->sample_interval);
		json_put_point_ends(emit, point, snapshot_knows_live(snapshot, NULL));
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
}

static void put_histogram(struct emit *emit, const struct snapshot *snapshot)
{
	emit_begin(emit, "histogram", '[');
	for (size_t i = 0; i < snapshot->histogram_count; i++) {
		emit_begin(emit, NULL, '{');
		emit_uint(emit, "size", snapshot->histogram[i].size);
		emit_uint(emit, "count", snapshot->histogram[i].count);
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
}

static void put_frames(struct emit *emit, const struct report_input *input,
		       const struct snapshot_site *site)
{
	struct stack stack = stacks_get(input->stacks, site->stack);

	emit_begin(emit, "frames", '[');
	if (stack.frame_count > site->skip_frames)
		frame_json_put(emit, &input->names, stack.frame + site->skip_frames,
			       stack.frame_count - site->skip_frames);
	emit_end(emit, ']');
}

static void put_lifetimes(struct emit *emit, const struct snapshot_site *site, bool known)
{
	emit_begin(emit, "lifetime_seconds", '{');
	emit_real_if(emit, "p50", known ? site->lifetime_p50 : NAN);
	emit_real_if(emit, "p90", known ? site->lifetime_p90 : NAN);
	emit_real_if(emit, "max", known ? site->lifetime_max : NAN);
	emit_end(emit, '}');
}

static void put_site(struct emit *emit, const struct report_input *input,
		     const struct snapshot_site *site)
{
	struct stack stack = stacks_get(input->stacks, site->stack);
	bool live = snapshot_knows_live(input->snapshot, site);

	emit_begin(emit, NULL, '{');
	emit_uint(emit, "id", site->id);
	emit_text(emit, "kind", snapshot_kind_name(site->kind));
	emit_uint_if(emit, "live_count", site->live_count, live);
	emit_uint_if(emit, "live_bytes", site->live_bytes, live);
	emit_uint_if(emit, "live_bytes_low", site->live_bytes_low, live);
	emit_uint_if(emit, "live_bytes_high", site->live_bytes_high, live);
	emit_uint(emit, "alloc_count", site->alloc_count);
	emit_uint(emit, "alloc_bytes", site->alloc_bytes);
	emit_uint_if(emit, "free_count", site->free_count, live);
	emit_uint_if(emit, "peak_live_bytes", site->peak_live_bytes, live);
	emit_uint_if(emit, "temporary_count", site->temporary_count, input->snapshot->every_alloc);
	json_put_intervals(emit, &site->in, live && input->snapshot->site_intervals,
			   input->snapshot->every_alloc);
	emit_uint(emit, "samples", live ? site->samples : site->alloc_count);
	put_lifetimes(emit, site, live);
	emit_uint_if(emit, "threads", site->threads, live);
	emit_real_if(emit, "growth_bytes_per_second", live ? site->growth : NAN);
	emit_text(emit, "verdict", live ? snapshot_verdict_name(site->verdict) : NULL);
	counts_json_sizes(emit, input->snapshot, site->id);
	emit_bool(emit, "truncated", stack.flags & STACK_TRUNCATED);
	if (stack.flags & STACK_OTHER)
		emit_bool(emit, "other", true);
	put_frames(emit, input, site);
	emit_end(emit, '}');
}

static void put_sites(struct emit *emit, const struct report_input *input)
{
	size_t count = input->options.no_sites ? 0 : input->snapshot->site_count;

	if (input->options.top && input->options.top < count)
		count = input->options.top;
	frame_json_remember(emit);
	emit_begin(emit, "sites", '[');
	for (size_t i = 0; i < count; i++)
		put_site(emit, input, &input->snapshot->site[i]);
	emit_end(emit, ']');
	frame_json_forget(emit);
}

void json_put_overview(struct emit *emit, const struct snapshot *snapshot)
{
	put_target(emit, &snapshot->target);
	put_session(emit, snapshot);
	put_totals(emit, snapshot);
	put_map_totals(emit, &snapshot->map_totals);
	counts_json_put(emit, snapshot);
}

int json_write(FILE *out, const struct report_input *input)
{
	struct emit emit = { .out = out };

	emit_begin(&emit, NULL, '{');
	emit_text(&emit, "schema", "memattach-snapshot-1");
	json_put_overview(&emit, input->snapshot);
	put_timeline(&emit, input->snapshot);
	put_histogram(&emit, input->snapshot);
	put_sites(&emit, input);
	wrong_frees_json_put(&emit, input);
	leaks_json_put(&emit, input);
	emit_end(&emit, '}');
	return emit_finish(&emit);
}
