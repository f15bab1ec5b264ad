/* SPDX-License-Identifier: MIT */
/*
 * report_text.c - the report for people: from what was watched down to the top sites.
 *
 * The header says how far the figures can be trusted before any figure is
 * printed: mode, samples, losses, how long the target waited. An estimate is
 * followed by its 95 % interval; what was not looked for is left out rather than
 * printed as 0. Names from the target are made printable: a function called
 * "\e[2J" must not clear the reader's screen.
 */
#include "src/report/report_text.h"

#include <errno.h>
#include <string.h>

#include "src/live/snapshot_rates.h"
#include "src/report/caller.h"
#include "src/report/counts_report.h"
#include "src/report/elsewhere_text.h"
#include "src/report/estimated.h"
#include "src/report/human.h"
#include "src/report/leaks_text.h"
#include "src/report/printable.h"
#include "src/report/style.h"
#include "src/report/text_put.h"
#include "src/report/wrong_frees_text.h"

#define UNHOOKED_SHOWN 6u /* functions */
#define THIN_SAMPLES   200u
#define DEFAULT_WIDTH  100u
#define LIVE_COLUMNS   52u /* of the live view, before the name */

static void put_target(FILE *out, const struct report_input *input)
{
	const struct snapshot_target *target = &input->snapshot->target;
	const struct style *style = style_for(&input->options);

	fprintf(out, "%smemattach %s%s watched process %d: ", style->bold,
		input->snapshot->session.version, style->plain, target->pid);
	text_put_printable(out, target->cmdline[0] ? target->cmdline : target->exe);
	fputc('\n', out);
	text_put_label(out, "program");
	text_put_printable(out, target->exe);
	fprintf(out, ", %u thread%s", target->threads, text_plural(target->threads));
	if (target->rss_bytes)
		fprintf(out, ", %s resident", human_bytes((double)target->rss_bytes).text);
	fputc('\n', out);
}

static void put_allocator(FILE *out, const struct snapshot_allocator *allocator)
{
	text_put_label(out, "allocator");
	text_put_printable(out, allocator->name);
	if (allocator->version[0]) {
		fputc(' ', out);
		text_put_printable(out, allocator->version);
	}
	fputs(" in ", out);
	text_put_printable(out, allocator->module);
	if (allocator->hooked_count)
		fprintf(out, ", %zu entry points hooked:", allocator->hooked_count);
	else
		fputs(", not hooked", out);
	for (size_t i = 0; i < allocator->hooked_count; i++) {
		fputs(i % 8 == 0 ? "\n              " : " ", out);
		text_put_printable(out, allocator->hooked[i]);
	}
	fputc('\n', out);
}

/* What is not seen of an allocator: the first few by name, and how many there are. */
static void put_unhooked(FILE *out, const struct snapshot_allocator *allocator,
			 const struct style *style)
{
	size_t count = allocator->unhooked_count;

	if (count == 0)
		return;
	fprintf(out, "  %s%s%s ", style->warn, "not hooked", style->plain);
	if (allocator->hooked_count)
		fprintf(out, "%zu function%s of ", count, text_plural(count));
	text_put_printable(out, allocator->name);
	fputs(allocator->hooked_count && count > 1 ? " are" : " is", out);
	fputs(" not seen, and no block that goes through there:", out);
	for (size_t i = 0; i < count && i < UNHOOKED_SHOWN; i++) {
		fputs("\n              ", out);
		text_put_printable(out, allocator->unhooked[i]);
	}
	if (count > UNHOOKED_SHOWN)
		fprintf(out, "\n              and %zu more (`memattach check` names them)",
			count - UNHOOKED_SHOWN);
	fputc('\n', out);
}

