/* SPDX-License-Identifier: MIT */
/* view_metric.c - a table of {name, words, suffix, unit, value}. */
#include "src/view/view_metric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/report/human.h"

static uint64_t site_live_bytes(const struct snapshot_site *s) { return s->live_bytes; }
static uint64_t site_live_count(const struct snapshot_site *s) { return s->live_count; }
static uint64_t site_alloc_bytes(const struct snapshot_site *s) { return s->alloc_bytes; }
static uint64_t site_alloc_count(const struct snapshot_site *s) { return s->alloc_count; }
static uint64_t site_free_count(const struct snapshot_site *s) { return s->free_count; }
static uint64_t site_peak_bytes(const struct snapshot_site *s) { return s->at_peak_bytes; }
static uint64_t site_temporary(const struct snapshot_site *s) { return s->temporary_count; }

static const struct {
	const char *name, *words, *suffix;
	bool bytes;
	uint64_t (*value)(const struct snapshot_site *site);
} table[VIEW_METRIC_COUNT] = {
	[VIEW_LIVE_BYTES] = { "live", "live bytes", "live", true, site_live_bytes },
	[VIEW_LIVE_COUNT] = { "live-count", "live blocks", "live blocks", false, site_live_count },
	[VIEW_ALLOC_BYTES] = { "bytes", "allocated bytes", "allocated", true, site_alloc_bytes },
	[VIEW_ALLOC_COUNT] = { "calls", "calls", "calls", false, site_alloc_count },
	[VIEW_FREE_COUNT] = { "frees", "frees", "frees", false, site_free_count },
	[VIEW_PEAK_BYTES] = { "peak", "bytes at the peak", "at the peak", true, site_peak_bytes },
	[VIEW_TEMPORARY] = { "temporary", "temporary blocks", "temporary blocks", false,
			     site_temporary },
};

const char *view_metric_missing(const struct snapshot *snapshot, enum view_metric metric)
{
	if (snapshot->session.mode == SNAPSHOT_COUNTS && metric != VIEW_ALLOC_BYTES &&
	    metric != VIEW_ALLOC_COUNT)
		return "calls were only counted: sites have --by=bytes and --by=calls";
	if (metric == VIEW_TEMPORARY && !snapshot->every_alloc)
		return "which blocks were temporary is known only where every allocation was "
		       "seen: use --exact";
	if (metric != VIEW_PEAK_BYTES || snapshot->site_peaks)
		return NULL;
	return snapshot->session.recorded_seconds > 0 ?
		"what each site held at the peak is known of a recording's end: leave out the "
		"moment, or take FILE@peak and what is live" :
		"what each site held at the peak was not recorded: made by an older memattach";
}

const char *view_metric_name(enum view_metric metric)
{
	return table[metric].name;
}

const char *view_metric_words(enum view_metric metric)
{
	return table[metric].words;
}

const char *view_metric_suffix(enum view_metric metric)
{
	return table[metric].suffix;
}

bool view_metric_find(const char *name, enum view_metric *ret)
{
	for (int i = 0; i < VIEW_METRIC_COUNT; i++) {
		if (strcmp(table[i].name, name) != 0)
			continue;
		*ret = (enum view_metric)i;
		return true;
	}
	return false;
}

bool view_metric_is_bytes(enum view_metric metric)
{
	return table[metric].bytes;
}

uint64_t view_metric_value(const struct snapshot_site *site, enum view_metric metric)
{
	return table[metric].value(site);
}

char *view_metric_nothing(const struct snapshot *snapshot, const uint64_t sum[VIEW_METRIC_COUNT],
			  enum view_metric metric)
{
	const char *before = "; there are";
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	fprintf(out, "no site has %s", table[metric].words);
	for (int m = 0; m < VIEW_METRIC_COUNT; m++) {
		if (sum[m] == 0 || view_metric_missing(snapshot, (enum view_metric)m))
			continue;
		fprintf(out, "%s %s by --by=%s", before, table[m].bytes ?
			human_bytes((double)sum[m]).text : human_count((double)sum[m]).text,
			table[m].name);
		before = ",";
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

uint64_t view_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
