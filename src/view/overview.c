/* SPDX-License-Identifier: MIT */
/* overview.c - what a session comes to, without any site: see overview.h. */
#include "src/view/overview.h"

#include <inttypes.h>

#include "src/report/estimated.h"
#include "src/report/report_json.h"
#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/view_put.h"

/* What was asked for in live blocks, and what the allocator gave. */
static void put_overhead(FILE *out, const struct snapshot *snapshot)
{
	const struct snapshot_totals *totals = &snapshot->totals;
	char text[HUMAN_BYTES + 1];

	(void)snprintf(text, sizeof(text), "%s%s", view_mark(snapshot),
		       human_bytes((double)totals->overhead_bytes).text);
	fprintf(out, "  %-12s %19s %12s  %.1f %% more than was asked for: usable, not used\n",
		"overhead", "", text,
		view_share(totals->overhead_bytes, totals->live_bytes));
}

static void put_maps(FILE *out, const struct snapshot_map_totals *maps)
{
	if (!maps->map_count && !maps->allocator_live_bytes)
		return;
	fprintf(out, "  %-12s %12s maps   %12s  %s in %s unmapped, peak %s\n", "ever mapped",
		human_count((double)maps->map_count).text,
		human_bytes((double)maps->map_bytes).text,
		human_bytes((double)maps->unmap_bytes).text,
		human_count((double)maps->unmap_count).text,
		human_bytes((double)maps->peak_live_bytes).text);
	if (maps->allocator_live_bytes)
		fprintf(out, "  %-12s %19s %12s  mapped by allocators for their blocks\n", "", "",
			human_bytes((double)maps->allocator_live_bytes).text);
}

/* The top of each metric, in a line. */
static int put_tops(FILE *out, const struct view_input *input)
{
	struct view_sites *sites;
	int err = view_take(input, false, &sites);

	if (err < 0)
		return err;
	fprintf(out, "  %-12s %12zu\n", "sites", sites->count);
	for (int m = 0; m < VIEW_METRIC_COUNT; m++) {
		enum view_metric metric = (enum view_metric)m;
		const struct view_site *top = NULL;
		uint64_t most = 0;

		for (size_t i = 0; i < sites->count; i++) {
			uint64_t value = view_metric_value(sites->site[i].figures, metric);

			if (value <= most || !view_knows(input, metric))
				continue;
			most = value;
			top = &sites->site[i];
		}
		if (!top)
			continue;
		fprintf(out, "  most %-17s %10s ", view_metric_words(metric),
			view_human(metric, most).text);
		view_put_share(out, most, sites->sum[metric]);
		fprintf(out, "  site %u, ", top->figures->id);
		text_put_name(out, view_site_caller(top)->title);
		fputc('\n', out);
	}
	view_sites_free(sites);
	return 0;
}

int overview_text(FILE *out, const struct view_input *input)
{
	const struct snapshot *snapshot = input->report.snapshot;

	text_put_overview(out, &input->report);
	if (snapshot_knows_live(snapshot, NULL))
		put_overhead(out, snapshot);
	put_maps(out, &snapshot->map_totals);
	fputc('\n', out);
	return put_tops(out, input);
}

int overview_json(struct emit *emit, const struct view_input *input)
{
	const struct snapshot *snapshot = input->report.snapshot;

	json_put_overview(emit, snapshot);
	emit_uint(emit, "site_count", snapshot->site_count);
	return 0;
}