/* Of an interval that was moved: where it has been. */
static void put_interval(FILE *out, const struct snapshot *snapshot)
{
	uint64_t least = UINT64_MAX, most = 0;
	double all_until = 0;

	for (size_t i = 0; i < snapshot->timeline_count; i++) {
		const struct timeline_point *point = &snapshot->timeline[i];
		uint64_t interval = point->sample_interval;

		if (most == 0 && interval <= 1)
			all_until = point->time;
		else if (interval < least)
			least = interval;
		most = interval > most ? interval : most;
	}
	if (snapshot->session.mode != SNAPSHOT_ADAPTIVE || most <= 1)
		return;
	text_put_label(out, "interval");
	if (all_until > 0)
		fprintf(out, "every allocation for %s, then ", human_seconds(all_until).text);
	fprintf(out, "%s", human_bytes((double)least).text);
	if (most > least)
		fprintf(out, " to %s", human_bytes((double)most).text);
	fputs(" on average between samples, moved to keep to the budget\n", out);
}

static void put_precision(FILE *out, const struct report_input *input)
{
	const struct snapshot *snapshot = input->snapshot;
	const struct snapshot_session *session = &snapshot->session;
	const struct style *style = style_for(&input->options);
	bool all = snapshot->every_alloc;
	const char *hooked = snapshot_is_partial(snapshot) ? " of hooked functions" : "";

	text_put_label(out, "precision");
	if (session->mode == SNAPSHOT_EXACT)
		fprintf(out, "%s event%s, %s allocations",
			*hooked ? "events: each" : "exact: every", hooked,
			human_exact(snapshot->totals.samples).text);
	else if (session->mode == SNAPSHOT_COUNTS)
		fprintf(out, "counts (%s): every call%s was counted, none recorded",
			counts_kind_name(snapshot->counts.kind), hooked);
	else if (all)
		fprintf(out, "%s: every allocation%s so far, %s of them",
			snapshot_mode_name(session->mode), hooked,
			human_exact(snapshot->totals.samples).text);
	else
		fprintf(out, "%s: one sample per %s on average; figures rest on %s samples",
			snapshot_mode_name(session->mode),
			human_bytes((double)session->sample_interval_bytes).text,
			human_exact(snapshot->totals.samples).text);
	fputc('\n', out);
	put_interval(out, snapshot);
	if (!all && session->mode != SNAPSHOT_COUNTS && snapshot->totals.samples < THIN_SAMPLES)
		fprintf(out, "  %s%-10s%sfew samples: watch for longer, use a smaller "
			"--sample=BYTES, or --exact to see every event\n", style->warn, "thin",
			style->plain);
	if (all && snapshot->totals.samples == 0)
		fprintf(out, "  %s%-10s%snothing was allocated while we watched%s\n", style->warn,
			"empty", style->plain,
			session->mode == SNAPSHOT_EXACT ? "" : " (--exact would show frees too)");
	if (session->blocked_seconds > 0)
		fprintf(out, "  %s%-10s%sthe target's threads waited %s for the reader, all "
			"together\n", style->warn, "waited", style->plain,
			human_seconds(session->blocked_seconds).text);
}

/* One kind of loss and the figure that it may have changed. */
static void put_loss(FILE *out, const struct style *style, uint64_t count, const char *what,
		     const char *effect)
{
	if (count > 0)
		fprintf(out, "  %s%-10s%s%s %s: %s\n", style->warn, "lost", style->plain,
			human_exact(count).text, what, effect);
}

static void put_losses(FILE *out, const struct report_input *input)
{
	const struct snapshot_session *session = &input->snapshot->session;
	const struct snapshot_totals *totals = &input->snapshot->totals;
	const struct style *style = style_for(&input->options);
	char effect[160] = "allocated is that much too low, live by those that still live";
	char what[64];

	snprintf(what, sizeof(what), "allocations (%s)",
		 human_bytes((double)session->lost.alloc_bytes).text);
	if (session->lost.hidden > session->lost.alloc)
		snprintf(effect, sizeof(effect), "they stand for up to %s allocations (%s), "
			 "some of which may live", human_count((double)session->lost.hidden).text,
			 human_bytes((double)session->lost.hidden_bytes).text);
	put_loss(out, style, session->lost.alloc, what, effect);
	put_loss(out, style, session->lost.free, "frees", session->lost.alloc ?
		 "of lost blocks; live is too high by those of others" : "live is too high");
	put_loss(out, style, session->lost.map, "mapping events", "mapped may be wrong");
	put_loss(out, style, session->lost.stack, "stacks", "their blocks are under \"unknown\"");
	put_loss(out, style, totals->untracked_count, "samples without room in the table",
		 "allocated counts them, live does not");
	put_loss(out, style, totals->missed_free_count, "frees that a later allocation proves",
		 "they were booked late");
	put_loss(out, style, session->corrupt, "unreadable records",
		 "any figure may be too low");
	if (session->gaps)
		fprintf(out, "  %s%-10s%snothing was recorded for %s (%s gap%s): what was "
			"allocated before counts no longer as live\n", style->warn, "lost",
			style->plain, human_seconds(session->gap_seconds).text,
			human_exact(session->gaps).text, text_plural(session->gaps));
}

