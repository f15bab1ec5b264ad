/* SPDX-License-Identifier: MIT */
/*
 * help_table.c - the commands and their options, as help, completions and man pages have them.
 *
 * tests/lint/options.sh compares it with the table that is parsed (options.c, options_view.h), with
 * the pages in docs/ and the completions, so that a new option is a row here, in options.c, a
 * paragraph in docs/options.mdoc and `make completions`.
 */
#include "cli/help.h"

#include <stddef.h>

const struct help_command help_command_table[] = {
	{ "attach", HELP_ATTACH, "-p PID [-d SECONDS] [options]",
	  "watch a running process, report, and leave it as it was", "" },
	{ "run", HELP_RUN, "run [options] -- COMMAND [ARGS...]",
	  "start a program and watch it from its first allocation", "command" },
	{ "trace", HELP_TRACE, "trace -p PID [options], or trace [options] -- COMMAND [ARGS...]",
	  "one line for each call of an allocator", "command" },
	{ "leaks", HELP_LEAKS, "leaks -p PID [options]",
	  "what is lost, from one look at a process's memory; who holds a block", "" },
	{ "check", HELP_CHECK, "check -p PID",
	  "what an attach would do, or why it is refused; touches nothing", "" },
	{ "cleanup", HELP_CLEANUP, "cleanup -p PID",
	  "finish a detach that a killed memattach left", "" },
	{ "report", HELP_REPORT, "report FILE[@MOMENT]... [VIEW] [options]",
	  "print a recording again, or one view of it; several put together", "recording view" },
	{ "diff", HELP_DIFF, "diff OLD NEW [options]",
	  "what is new, grew, shrank or is gone", "recordings" },
	{ "export", HELP_EXPORT, "export FILE[@MOMENT] --to=FORMAT [options]",
	  "a recording for pprof, heaptrack, ms_print, browsers and others", "recording" },
	{ "symbolize", HELP_SYMBOLIZE, "symbolize FILE [--search=FOLDER]...",
	  "find names that a recording lacks", "recording" },
	{ "status", HELP_STATUS, "status [options]",
	  "what memattachd watches, and how it fares", "" },
	{ "ps", HELP_PS, "ps [options]", "processes that can be watched, and which ones are", "" },
	{ "detach", HELP_DETACH, "detach -p PID [options]",
	  "memattachd leaves a process, and does not begin again", "" },
	{ "set", HELP_SET, "set -p PID [options]",
	  "memattachd watches a process in another way, from now on", "" },
	{ "snapshot", HELP_SNAPSHOT, "snapshot -p PID [options]",
	  "the report of a process that memattachd watches, now", "" },
	{ "watch", HELP_WATCH, "watch [options]", "events of memattachd as they happen", "" },
	{ "top", HELP_TOP, "top [options]",
	  "what memattachd watches, by live bytes, again and again", "" },
	{ NULL, 0, NULL, NULL, NULL },
};

#define WATCH	(HELP_ATTACH | HELP_RUN | HELP_LEAKS)
#define SEVERAL	(HELP_ATTACH | HELP_LEAKS)
#define HOOK	(WATCH | HELP_TRACE)
#define VIEW	(HELP_ATTACH | HELP_RUN | HELP_REPORT)
#define SITES	(VIEW | HELP_EXPORT)
#define BY_DAEMON	(HELP_ATTACH_BY_DAEMON | HELP_LEAKS_BY_DAEMON)
#define DAEMON_ONE	(HELP_DETACH | HELP_SET | HELP_SNAPSHOT | BY_DAEMON)
#define DAEMON_HOW	(HELP_SET | HELP_ATTACH_BY_DAEMON)
#define DAEMON_ALL	(HELP_STATUS | HELP_PS | HELP_WATCH | HELP_TOP)
#define NAMES	(SITES | HELP_TRACE | HELP_LEAKS)

