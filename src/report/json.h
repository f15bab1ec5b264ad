/* SPDX-License-Identifier: MIT */
/* json.h - one document on one line, as docs/snapshot.schema.json says. */
#ifndef MEMATTACH_REPORT_JSON_H
#define MEMATTACH_REPORT_JSON_H

#include "src/report/emit.h"
#include "src/report/report.h"

/* Streams the document and a newline: memory does not grow with the number of sites. */
int json_write(FILE *out, const struct report_input *input) _must_check_;
/* The members target, session, totals and map_totals of such a document. */
void json_put_overview(struct emit *emit, const struct snapshot *snapshot);
/* The keys _low and _high of a point of the timeline; live: it is known what lives. */
void json_put_point_ends(struct emit *emit, const struct timeline_point *point, bool live);

#endif