static void put_stops(FILE *out, const struct snapshot_session *session)
{
	const char *detached = snapshot_detached_name(session->detached);

	text_put_label(out, "cost");
	fprintf(out, "longest stop of a thread: %s to attach",
		human_seconds((double)session->attach_stop_us_max / 1e6).text);
	if (session->detach_stop_us_max)
		fprintf(out, ", %s to detach",
			human_seconds((double)session->detach_stop_us_max / 1e6).text);
	if (session->overhead_percent >= 0)
		fprintf(out, "; %.2f %% of the target's time", session->overhead_percent);
	fprintf(out, "; %s%s\n", detached ? "left " : "", detached ? detached : "still attached");
}

static void put_stack_quality(FILE *out, const struct snapshot_session *session)
{
	if (session->stacks.unwound == 0 && session->stacks.recognised == 0)
		return;
	text_put_label(out, "stacks");
	fprintf(out, "%s distinct; ", human_exact(session->stacks.distinct).text);
	if (session->stacks.recognised)
		fprintf(out, "%s recognised, ", human_exact(session->stacks.recognised).text);
	fprintf(out, "%s unwound, %s of %s not to the thread's start\n",
		human_exact(session->stacks.unwound).text,
		human_exact(session->stacks.truncated).text,
		session->stacks.recognised ? "all" : "them");
	if (session->stacks.mismatched) {
		text_put_label(out, "");
		fprintf(out, "%s recognised stacks of %s that were compared are not what their "
			"copies show: please report this\n",
			human_exact(session->stacks.mismatched).text,
			human_exact(session->stacks.audited).text);
	}
}

static void put_given_up(FILE *out, const struct report_input *input)
{
	const struct snapshot_session *session = &input->snapshot->session;
	const struct style *style = style_for(&input->options);

	if (session->given_up)
		fprintf(out, "  %s%-10s%s%s snapshot%s, older ones first, so that the recording "
			"stays below %s\n", style->warn, "given up", style->plain,
			human_exact(session->given_up).text, text_plural(session->given_up),
			human_bytes((double)session->max_recording).text);
}

/* What --max-memory did not let us remember. */
static void put_memory(FILE *out, const struct report_input *input)
{
	const struct snapshot_memory *memory = &input->snapshot->session.memory;
	const struct style *style = style_for(&input->options);

	if (memory->evicted_sites)
		fprintf(out, "  %s%-10s%s%s sites that held little and %s stacks, to stay below "
			"%s: %s allocations (%s) are under \"other\"\n", style->warn, "evicted",
			style->plain, human_exact(memory->evicted_sites).text,
			human_exact(memory->evicted_stacks).text,
			human_bytes((double)memory->limit_bytes).text,
			human_exact(memory->evicted_alloc_count).text,
			human_bytes((double)memory->evicted_alloc_bytes).text);
	if (memory->thinned_interval_bytes)
		fprintf(out, "  %s%-10s%smore blocks lived than %s can remember: live and freed "
			"are estimates since then, by one block in %s\n", style->warn, "thinned",
			style->plain, human_bytes((double)memory->limit_bytes).text,
			human_bytes((double)memory->thinned_interval_bytes).text);
}

