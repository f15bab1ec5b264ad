/* SPDX-License-Identifier: MIT */
/* options_view.h - the options that choose and shape a view; rows of the table in options.c. */
#ifndef MEMATTACH_OPTIONS_VIEW_H
#define MEMATTACH_OPTIONS_VIEW_H

#include <getopt.h>

#include "cli/options/options.h"

enum {
	OPT_VIEW = 512, OPT_BY, OPT_REVERSE, OPT_DEPTH, OPT_THRESHOLD, OPT_FLAME_USE_SIZE,
	OPT_TIME_UNIT, OPT_SIZES, OPT_SITE, OPT_SIZE, OPT_THREAD, OPT_MODULE, OPT_INLINE,
	OPT_JUST_FUNCTION, OPT_SHORTEN_TEMPLATES,
};
#define OPTIONS_VIEW_ROWS \
	{ "view", required_argument, NULL, OPT_VIEW }, \
	{ "by", required_argument, NULL, OPT_BY }, \
	{ "reverse", no_argument, NULL, OPT_REVERSE }, \
	{ "depth", required_argument, NULL, OPT_DEPTH }, \
	{ "threshold", required_argument, NULL, OPT_THRESHOLD }, \
	{ "flame-use-size", no_argument, NULL, OPT_FLAME_USE_SIZE }, \
	{ "time-unit", required_argument, NULL, OPT_TIME_UNIT }, \
	{ "sizes", required_argument, NULL, OPT_SIZES }, \
	{ "site", required_argument, NULL, OPT_SITE }, \
	{ "size", required_argument, NULL, OPT_SIZE }, \
	{ "thread", required_argument, NULL, OPT_THREAD }, \
	{ "module", required_argument, NULL, OPT_MODULE }, \
	{ "inline", required_argument, NULL, OPT_INLINE }, \
	{ "just-function-name", no_argument, NULL, OPT_JUST_FUNCTION }, \
	{ "shorten-templates", no_argument, NULL, OPT_SHORTEN_TEMPLATES }

/* One of the above; value: NULL for those without. As options_parse. */
int options_view_set(struct cli_options *options, int option, const char *value) _must_check_;
/*
 * Options that shape a view, without one, or another one than theirs; a view that the mode can't
 * know: refused with one line on stderr: SESSION_USAGE; else SESSION_OK.
 */
int options_check_view(const struct cli_options *options) _must_check_;
/* "overview, hotspots, ...": static. */
const char *options_view_names(void);

#endif
