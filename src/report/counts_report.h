/* SPDX-License-Identifier: MIT */
/* counts_report.h - what only a session that counts has to say (docs/COUNTS.md). */
#ifndef MEMATTACH_COUNTS_REPORT_H
#define MEMATTACH_COUNTS_REPORT_H

#include "src/live/snapshot.h"
#include "src/report/emit.h"

/* "totals", "histogram", "sites". */
const char *counts_kind_name(uint32_t kind);
/* The document's member "counts"; nothing for other sessions. */
void counts_json_put(struct emit *emit, const struct snapshot *snapshot);
/* A site's member "sizes"; nothing where they were not counted. */
void counts_json_sizes(struct emit *emit, const struct snapshot *snapshot, uint32_t site);
/* A level that only grows and shrinks as from the attach: null if it is not known. */
void counts_json_trend(struct emit *emit, int64_t bytes, bool known);

/* The totals, for people; pre: counted. */
void counts_text_totals(FILE *out, const struct snapshot *snapshot);
/* What the top sites say behind "#1  ": allocated, on average, the sizes asked for most. */
void counts_text_site(FILE *out, const struct snapshot *snapshot,
		      const struct snapshot_site *site);
/* "grew by 12 MiB", "unknown": for a line of several figures. */
void counts_text_trend(FILE *out, const struct snapshot_counts *counts);

#endif