static void put_header(FILE *out, const struct report_input *input)
{
	const struct snapshot *snapshot = input->snapshot;

	put_target(out, input);
	for (size_t i = 0; i < snapshot->target.allocator_count; i++)
		put_allocator(out, &snapshot->target.allocator[i]);
	for (size_t i = 0; i < snapshot->target.allocator_count; i++)
		put_unhooked(out, &snapshot->target.allocator[i], style_for(&input->options));
	text_put_label(out, "watched");
	fputs(human_seconds(snapshot->session.duration).text, out);
	if (snapshot->session.recorded_seconds > 0)
		fprintf(out, ", a moment of %s that were recorded",
			human_seconds(snapshot->session.recorded_seconds).text);
	fputc('\n', out);
	put_given_up(out, input);
	put_precision(out, input);
	put_losses(out, input);
	put_memory(out, input);
	put_stack_quality(out, &snapshot->session);
	put_stops(out, &snapshot->session);
}

static void put_total(FILE *out, const char *name, uint64_t count, uint64_t bytes,
		      const char *remark)
{
	fprintf(out, "  %-12s %12s blocks %12s%s%s\n", name, human_count((double)count).text,
		human_bytes((double)bytes).text, remark[0] ? "  " : "", remark);
}

static bool is_estimate(const struct snapshot_bounds *bounds)
{
	return bounds->low != bounds->high;
}

/* "95 %: 1 to 2 blocks, 1 KiB to 2 KiB" behind what text has; bytes: NULL, only the first. */
static void append_bounds(char *text, size_t size, const struct snapshot_bounds *count,
			  const struct snapshot_bounds *bytes)
{
	size_t length = strlen(text);

	if (!is_estimate(count) && (!bytes || !is_estimate(bytes)))
		return;
	length += (size_t)snprintf(text + length, size - length, "%s95 %%: %s to %s blocks",
				   length ? "; " : "", human_count((double)count->low).text,
				   human_count((double)count->high).text);
	if (bytes && length < size)
		(void)snprintf(text + length, size - length, ", %s to %s",
			       human_bytes((double)bytes->low).text,
			       human_bytes((double)bytes->high).text);
}

static void put_live_total(FILE *out, const struct snapshot *snapshot)
{
	const struct snapshot_totals *totals = &snapshot->totals;
	const struct snapshot_bounds bytes = { totals->live_bytes_low, totals->live_bytes_high };
	char remark[160] = "";

	if (snapshot->intervals)
		append_bounds(remark, sizeof(remark), &totals->in.live_count, &bytes);
	else if (is_estimate(&bytes))
		snprintf(remark, sizeof(remark), "95 %%: %s to %s",
			 human_bytes((double)bytes.low).text, human_bytes((double)bytes.high).text);
	put_total(out, "live", totals->live_count, totals->live_bytes, remark);
}

static void put_peak(FILE *out, const struct snapshot *snapshot)
{
	const struct snapshot_bounds *bounds = &snapshot->totals.in.peak_live_bytes;

	fprintf(out, "  %-12s %12s        %12s", "peak live", "",
		human_bytes((double)snapshot->totals.peak_live_bytes).text);
	if (snapshot->intervals && is_estimate(bounds))
		fprintf(out, "  95 %%: %s to %s", human_bytes((double)bounds->low).text,
			human_bytes((double)bounds->high).text);
	fputc('\n', out);
}

static void put_odd(FILE *out, const char *name, uint64_t count, const char *remark)
{
	if (count > 0)
		fprintf(out, "  %-12s %12s %s\n", name, human_count((double)count).text, remark);
}

