/* SPDX-License-Identifier: MIT */
/* view_put.h - what the views' texts and documents have in common. For views only. */
#ifndef MEMATTACH_VIEW_VIEW_PUT_H
#define MEMATTACH_VIEW_VIEW_PUT_H

#include "src/report/human.h"
#include "src/report/style.h"
#include "src/view/view.h"

/* "Top 3 of 9 sites": a line in bold behind an empty one; printf. */
void view_put_title(FILE *out, const struct view_input *input, const char *format, ...)
	_printf_(3, 4);
/* " 63.3 %", 7 columns. */
void view_put_share(FILE *out, uint64_t part, uint64_t whole);
double view_share(uint64_t part, uint64_t whole);
/* A figure of metric, for people. */
struct human view_human(enum view_metric metric, uint64_t value);
/* "50 calls", "1 call", "19.5 KiB live". */
void view_put_value(FILE *out, enum view_metric metric, uint64_t value);
/* file:line:column, or the module without its folders. */
void view_put_location(FILE *out, const struct view_frame *frame);
/* A line a frame, innermost first, and whether that is all of it. */
void view_put_stack(FILE *out, const struct view_input *input, const struct view_site *site);
/* "  Nothing: no site has ...", if none of sites has something by metric. */
void view_put_nothing(FILE *out, const struct view_input *input, const struct view_sites *sites,
		      enum view_metric metric);
/* A bar of # for part of whole, up to columns, and the end of the line. */
void view_put_bar(FILE *out, uint64_t part, uint64_t whole, uint32_t columns);

/* The metric that options ask for, or otherwise. */
enum view_metric view_metric_or(const struct view_input *input, enum view_metric otherwise);
/* The sites that options.filter leaves; stacks cut at options.depth if that is wanted. */
int view_take(const struct view_input *input, bool cut, struct view_sites **ret) _must_check_;

/* An object: definitions/frame of the schema. */
void view_json_frame(struct emit *emit, const char *key, const struct view_frame *frame);
/* definitions/site: figures and frames. */
void view_json_site(struct emit *emit, const struct view_input *input, const char *key,
		    const struct view_site *site);
/* Why what is known of a recording's end alone can't be shown: of a moment; NULL: it is none. */
const char *view_missing_of_moment(const struct view_input *input);
/* Is it known of this input? */
bool view_knows(const struct view_input *input, enum view_metric metric);
/* "metrics": what value[] says, by the metrics' names; null for what is not known. */
void view_json_metrics(struct emit *emit, const struct view_input *input, const char *key,
		       const uint64_t value[VIEW_METRIC_COUNT]);

#endif
