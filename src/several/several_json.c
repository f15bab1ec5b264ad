/* SPDX-License-Identifier: MIT */
/*
 * several_json.c - the combined report as a document, key by key as docs/several.schema.json.
 *
 * Processes are named by their place in `processes`, from 0: ids are used again, and a process that
 * called exec has two sessions. Every key is always there; null is what is not known.
 */
#include "src/several/several_write.h"

#include <math.h>

#include "src/report/emit.h"
#include "src/report/frame_json.h"
#include "src/report/report_json.h"
#include "src/view/view_metric.h"

static void put_sum(struct emit *emit, const char *key, uint64_t count, uint64_t bytes)
{
	emit_begin(emit, key, '{');
	emit_uint(emit, "count", count);
	emit_uint(emit, "bytes", bytes);
	emit_end(emit, '}');
}

static void put_totals(struct emit *emit, const struct snapshot *s)
{
	const struct snapshot_totals *t = &s->totals;

	emit_begin(emit, "totals", '{');
	emit_uint(emit, "alloc_count", t->alloc_count);
	emit_uint(emit, "alloc_bytes", t->alloc_bytes);
	emit_uint(emit, "free_count", t->free_count);
	emit_uint(emit, "free_bytes", t->free_bytes);
	emit_uint(emit, "live_count", t->live_count);
	emit_uint(emit, "live_bytes", t->live_bytes);
	emit_uint_if(emit, "temporary_count", t->temporary_count, s->every_alloc);
	emit_uint(emit, "map_live_count", s->map_totals.live_count);
	emit_uint(emit, "map_live_bytes", s->map_totals.live_bytes);
	emit_end(emit, '}');
}

static void put_losses(struct emit *emit, const struct snapshot_session *session)
{
	emit_begin(emit, "lost", '{');
	emit_uint(emit, "alloc", session->lost.alloc);
	emit_uint(emit, "free", session->lost.free);
	emit_uint(emit, "map", session->lost.map);
	emit_uint(emit, "stack", session->lost.stack);
	emit_uint(emit, "gaps", session->gaps);
	emit_end(emit, '}');
}

static void put_kinds(struct emit *emit, const struct leak_report *leaks)
{
	static const struct {
		const char *key;
		enum block_kind kind;
	} sum[] = {
		{ "definitely_lost", BLOCK_DEFINITELY_LOST },
		{ "indirectly_lost", BLOCK_INDIRECTLY_LOST },
		{ "possibly_lost", BLOCK_POSSIBLY_LOST },
		{ "still_reachable", BLOCK_REACHABLE },
	};

	if (!leaks || leaks->unsearched) {
		emit_null(emit, "leaks");
		return;
	}
	emit_begin(emit, "leaks", '{');
	emit_bool(emit, "covers_older_blocks", leaks->covers_older_blocks);
	for (size_t i = 0; i < ARRAY_SIZE(sum); i++)
		put_sum(emit, sum[i].key, leaks->kind[sum[i].kind].count,
			leaks->kind[sum[i].kind].bytes);
	emit_end(emit, '}');
}

static double per_second(uint64_t bytes, double seconds, bool known)
{
	return known && seconds > 0 ? (double)bytes / seconds : NAN;
}

static void put_allocated(struct emit *emit, const struct snapshot *s)
{
	const struct snapshot_bounds *bytes = &s->totals.in.alloc_bytes;
	double seconds = s->session.duration;

	emit_real_if(emit, "alloc_bytes_per_second",
		     per_second(s->totals.alloc_bytes, seconds, true));
	emit_real_if(emit, "alloc_bytes_per_second_low",
		     per_second(bytes->low, seconds, s->intervals));
	emit_real_if(emit, "alloc_bytes_per_second_high",
		     per_second(bytes->high, seconds, s->intervals));
}

static void put_watched(struct emit *emit, const struct snapshot *s,
			const struct leak_report *leaks)
{
	double seconds = s->session.duration;

	emit_text(emit, "exe", s->target.exe);
	emit_text(emit, "cmdline", s->target.cmdline);
	emit_real_if(emit, "start_time", s->target.start_time);
	emit_real_if(emit, "begin_time", s->session.begin_time);
	emit_real_if(emit, "duration", seconds);
	emit_text(emit, "mode", snapshot_mode_name(s->session.mode));
	emit_uint(emit, "sample_interval_bytes", s->session.sample_interval_bytes);
	emit_text(emit, "detached", snapshot_detached_name(s->session.detached));
	emit_uint(emit, "rss_bytes", s->target.rss_bytes);
	put_totals(emit, s);
	emit_uint(emit, "live_bytes_low", s->totals.live_bytes_low);
	emit_uint(emit, "live_bytes_high", s->totals.live_bytes_high);
	emit_uint(emit, "peak_live_bytes", s->totals.peak_live_bytes);
	json_put_free_bytes_ends(emit, s);
	json_put_intervals(emit, &s->totals.in, s->intervals, s->every_alloc);
	put_allocated(emit, s);
	put_losses(emit, &s->session);
	put_kinds(emit, leaks);
}

static void put_process(struct emit *emit, const struct several_process *process)
{
	emit_begin(emit, NULL, '{');
	emit_int(emit, "pid", process->pid);
	emit_text(emit, "name", process->name);
	emit_bool(emit, "after_exec", process->after_exec);
	emit_bool(emit, "watched", process->content != NULL);
	emit_text(emit, "problem", process->problem);
	if (process->content)
		put_watched(emit, process->content->snapshot, process->content->leaks);
	emit_end(emit, '}');
}