static void put_block_totals(FILE *out, const struct snapshot *snapshot)
{
	const struct snapshot_totals *totals = &snapshot->totals;
	const struct snapshot_intervals *in = &totals->in;
	char remark[200] = "", freed[160] = "", older[80];

	if (totals->alloc_count)
		snprintf(remark, sizeof(remark), "%s on average",
			 human_bytes((double)totals->alloc_bytes /
				     (double)totals->alloc_count).text);
	if (snapshot->intervals) {
		append_bounds(remark, sizeof(remark), &in->alloc_count, &in->alloc_bytes);
		append_bounds(freed, sizeof(freed), &in->free_count, &in->free_bytes);
	}
	(void)snprintf(older, sizeof(older), "blocks that were allocated %s",
		       text_before(snapshot));
	put_total(out, "allocated", totals->alloc_count, totals->alloc_bytes, remark);
	put_total(out, "freed", totals->free_count, totals->free_bytes, freed);
	put_live_total(out, snapshot);
	put_peak(out, snapshot);
	if (snapshot->every_alloc)
		put_odd(out, "temporary", totals->temporary_count,
			"blocks, freed before their thread's next allocation");
	if (snapshot->exact)
		put_odd(out, "older frees", totals->free_unknown_count, older);
	if (snapshot->complete) {
		put_odd(out, "double frees", totals->double_free_count, "");
		put_odd(out, "illegal frees", totals->illegal_free_count,
			"of addresses where no block begins");
	}
}

static void put_totals(FILE *out, const struct report_input *input)
{
	const struct snapshot *snapshot = input->snapshot;

	fputc('\n', out);
	if (snapshot->session.mode == SNAPSHOT_COUNTS)
		counts_text_totals(out, snapshot);
	else
		put_block_totals(out, snapshot);
	if (snapshot->session.mode != SNAPSHOT_COUNTS)
		elsewhere_text_put(out, snapshot);
	if (snapshot->map_totals.map_count)
		fprintf(out, "  %-12s %12s maps   %12s\n", "mapped",
			human_count((double)snapshot->map_totals.live_count).text,
			human_bytes((double)snapshot->map_totals.live_bytes).text);
}

static void put_growth(FILE *out, const struct style *style, const struct snapshot_site *site)
{
	const char *words = snapshot_verdict_words(site->verdict);

	if (site->verdict != SNAPSHOT_GROWING) {
		fprintf(out, "%s%s", words ? "; " : "", words ?: "");
		return;
	}
	fprintf(out, "; %sgrowing %s/s%s", style->warn, human_bytes_signed(site->growth).text,
		style->plain);
}

static void put_lifetimes(FILE *out, const struct snapshot_site *site)
{
	if (site->free_count == 0)
		return;
	fprintf(out, "; lived %s (median), %s at the longest",
		human_seconds(site->lifetime_p50).text, human_seconds(site->lifetime_max).text);
}

/* Before a site's figure whose interval is not shown: "~" if it is an estimate. */
static const char *site_mark(const struct snapshot *snapshot, const struct snapshot_site *site,
			     const struct snapshot_bounds *bounds)
{
	if (snapshot->site_intervals)
		return is_estimate(bounds) ? "~" : "";
	return site->kind == SITE_MMAP ? "" : view_mark(snapshot);
}

static void put_allocated(FILE *out, const struct report_input *input,
			  const struct snapshot_site *site)
{
	const struct snapshot_intervals *in = &site->in;
	char bounds[160] = "";

	if (input->snapshot->site_intervals)
		append_bounds(bounds, sizeof(bounds), &in->alloc_count, &in->alloc_bytes);
	fprintf(out, "\n    allocated %s%s in %s%s%s%s, freed %s%s, peak %s%s",
		bounds[0] ? "" : site_mark(input->snapshot, site, &in->alloc_bytes),
		human_bytes((double)site->alloc_bytes).text,
		human_count((double)site->alloc_count).text, bounds[0] ? " (" : "", bounds,
		bounds[0] ? ")" : "", site_mark(input->snapshot, site, &in->free_count),
		human_count((double)site->free_count).text,
		site_mark(input->snapshot, site, &in->peak_live_bytes),
		human_bytes((double)site->peak_live_bytes).text);
}

