/* SPDX-License-Identifier: MIT */
/* report_json.h - one document on one line, as docs/snapshot.schema.json says. */
#ifndef MEMATTACH_REPORT_JSON_H
#define MEMATTACH_REPORT_JSON_H

#include "src/report/emit.h"
#include "src/report/report.h"

/* The keys of an interval's ends: its figure's with _low and _high. */
#define PUT_BOUNDS(emit, key, bounds, known) \
	do { \
		emit_uint_if(emit, key "_low", (bounds)->low, known); \
		emit_uint_if(emit, key "_high", (bounds)->high, known); \
	} while (0)

/* Streams the document and a newline: memory does not grow with the number of sites. */
int json_write(FILE *out, const struct report_input *input) _must_check_;
/* The members target, session, totals and map_totals of such a document. */
void json_put_overview(struct emit *emit, const struct snapshot *snapshot);
/*
 * The keys _low and _high that totals and sites have in common, null unless known; free_bytes has
 * them in totals only.
 */
void json_put_intervals(struct emit *emit, const struct snapshot_intervals *in, bool known,
			bool every_alloc);
void json_put_free_bytes_ends(struct emit *emit, const struct snapshot *snapshot);
/* The keys _low and _high of a point of the timeline; live: it is known what lives. */
void json_put_point_ends(struct emit *emit, const struct timeline_point *point, bool live);

#endif