static void put_part(struct emit *emit, const struct several_part *part)
{
	emit_begin(emit, NULL, '{');
	emit_uint(emit, "process", part->process);
	emit_uint(emit, "live_bytes", part->live_bytes);
	emit_uint(emit, "live_count", part->live_count);
	emit_uint(emit, "alloc_bytes", part->alloc_bytes);
	emit_uint(emit, "alloc_count", part->alloc_count);
	emit_uint(emit, "free_count", part->free_count);
	emit_end(emit, '}');
}

static void put_frames(struct emit *emit, const struct several *several,
		       const struct snapshot_site *s)
{
	struct stack stack = stacks_get(several->stacks, s->stack);

	emit_begin(emit, "frames", '[');
	if (stack.frame_count > s->skip_frames)
		frame_json_put(emit, &several->names, stack.frame + s->skip_frames,
			       stack.frame_count - s->skip_frames);
	emit_end(emit, ']');
}

/* Without the peak's: those of several processes are not of one moment. */
static void put_site_ends(struct emit *emit, const struct snapshot *all,
			  const struct snapshot_site *s)
{
	bool known = all->site_intervals;

	PUT_BOUNDS(emit, "alloc_count", &s->in.alloc_count, known);
	PUT_BOUNDS(emit, "alloc_bytes", &s->in.alloc_bytes, known);
	PUT_BOUNDS(emit, "free_count", &s->in.free_count, known);
	PUT_BOUNDS(emit, "live_count", &s->in.live_count, known);
	PUT_BOUNDS(emit, "temporary_count", &s->in.temporary_count, known && all->every_alloc);
}

static void put_site(struct emit *emit, const struct several *several, size_t at)
{
	const struct snapshot_site *s = &several->snapshot->site[at];

	emit_begin(emit, NULL, '{');
	emit_uint(emit, "id", s->id);
	emit_text(emit, "kind", snapshot_kind_name(s->kind));
	emit_uint(emit, "live_bytes", s->live_bytes);
	emit_uint(emit, "live_bytes_low", s->live_bytes_low);
	emit_uint(emit, "live_bytes_high", s->live_bytes_high);
	emit_uint(emit, "live_count", s->live_count);
	emit_uint(emit, "alloc_bytes", s->alloc_bytes);
	emit_uint(emit, "alloc_count", s->alloc_count);
	emit_uint(emit, "free_count", s->free_count);
	emit_uint_if(emit, "temporary_count", s->temporary_count, several->snapshot->every_alloc);
	put_site_ends(emit, several->snapshot, s);
	emit_begin(emit, "by_process", '[');
	for (uint32_t i = 0; i < several->site[at].part_count; i++)
		put_part(emit, &several->site[at].part[i]);
	emit_end(emit, ']');
	put_frames(emit, several, s);
	emit_end(emit, '}');
}

static void put_amount(struct emit *emit, uint64_t count, uint64_t bytes, uint64_t indirect_count,
		       uint64_t indirect_bytes)
{
	emit_uint(emit, "count", count);
	emit_uint(emit, "bytes", bytes);
	emit_uint(emit, "indirect_count", indirect_count);
	emit_uint(emit, "indirect_bytes", indirect_bytes);
}

static void put_group(struct emit *emit, const struct several_group *group)
{
	emit_begin(emit, NULL, '{');
	emit_text(emit, "verdict", leak_verdict_name(group->like->verdict));
	put_amount(emit, group->count, group->bytes, group->indirect_count, group->indirect_bytes);
	emit_text(emit, "type", group->like->type);
	emit_text(emit, "variable", group->like->variable);
	emit_text(emit, "held_by", group->like->held_by);
	emit_uint_if(emit, "site", group->site, group->site);
	emit_begin(emit, "by_process", '[');
	for (uint32_t i = 0; i < group->part_count; i++) {
		const struct several_leak_part *part = &group->part[i];

		emit_begin(emit, NULL, '{');
		emit_uint(emit, "process", part->process);
		put_amount(emit, part->count, part->bytes, part->indirect_count,
			   part->indirect_bytes);
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
	emit_end(emit, '}');
}

static void put_groups(struct emit *emit, const struct several *several)
{
	if (!several->judged) {
		emit_null(emit, "leak_groups");
		return;
	}
	emit_begin(emit, "leak_groups", '[');
	for (size_t i = 0; i < several->group_count; i++)
		put_group(emit, &several->group[i]);
	emit_end(emit, ']');
}

int several_write_json(FILE *out, const struct several *several,
		       const struct report_options *options)
{
	struct emit emit = { .out = out };
	size_t count = several->snapshot->site_count;

	if (options->top && options->top < count)
		count = options->top;
	emit_begin(&emit, NULL, '{');
	emit_text(&emit, "schema", "memattach-several-1");
	emit_begin(&emit, "processes", '[');
	for (size_t i = 0; i < several->process_count; i++)
		put_process(&emit, &several->process[i]);
	emit_end(&emit, ']');
	emit_uint(&emit, "missed_children", several->missed);
	put_totals(&emit, several->snapshot);
	emit_bool(&emit, "exact", several->snapshot->exact);
	emit_uint(&emit, "site_count", several->snapshot->site_count);
	frame_json_remember(&emit);
	emit_begin(&emit, "sites", '[');
	for (size_t i = 0; i < count; i++)
		put_site(&emit, several, i);
	emit_end(&emit, ']');
	frame_json_forget(&emit);
	put_groups(&emit, several);
	emit_end(&emit, '}');
	return emit_finish(&emit);
}