static void put_site(FILE *out, const struct report_input *input, size_t rank)
{
	const struct snapshot_site *site = &input->snapshot->site[rank];
	const struct style *style = style_for(&input->options);

	if (!snapshot_knows_live(input->snapshot, site)) {
		fprintf(out, "\n%s#%zu%s  ", style->bold, rank + 1, style->plain);
		counts_text_site(out, input->snapshot, site);
		text_put_stack(out, input, site);
		return;
	}
	fprintf(out, "\n%s#%zu  %s live%s in %s %s%s", style->bold, rank + 1,
		human_bytes((double)site->live_bytes).text, style->plain,
		human_count((double)site->live_count).text,
		text_kind(site->kind), text_plural(site->live_count));
	if (site->live_bytes_low != site->live_bytes_high)
		fprintf(out, " (95 %%: %s to %s)", human_bytes((double)site->live_bytes_low).text,
			human_bytes((double)site->live_bytes_high).text);
	put_growth(out, style, site);
	put_allocated(out, input, site);
	if (site->temporary_count)
		fprintf(out, ", %s temporary", human_count((double)site->temporary_count).text);
	put_lifetimes(out, site);
	if (site->threads > 1)
		fprintf(out, "; %u threads", site->threads);
	fputc('\n', out);
	text_put_stack(out, input, site);
}

static void put_sites(FILE *out, const struct report_input *input)
{
	const struct style *style = style_for(&input->options);
	size_t count = input->snapshot->site_count, top = text_shown(&input->options, count);

	if (count == 0)
		return;
	fprintf(out, "\n%sTop %zu of %zu sites by %s bytes%s\n", style->bold, top, count,
		snapshot_knows_live(input->snapshot, NULL) ? "live" : "allocated", style->plain);
	for (size_t i = 0; i < top; i++)
		put_site(out, input, i);
}

static void put_leak(FILE *out, const struct report_input *input, const struct snapshot_leak *leak)
{
	const struct snapshot_site *site = text_site_by_id(input->snapshot, leak->site);

	fprintf(out, "\n  %s in %s block%s, the oldest from %s after the attach\n     ",
		human_bytes((double)leak->bytes).text, human_count((double)leak->count).text,
		text_plural(leak->count),
		human_seconds(leak->oldest).text);
	for (uint32_t i = 0; i < leak->address_count && i < 4; i++)
		fprintf(out, " 0x%llx", (unsigned long long)leak->address[i]);
	fputs(leak->address_count > 4 ? " ...\n" : "\n", out);
	if (site)
		text_put_stack(out, input, site);
}

static void put_leaks(FILE *out, const struct report_input *input)
{
	const struct style *style = style_for(&input->options);
	const struct snapshot *snapshot = input->snapshot;
	size_t top = text_shown(&input->options, snapshot->leak_count);

	if (input->leaks)
		leaks_text_put(out, input);
	if (input->leaks || !snapshot->has_leaks)
		return;
	fprintf(out, "\n%sAllocated since the attach and not freed%s\n", style->bold, style->plain);
	fputs("  Not proof of a leak: the program may still use these blocks. Blocks from before\n"
	      "  the attach are not covered.\n", out);
	if (snapshot->leak_count == 0)
		fputs("  none\n", out);
	else
		fprintf(out, "  %zu of %zu sites\n", top, snapshot->leak_count);
	for (size_t i = 0; i < top; i++)
		put_leak(out, input, &snapshot->leak[i]);
}

void text_put_overview(FILE *out, const struct report_input *input)
{
	put_header(out, input);
	put_totals(out, input);
}

int text_write(FILE *out, const struct report_input *input)
{
	errno = 0;
	text_put_overview(out, input);
	wrong_frees_text_put(out, input);
	put_sites(out, input);
	put_leaks(out, input);
	if (fflush(out) != 0)
		return errno ? -errno : -EIO;
	return ferror(out) ? -EIO : 0;
}

void text_put_head(FILE *out, const struct report_input *input)
{
	if (input->head) {
		input->head->put(out, &input->options, input->head->context);
		return;
	}
	put_target(out, input);
	text_put_label(out, "watched");
	fprintf(out, "%s\n", human_seconds(input->snapshot->session.duration).text);
	put_precision(out, input);
	put_losses(out, input);
}

int text_write_leaks(FILE *out, const struct report_input *input)
{
	errno = 0;
	text_put_head(out, input);
	put_leaks(out, input);
	if (fflush(out) != 0)
		return errno ? -errno : -EIO;
	return ferror(out) ? -EIO : 0;
}

