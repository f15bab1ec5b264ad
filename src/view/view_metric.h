/* SPDX-License-Identifier: MIT */
/* view_metric.h - the figures of a site that views sort by, add up and draw. */
#ifndef MEMATTACH_VIEW_METRIC_H
#define MEMATTACH_VIEW_METRIC_H

#include <stdbool.h>

#include "src/base/cleanup.h"
#include "src/live/snapshot.h"

/* Each is additive: the sum over sites means something. */
enum view_metric {
	VIEW_LIVE_BYTES = 0,	/* "live" */
	VIEW_LIVE_COUNT,	/* "live-count" */
	VIEW_ALLOC_BYTES,	/* "bytes": allocated */
	VIEW_ALLOC_COUNT,	/* "calls" */
	VIEW_FREE_COUNT,	/* "frees" */
	VIEW_PEAK_BYTES,	/* "peak": at_peak_bytes, see snapshot.site_peaks */
	VIEW_TEMPORARY,		/* "temporary": see snapshot.every_alloc */
	VIEW_METRIC_COUNT
};

/* Why the snapshot has no such figure of its sites, a phrase for people; NULL: it has. */
const char *view_metric_missing(const struct snapshot *snapshot, enum view_metric metric);
/* As users type it. */
const char *view_metric_name(enum view_metric metric);
/* For people, to sort by: "live bytes", "calls"; and behind a figure: "live", "calls". */
const char *view_metric_words(enum view_metric metric);
const char *view_metric_suffix(enum view_metric metric);
/* True and *ret set, if name is one. */
bool view_metric_find(const char *name, enum view_metric *ret);
/* Is it bytes rather than a number of blocks? */
bool view_metric_is_bytes(enum view_metric metric);
uint64_t view_metric_value(const struct snapshot_site *site, enum view_metric metric);
/*
 * "no site has live bytes; there are 1.2 MiB by --by=bytes, 120 by --by=calls": for what is empty,
 * by what it would not be. sum: of all sites that are shown. A copy, to be freed; NULL: out of
 * memory.
 */
char *view_metric_nothing(const struct snapshot *snapshot, const uint64_t sum[VIEW_METRIC_COUNT],
			  enum view_metric metric) _must_check_;
/* a + b, or UINT64_MAX: figures of a recording may be anything. */
uint64_t view_sum(uint64_t a, uint64_t b);

#endif
