/* SPDX-License-Identifier: MIT */
/*
 * export.h - a recording in the formats of other tools: a table of {name, help, write}
 * (docs/EXPORTS.md).
 */
#ifndef MEMATTACH_EXPORT_EXPORT_H
#define MEMATTACH_EXPORT_EXPORT_H

#include "src/recording/recording.h"
#include "src/view/view_sites.h"

struct export_input {
	const struct recording_content *content;	/* of a recording, or of a moment of it */
	const struct view_sites *sites;	/* those that are exported */
	enum view_metric metric;	/* for formats with one figure a stack */
	unsigned live_seconds;		/* html: how often it asks who serves it; 0: a file */
};
struct export_format {
	const char *name, *help;
	bool binary;			/* nothing for a terminal */
	/* Writes all of it. 0, -errno of the stream, -ENOMEM, -EBADMSG. NULL: see missing. */
	int (*write)(FILE *out, const struct export_input *input);
	const char *missing;		/* what this build lacks for it; NULL: nothing */
	const char *nameless;		/* why it has no names, for people; NULL: it has */
	enum {
		EXPORT_OF_BLOCKS = 0,	/* it needs to know which blocks live */
		EXPORT_OF_FIGURE,	/* of one figure, which may be a count */
		EXPORT_OF_ANY,		/* it says what is not known */
	} of;
};
/* By name, or NULL. */
const struct export_format *export_find(const char *name);
/* The table; ends with a NULL name. */
const struct export_format *export_table(void);

/* The writers. */
int export_folded(FILE *out, const struct export_input *input);
int export_pprof(FILE *out, const struct export_input *input);
int export_speedscope(FILE *out, const struct export_input *input);
int export_gperftools(FILE *out, const struct export_input *input);
int export_massif(FILE *out, const struct export_input *input);
int export_callgrind(FILE *out, const struct export_input *input);
int export_heaptrack(FILE *out, const struct export_input *input);
int export_json(FILE *out, const struct export_input *input);
int export_csv(FILE *out, const struct export_input *input);
int export_html(FILE *out, const struct export_input *input);
int export_flame_svg(FILE *out, const struct export_input *input);
int export_timeline_svg(FILE *out, const struct export_input *input);

#endif