/* Changes per second in the last interval. */
static void put_rates(FILE *out, const struct snapshot *snapshot)
{
	const struct snapshot_rates rates = snapshot_rates(snapshot);
	const struct snapshot_rate *allocs = &rates.allocs;

	if (snapshot->timeline_count == 0)
		return;
	fprintf(out, "; %s allocs/s", human_count(allocs->value).text);
	if (allocs->low < allocs->high)
		fprintf(out, " (95 %%: %s to %s)", human_count(allocs->low).text,
			human_count(allocs->high).text);
	fprintf(out, ", %s frees/s, %s/s", human_count(rates.frees.value).text,
		human_bytes(rates.bytes.value).text);
}

static void put_live_site(FILE *out, const struct report_input *input,
			  const struct snapshot_site *site)
{
	const struct style *style = style_for(&input->options);
	struct stack stack = stacks_get(input->stacks, site->stack);
	struct caller caller = caller_of_stack(&input->names, &stack, site->skip_frames);
	const struct symbol_frame *symbol = caller.symbol;
	_cleanup_free_ char *title = symbol ? text_frame_title(symbol, caller.machine) : NULL;
	size_t width = input->options.width ? input->options.width : DEFAULT_WIDTH;

	if (title)
		printable_cut(title, width > LIVE_COLUMNS ? width - LIVE_COLUMNS : 8);
	if (snapshot_knows_live(input->snapshot, NULL))
		fprintf(out, "  %10s %12s/s %9s", human_bytes((double)site->live_bytes).text,
			human_bytes_signed(site->growth).text,
			human_count((double)site->live_count).text);
	else
		fprintf(out, "  %10s %24s", human_bytes((double)site->alloc_bytes).text, "");
	fprintf(out, " %9s  %s%s%s", human_count((double)site->alloc_count).text, style->name,
		title ? title : stack.flags & STACK_OTHER ? "other" : "unknown",
		style->plain);
	/* The location only where it surely fits. */
	if (symbol && symbol->file && title &&
	    LIVE_COLUMNS + printable_columns(title) + strlen(symbol->file) + 25 < width) {
		fprintf(out, "  %s", style->dim);
		text_put_location(out, symbol);
		fputs(style->plain, out);
	}
	fputc('\n', out);
}

static void put_live_totals(FILE *out, const struct report_input *input)
{
	const struct snapshot *snapshot = input->snapshot;
	const struct style *style = style_for(&input->options);

	fprintf(out, "%s%s%s  ", style->bold, human_seconds(snapshot->session.duration).text,
		style->plain);
	if (snapshot->session.mode == SNAPSHOT_COUNTS) {
		counts_text_trend(out, &snapshot->counts);
		return;
	}
	fprintf(out, "live %s in %s blocks, peak %s",
		human_bytes((double)snapshot->totals.live_bytes).text,
		human_count((double)snapshot->totals.live_count).text,
		human_bytes((double)snapshot->totals.peak_live_bytes).text);
}

int text_write_live(FILE *out, const struct report_input *input)
{
	const struct snapshot *snapshot = input->snapshot;
	const struct style *style = style_for(&input->options);
	size_t top = text_shown(&input->options, snapshot->site_count);
	uint64_t lost = snapshot->session.lost.alloc + snapshot->session.lost.free;
	bool counted = !snapshot_knows_live(snapshot, NULL);

	errno = 0;
	put_live_totals(out, input);
	put_rates(out, snapshot);
	if (lost)
		fprintf(out, "; %slost %s%s", style->warn, human_count((double)lost).text,
			style->plain);
	fprintf(out, "\n  %s%10s %14s %9s %9s  %s%s\n", style->dim, counted ? "bytes" : "live",
		counted ? "" : "growth", counted ? "" : "blocks", "allocs", "allocated by",
		style->plain);
	for (size_t i = 0; i < top; i++)
		put_live_site(out, input, &snapshot->site[i]);
	if (fflush(out) != 0)
		return errno ? -errno : -EIO;
	return ferror(out) ? -EIO : 0;
}
