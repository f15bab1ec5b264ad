/* SPDX-License-Identifier: MIT */
/*
 * export.c - the table of formats, in the order in which help and documentation show them.
 *
 * A format that this build can't write stays in the table and says what it lacks: an unknown
 * format and one that was left out are different mistakes.
 */
#include "src/export/export.h"

#include <string.h>

#ifdef HAVE_PPROF
#define PPROF .write = export_pprof
#else
#define PPROF .missing = "protobuf-c and zlib"
#endif

static const struct export_format table[] = {
	{ "folded", "a line a stack, outermost function first: flamegraph.pl, inferno",
	  .write = export_folded, .of = EXPORT_OF_FIGURE },
	{ "pprof", "gzipped protobuf: pprof, Parca, Pyroscope", .binary = true, PPROF },
	{ "speedscope", "JSON: speedscope.app", .write = export_speedscope },
	{ "gperftools", "heap profile with addresses: google-pprof, jeprof",
	  .write = export_gperftools,
	  .nameless = "it has addresses, which its readers name themselves" },
	{ "massif", "snapshots over time: ms_print, massif-visualizer", .write = export_massif },
	{ "callgrind", "call graph: callgrind_annotate, KCachegrind", .write = export_callgrind },
	{ "heaptrack", "events over time: heaptrack_gui, heaptrack_print (-o NAME.zst or .gz)",
	  .write = export_heaptrack },
	{ "json", "the snapshot document, as report --json", .write = export_json,
	  .of = EXPORT_OF_ANY },
	{ "csv", "a row a site: spreadsheets, data frames", .write = export_csv },
	{ "html", "a page for browsers, in one file: charts, flame graph, tables",
	  .write = export_html },
	{ "svg", "a picture: flame graph", .write = export_flame_svg, .of = EXPORT_OF_FIGURE },
	{ "svg-timeline", "a picture: live bytes and RSS over time",
	  .write = export_timeline_svg, .nameless = "it shows no functions" },
	{ .name = NULL },
};

const struct export_format *export_table(void)
{
	return table;
}

const struct export_format *export_find(const char *name)
{
	for (const struct export_format *format = table; format->name; format++) {
		if (strcmp(format->name, name) == 0)
			return format;
	}
	return NULL;
}
