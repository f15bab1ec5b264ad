/* SPDX-License-Identifier: MIT */
/* counts_json.c - see counts_report.h and docs/snapshot.schema.json. */
#include "src/report/counts_report.h"

const char *counts_kind_name(uint32_t kind)
{
	static const char *const name[COUNTS_KINDS] = { "", "totals", "histogram", "sites" };

	return name[kind % COUNTS_KINDS];
}

void counts_json_trend(struct emit *emit, int64_t bytes, bool known)
{
	if (known)
		emit_int(emit, "trend_bytes", bytes);
	else
		emit_null(emit, "trend_bytes");
}

static void put_rest(struct emit *emit, const char *key, const struct counts_rest *rest)
{
	emit_begin(emit, key, '{');
	emit_uint(emit, "count", rest->count);
	emit_uint(emit, "bytes", rest->bytes);
	emit_end(emit, '}');
}

void counts_json_put(struct emit *emit, const struct snapshot *snapshot)
{
	const struct snapshot_counts *counts = &snapshot->counts;
	int64_t trend = 0;
	bool known = snapshot_counts_trend(counts, &trend);

	if (snapshot->session.mode != SNAPSHOT_COUNTS)
		return;
	emit_begin(emit, "counts", '{');
	emit_text(emit, "kind", counts_kind_name(counts->kind));
	emit_uint_if(emit, "alloc_usable_bytes", counts->alloc_usable, !counts->alloc_unsized);
	emit_uint_if(emit, "free_usable_bytes", counts->free_usable, !counts->free_unsized);
	emit_uint(emit, "unsized_count", counts->alloc_unsized + counts->free_unsized);
	emit_int(emit, "trend_count",
		 (int64_t)(snapshot->totals.alloc_count - snapshot->totals.free_count));
	counts_json_trend(emit, trend, known);
	put_rest(emit, "by_caller", &counts->by_caller);
	put_rest(emit, "sites_left_out", &counts->paths_left);
	put_rest(emit, "sizes_left_out", &counts->sizes_left);
	emit_uint(emit, "shared_count", counts->shared_count);
	emit_end(emit, '}');
}

void counts_json_sizes(struct emit *emit, const struct snapshot *snapshot, uint32_t site)
{
	if (snapshot->session.mode != SNAPSHOT_COUNTS || snapshot->counts.kind < COUNTS_SITES)
		return;
	emit_begin(emit, "sizes", '[');
	for (size_t i = snapshot_steps_of(snapshot, site);
	     i < snapshot->step_count && snapshot->step[i].site == site; i++) {
		const struct snapshot_step *step = &snapshot->step[i];

		emit_begin(emit, NULL, '{');
		emit_uint(emit, "low", step->low);
		emit_uint(emit, "high", step->high);
		emit_uint(emit, "count", step->count);
		emit_uint(emit, "bytes", step->bytes);
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
}