const struct help_option help_option_table[] = {
	{ "pid", 'p', HELP_PID, "PID", NULL,
	  HELP_ATTACH | HELP_TRACE | HELP_LEAKS | HELP_CHECK | HELP_CLEANUP | DAEMON_ONE,
	  "the process" },
	{ "duration", 'd', HELP_TEXT, "SECONDS", NULL, HOOK | HELP_TOP, "end after so long" },
	{ "output", 'o', HELP_FILE, "FILE", NULL, HOOK | HELP_EXPORT | HELP_SNAPSHOT,
	  "the file to write" },
	{ "leaks", 0, HELP_NONE, NULL, NULL, HELP_ATTACH | HELP_RUN | HELP_REPORT,
	  "search for lost memory" },
	{ "json", 0, HELP_NONE, NULL, NULL,
	  HOOK | HELP_REPORT | HELP_DIFF | HELP_STATUS | HELP_PS | HELP_WATCH | DAEMON_ONE,
	  "print JSON" },
	{ "top", 0, HELP_TEXT, "N", NULL,
	  HOOK | HELP_REPORT | HELP_DIFF | HELP_SNAPSHOT | HELP_TOP | HELP_LEAKS_BY_DAEMON,
	  "print so many" },
	{ "exact", 0, HELP_NONE, NULL, NULL, HOOK, "record every event" },
	{ "sample", 0, HELP_TEXT, "BYTES", NULL, WATCH | DAEMON_HOW,
	  "record one allocation in so many bytes" },
	{ "counts", 0, HELP_MAY_CHOOSE, "WHAT", "totals histogram sites", HELP_ATTACH | HELP_RUN,
	  "count calls, and record none" },
	{ "overhead", 0, HELP_TEXT, "PCT", NULL, WATCH | DAEMON_HOW,
	  "what it may cost, of the process's time" },
	{ "interval", 0, HELP_TEXT, "SECONDS", NULL, WATCH | DAEMON_HOW | HELP_TOP,
	  "from snapshot to snapshot" },
	{ "loader", 0, HELP_CHOICE, "WAY", "auto dlopen map",
	  HELP_ATTACH | HELP_TRACE | HELP_LEAKS | HELP_CHECK, "how hooks get into the process" },
	{ "track", 0, HELP_CHOICE, "CALLS", "malloc mmap all",
	  HOOK | HELP_CHECK | HELP_REPORT | HELP_EXPORT, "blocks, mappings or both" },
	{ "plain", 0, HELP_NONE, NULL, NULL, HELP_ATTACH | HELP_RUN,
	  "no live screen: plain lines" },
	{ "on-overflow", 0, HELP_CHOICE, "ACTION", "drop block", HOOK, "when the ring is full" },
	{ "frees", 0, HELP_CHOICE, "WHAT", "callers stacks", WATCH, "what is kept of frees" },
	{ "stacks", 0, HELP_CHOICE, "HOW", "recognise copy", WATCH, "how stacks come here" },
	{ "verify-stacks", 0, HELP_TEXT, "N", NULL, WATCH, "audit every Nth recognised stack" },
	{ "seed", 0, HELP_TEXT, "NUMBER", NULL, WATCH, "of the sampler, for tests" },
	{ "ring-size", 0, HELP_TEXT, "BYTES", NULL, HOOK, "shared memory in the process" },
	{ "snapshot", 0, HELP_CHOICE, "HOW", "copy stop", HELP_ATTACH | HELP_LEAKS,
	  "how memory is read at one moment" },
	{ "roots", 0, HELP_LIST, "LIST", "globals stacks registers tls", WATCH,
	  "where the search for leaks begins" },
	{ "trace-to", 0, HELP_TEXT, "ADDRESS", NULL, HELP_ATTACH | HELP_LEAKS,
	  "who holds the block there" },
	{ "suppressions", 0, HELP_FILE, "FILE", NULL, WATCH, "lost blocks to leave out" },
	{ "show-bytes", 0, HELP_TEXT, "N", NULL, WATCH, "show what lost blocks hold" },
	{ "access", 0, HELP_TEXT, "SECONDS", NULL, WATCH, "are suspects still used, and by whom" },
	{ "history", 0, HELP_FILE, "FILE", NULL, WATCH,
	  "a recording from before that lengthens the watch" },
	{ "function", 0, HELP_TEXT, "NAME", NULL, HELP_TRACE, "calls by, or of, this function" },
	{ "to", 0, HELP_FORMAT, "FORMAT", NULL, HELP_EXPORT, "which format; help lists them" },
	{ "search", 0, HELP_FOLDER, "FOLDER", NULL, HELP_SYMBOLIZE, "where files may be" },
	{ "heaps", 0, HELP_NONE, NULL, NULL, WATCH, "walk the heaps for the recording" },
	{ "snapshot-on", 0, HELP_LIST, "LIST", "64M +10M peak SIGUSR1", WATCH,
	  "snapshots in between" },
	{ "max-recording", 0, HELP_TEXT, "BYTES", NULL, WATCH, "the recording's largest size" },
	{ "max-memory", 0, HELP_TEXT, "BYTES", NULL, WATCH, "memattach's own largest memory" },
	{ "name", 0, HELP_TEXT, "NAME", NULL, SEVERAL, "all processes that are called so" },
	{ "unit", 0, HELP_TEXT, "UNIT", NULL, SEVERAL, "all processes of a unit of systemd" },
	{ "follow", 0, HELP_NONE, NULL, NULL, SEVERAL, "what they fork, or become by exec, too" },
	{ "max-processes", 0, HELP_TEXT, "N", NULL, SEVERAL, "so many at the most (64)" },
	{ "daemon", 0, HELP_NONE, NULL, NULL, HELP_ATTACH | HELP_LEAKS | BY_DAEMON,
	  "memattachd is to do it" },
	{ "control", 0, HELP_FILE, "SOCKET", NULL,
	  HELP_ATTACH | HELP_LEAKS | DAEMON_ONE | DAEMON_ALL, "where memattachd is asked" },
	{ "view", 0, HELP_VIEW, "VIEW", NULL, VIEW, "print one view" },
	{ "by", 0, HELP_METRIC, "FIGURE", NULL, SITES, "what is sorted by and added up" },
	{ "reverse", 0, HELP_NONE, NULL, NULL, VIEW, "from the innermost function" },
	{ "depth", 0, HELP_TEXT, "N", NULL, SITES, "so many levels or frames" },
	{ "threshold", 0, HELP_TEXT, "PCT", NULL, VIEW, "leave out what has less" },
	{ "flame-use-size", 0, HELP_NONE, NULL, NULL, VIEW, "flame: bytes, not calls" },
	{ "time-unit", 0, HELP_CHOICE, "UNIT", "s B", VIEW, "timeline: seconds, or bytes" },
	{ "sizes", 0, HELP_CHOICE, "SIZES", "powers exact", VIEW, "histogram: of which sizes" },
	{ "site", 0, HELP_TEXT, "SITE", NULL, SITES | HELP_TRACE, "this site only" },
	{ "size", 0, HELP_TEXT, "N[-M]", NULL, SITES | HELP_TRACE, "these sizes only" },
	{ "thread", 0, HELP_TEXT, "THREAD", NULL, VIEW | HELP_TRACE,
	  "what this thread did: number, id or name" },
	{ "module", 0, HELP_TEXT, "NAME", NULL, SITES | HELP_TRACE,
	  "what this program or library takes part in" },
	{ "inline", 0, HELP_CHOICE, "WHETHER", "no yes", NAMES, "frames of inlined functions" },
	{ "just-function-name", 0, HELP_NONE, NULL, NULL, NAMES,
	  "names without types and parameters" },
	{ "shorten-templates", 0, HELP_NONE, NULL, NULL, NAMES,
	  "names with <> for template arguments" },
	{ NULL, 0, HELP_NONE, NULL, NULL, 0, NULL },
};
