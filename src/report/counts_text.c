/* SPDX-License-Identifier: MIT */
/* counts_text.c - see counts_report.h. */
#include "src/report/counts_report.h"

#include "src/report/human.h"
#include "src/report/text_put.h"

#define STEPS_SHOWN 4u

static void put_total(FILE *out, const char *name, uint64_t count, const char *bytes,
		      const char *remark)
{
	fprintf(out, "  %-12s %12s blocks %12s%s%s\n", name, human_count((double)count).text, bytes,
		remark[0] ? "  " : "", remark);
}

static void put_freed(FILE *out, const struct snapshot *snapshot)
{
	const struct snapshot_counts *counts = &snapshot->counts;
	struct human bytes = human_bytes((double)counts->free_usable);

	put_total(out, "freed", snapshot->totals.free_count,
		  counts->free_unsized ? "" : bytes.text,
		  counts->free_unsized ? "the allocator does not tell sizes" : "usable");
}

void counts_text_trend(FILE *out, const struct snapshot_counts *counts)
{
	int64_t trend;

	if (snapshot_counts_trend(counts, &trend))
		fprintf(out, "%s %s", trend < 0 ? "shrank by" : "grew by",
			human_bytes(trend < 0 ? -(double)trend : (double)trend).text);
	else
		fputs("growth unknown", out);
}

static void put_trend(FILE *out, const struct snapshot *snapshot)
{
	const struct snapshot_totals *totals = &snapshot->totals;
	double blocks = (double)totals->alloc_count - (double)totals->free_count;
	struct human count = human_count(blocks < 0 ? -blocks : blocks);
	int64_t bytes;

	fprintf(out, "  %-12s %c%11s blocks", "trend", blocks < 0 ? '-' : '+', count.text);
	if (snapshot_counts_trend(&snapshot->counts, &bytes))
		fprintf(out, " %12s  of usable memory in blocks since the attach\n",
			human_bytes_signed((double)bytes).text);
	else
		fputs("      unknown  since the attach: the allocator does not tell sizes\n", out);
}

static void put_rest(FILE *out, const char *name, const struct counts_rest *rest, const char *why)
{
	if (rest->count)
		put_total(out, name, rest->count, human_bytes((double)rest->bytes).text, why);
}

void counts_text_totals(FILE *out, const struct snapshot *snapshot)
{
	const struct snapshot_totals *totals = &snapshot->totals;
	const struct snapshot_counts *counts = &snapshot->counts;
	char remark[100] = "";

	if (totals->alloc_count)
		snprintf(remark, sizeof(remark), "%s on average",
			 human_bytes((double)totals->alloc_bytes /
				     (double)totals->alloc_count).text);
	put_total(out, "allocated", totals->alloc_count,
		  human_bytes((double)totals->alloc_bytes).text, remark);
	put_freed(out, snapshot);
	put_trend(out, snapshot);
	put_rest(out, "by caller", &counts->by_caller,
		 "of these: stacks that no rule describes, known by their caller alone");
	put_rest(out, "other sites", &counts->paths_left, "of these: no room for their sites");
	put_rest(out, "other sizes", &counts->sizes_left,
		 "of these: no room for their sizes in the histogram");
}

static void put_step(FILE *out, const struct snapshot_step *step)
{
	if (step->low == step->high)
		fprintf(out, "%s B", human_exact(step->low).text);
	else
		fprintf(out, "%s to %s B", human_exact(step->low).text,
			human_exact(step->high).text);
	fprintf(out, ": %s", human_count((double)step->count).text);
}

/* The largest of them that comes behind `before` in count, then place; NULL. */
static const struct snapshot_step *next_step(const struct snapshot *snapshot, uint32_t site,
					     const struct snapshot_step *before)
{
	const struct snapshot_step *best = NULL;

	for (size_t i = snapshot_steps_of(snapshot, site);
	     i < snapshot->step_count && snapshot->step[i].site == site; i++) {
		const struct snapshot_step *step = &snapshot->step[i];

		if (before && (step->count > before->count ||
			       (step->count == before->count && step <= before)))
			continue;
		if (!best || step->count > best->count)
			best = step;
	}
	return best;
}

void counts_text_site(FILE *out, const struct snapshot *snapshot, const struct snapshot_site *site)
{
	const struct snapshot_step *step = NULL;

	fprintf(out, "%s allocated in %s block%s, %s on average\n    sizes ",
		human_bytes((double)site->alloc_bytes).text,
		human_count((double)site->alloc_count).text, text_plural(site->alloc_count),
		human_bytes((double)site->alloc_bytes / (double)site->alloc_count).text);
	for (unsigned int i = 0; i < STEPS_SHOWN; i++) {
		step = next_step(snapshot, site->id, step);
		if (!step)
			break;
		fputs(i ? ", " : "", out);
		put_step(out, step);
	}
	fputs(step && next_step(snapshot, site->id, step) ? ", ...\n" : "\n", out);
}
