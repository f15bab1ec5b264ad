/* SPDX-License-Identifier: MIT */
/*
 * options.c - one table of long options for all commands; each value is checked
 * where it is read, and a wrong one is named together with what would be right.
 */
#include "cli/options/options_view.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "inject/attach/ring_setup.h"
#include "src/base/log.h"
#include "src/base/quantity.h"
#include "src/base/why.h"
#include "src/leak/analysis/suppressions.h"
#include "src/leak/holders/contents.h"
#include "src/leak/roots/roots.h"
#include "src/plan/allocators.h"
#include "src/recognition/recognition.h"
#include "src/recording/limit.h"
#include "src/watch/evict.h"

enum {
	OPT_LEAKS = 256, OPT_JSON, OPT_TOP, OPT_EXACT, OPT_SAMPLE, OPT_INTERVAL, OPT_LOADER,
	OPT_TRACK, OPT_PLAIN, OPT_OVERFLOW, OPT_SEED, OPT_RING, OPT_SNAPSHOT, OPT_ROOTS,
	OPT_TRACE_TO, OPT_SUPPRESSIONS, OPT_SHOW_BYTES, OPT_FREES, OPT_ACCESS, OPT_HISTORY,
	OPT_FUNCTION, OPT_TO, OPT_SEARCH, OPT_SNAPSHOT_ON, OPT_MAX_RECORDING,
	OPT_HEAPS, OPT_STACKS, OPT_VERIFY_STACKS, OPT_MAX_MEMORY, OPT_COUNTS, OPT_OVERHEAD,
	OPT_NAME, OPT_UNIT, OPT_FOLLOW, OPT_MAX_PROCESSES, OPT_CONTROL,
	OPT_DAEMON, OPT_ALLOC_FN, OPT_REALLOC_FN, OPT_FREE_FN,
};
#define SAMPLED_RING (8ull << 20)
#define EXACT_RING (32ull << 20)
#define ACCESS_MAX_SECONDS 3600
#define OVERHEAD_PERCENT 1.0	/* unless --overhead says something else */

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "duration", required_argument, NULL, 'd' },
	{ "output", required_argument, NULL, 'o' },
	{ "leaks", no_argument, NULL, OPT_LEAKS },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "top", required_argument, NULL, OPT_TOP },
	{ "exact", no_argument, NULL, OPT_EXACT },
	{ "sample", required_argument, NULL, OPT_SAMPLE },
	{ "counts", optional_argument, NULL, OPT_COUNTS },
	{ "overhead", required_argument, NULL, OPT_OVERHEAD },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "loader", required_argument, NULL, OPT_LOADER },
	{ "track", required_argument, NULL, OPT_TRACK },
	{ "alloc-fn", required_argument, NULL, OPT_ALLOC_FN },
	{ "realloc-fn", required_argument, NULL, OPT_REALLOC_FN },
	{ "free-fn", required_argument, NULL, OPT_FREE_FN },
	{ "plain", no_argument, NULL, OPT_PLAIN },
	{ "on-overflow", required_argument, NULL, OPT_OVERFLOW },
	{ "frees", required_argument, NULL, OPT_FREES },
	{ "stacks", required_argument, NULL, OPT_STACKS },
	{ "verify-stacks", required_argument, NULL, OPT_VERIFY_STACKS },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "ring-size", required_argument, NULL, OPT_RING },
	{ "snapshot", required_argument, NULL, OPT_SNAPSHOT },
	{ "roots", required_argument, NULL, OPT_ROOTS },
	{ "trace-to", required_argument, NULL, OPT_TRACE_TO },
	{ "suppressions", required_argument, NULL, OPT_SUPPRESSIONS },
	{ "show-bytes", required_argument, NULL, OPT_SHOW_BYTES },
	{ "access", required_argument, NULL, OPT_ACCESS },
	{ "history", required_argument, NULL, OPT_HISTORY },
	{ "function", required_argument, NULL, OPT_FUNCTION },
	{ "to", required_argument, NULL, OPT_TO },
	{ "search", required_argument, NULL, OPT_SEARCH },
	{ "snapshot-on", required_argument, NULL, OPT_SNAPSHOT_ON },
	{ "max-recording", required_argument, NULL, OPT_MAX_RECORDING },
	{ "max-memory", required_argument, NULL, OPT_MAX_MEMORY },
	{ "heaps", no_argument, NULL, OPT_HEAPS },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "unit", required_argument, NULL, OPT_UNIT },
	{ "follow", no_argument, NULL, OPT_FOLLOW },
	{ "max-processes", required_argument, NULL, OPT_MAX_PROCESSES },
	{ "daemon", no_argument, NULL, OPT_DAEMON },
	{ "control", required_argument, NULL, OPT_CONTROL },
	OPTIONS_VIEW_ROWS,
	{ NULL, 0, NULL, 0 },
};

static int bad(const char *option, const char *value, const char *wanted)
{
	log_error("%s: '%s' is not %s; see `memattach --help`", option, value, wanted);
	return SESSION_USAGE;
}

int options_bad(const char *option, const char *value, const char *wanted)
{
	return bad(option, value, wanted);
}

static int read_seconds(const char *text, double *ret)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !isfinite(value) || value < 0 || value > 1e9)
		return -EINVAL;
	*ret = value;
	return 0;
}

/* Index of text in names, or -1. */
static int read_choice(const char *text, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(text, names[i]) == 0)
			return (int)i;
	return -1;
}

static int too_many(const char *option)
{
	log_error("%s may be given %u times at the most; leave some out", option, CLI_MAX_TARGETS);
	return SESSION_USAGE;
}

static int set_pid(struct cli_options *o, const char *value)
{
	uint64_t pid;

	if (quantity_size(value, &pid) || pid == 0 || pid > 1u << 30)
		return bad("-p", value, "a process id");
	if (o->targets.pids == CLI_MAX_TARGETS)
		return too_many("-p");
	o->targets.pid[o->targets.pids++] = (pid_t)pid;
	o->pid = o->targets.pid[0];
	return SESSION_OK;
}

/* --name, --unit: one of a list. */
static int add_target(const char *option, const char *value, const char **list, size_t *count)
{
	if (!value[0] || strchr(value, '/'))
		return bad(option, value, "a name without folders");
	if (*count == CLI_MAX_TARGETS)
		return too_many(option);
	list[(*count)++] = value;
	return SESSION_OK;
}

static int set_max_processes(struct cli_options *o, const char *value)
{
	uint64_t most;

	if (quantity_size(value, &most) || most == 0 || most > CLI_MAX_TARGETS)
		return bad("--max-processes", value, "a number from 1 to 1024");
	o->targets.max = (uint32_t)most;
	return SESSION_OK;
}

static int set_mode(struct cli_options *o, enum snapshot_mode mode)
{
	if (o->session.mode != SNAPSHOT_ADAPTIVE && o->session.mode != mode) {
		log_error("--exact, --sample and --counts exclude each other; choose one");
		return SESSION_USAGE;
	}
	o->session.mode = mode;
	return SESSION_OK;
}

static int set_sample(struct cli_options *o, const char *value)
{
	if (quantity_size(value, &o->session.sample_bytes) || o->session.sample_bytes == 0 ||
	    o->session.sample_bytes >= 1ull << 47)
		return bad("--sample", value, "a mean number of bytes of at least 1 (K, M, G)");
	return set_mode(o, SNAPSHOT_SAMPLED);
}

/* Without a value: all that is counted. */
static int set_counts(struct cli_options *o, const char *value)
{
	static const char *const names[] = { "totals", "histogram", "sites" };
	int choice = value ? read_choice(value, names, ARRAY_SIZE(names)) : 2;

	if (choice < 0)
		return bad("--counts", value, "totals, histogram or sites");
	o->session.counts = (uint32_t)choice + COUNTS_TOTALS;
	return set_mode(o, SNAPSHOT_COUNTS);
}

static int set_overhead(struct cli_options *o, const char *value)
{
	char *end;
	double percent = strtod(value, &end);

	if (end > value && *end == '%')
		end++;
	if (end == value || *end || !(percent >= 0.01 && percent <= 100))
		return bad("--overhead", value, "a percentage from 0.01 to 100");
	o->session.overhead_percent = percent;
	o->overhead_given = true;
	return SESSION_OK;
}

static int set_interval(struct cli_options *o, const char *value)
{
	o->interval_given = true;
	if (read_seconds(value, &o->session.interval) || o->session.interval < 0.01)
		return bad("--interval", value, "a number of seconds from 0.01");
	return SESSION_OK;
}

static int set_loader(struct cli_options *o, const char *value)
{
	static const char *const names[] = { "auto", "dlopen", "map" };
	int choice = read_choice(value, names, ARRAY_SIZE(names));

	if (choice < 0)
		return bad("--loader", value, "auto, dlopen or map");
	o->session.loader = (enum attachment_loader)choice;
	return SESSION_OK;
}

static int set_track(struct cli_options *o, const char *value)
{
	static const char *const names[] = { "malloc", "mmap", "all" };
	int choice = read_choice(value, names, ARRAY_SIZE(names));

	if (choice < 0)
		return bad("--track", value, "malloc, mmap or all");
	o->track_given = true;
	o->session.track = (uint32_t)choice + ALLOCATOR_TRACK_MALLOC;
	return SESSION_OK;
}

static int set_overflow(struct cli_options *o, const char *value)
{
	static const char *const names[] = { "drop", "block" };
	int choice = read_choice(value, names, ARRAY_SIZE(names));

	if (choice < 0)
		return bad("--on-overflow", value, "drop or block");
	o->session.block = choice == 1;
	o->overflow_given = true;
	return SESSION_OK;
}

static int set_frees(struct cli_options *o, const char *value)
{
	static const char *const names[] = { "callers", "stacks" };
	int choice = read_choice(value, names, ARRAY_SIZE(names));

	if (choice < 0)
		return bad("--frees", value, "callers or stacks");
	o->session.free_stacks = choice == 1;
	return SESSION_OK;
}

static int set_stacks(struct cli_options *o, const char *value)
{
	static const char *const names[] = { "recognise", "copy" };
	int choice = read_choice(value, names, ARRAY_SIZE(names));

	if (choice < 0)
		return bad("--stacks", value, "recognise or copy");
	o->session.stacks = choice == 1 ? STACKS_COPY : STACKS_RECOGNISE;
	return SESSION_OK;
}

static int set_snapshot(struct cli_options *o, const char *value)
{
	static const char *const names[] = { "copy", "stop" };
	int choice = read_choice(value, names, ARRAY_SIZE(names));

	if (choice < 0)
		return bad("--snapshot", value, "copy or stop");
	o->session.stop_for_picture = choice == 1;
	return SESSION_OK;
}

static int set_roots(struct cli_options *o, const char *value)
{
	if (roots_parse_classes(value, &o->session.roots))
		return bad("--roots", value, "a list of globals, stacks, registers and tls");
	return SESSION_OK;
}

static int set_trace(struct cli_options *o, const char *value)
{
	char *end;
	unsigned long long address;

	errno = 0;
	address = strtoull(value, &end, 16);
	if (errno || end == value || *end || !address || value[0] == '-')
		return bad("--trace-to", value, "an address as in a report (0x...)");
	o->session.trace_to = address;
	o->session.leaks = true;
	return SESSION_OK;
}

static int set_show_bytes(struct cli_options *o, const char *value)
{
	uint64_t bytes;

	if (quantity_size(value, &bytes) || bytes == 0 || bytes > CONTENTS_MAX_BYTES)
		return bad("--show-bytes", value, "a number of bytes from 1 to 4096");
	o->session.show_bytes = (uint32_t)bytes;
	return SESSION_OK;
}

static int set_access(struct cli_options *o, const char *value)
{
	double seconds;

	if (read_seconds(value, &seconds) || seconds < 1 || seconds > ACCESS_MAX_SECONDS)
		return bad("--access", value, "a number of seconds from 1 to 3600");
	o->session.access_seconds = seconds;
	return SESSION_OK;
}

static int add_suppressions(struct cli_options *o, const char *path)
{
	struct suppressions_error wrong = { .line = 0 };
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 ? -errno : 0;

	if (!error && !o->session.suppressions)
		error = suppressions_new(&o->session.suppressions);
	if (!error)
		error = suppressions_read(o->session.suppressions, fd, &wrong);
	if (error && wrong.line)
		log_error("%s:%u: %s", path, wrong.line, wrong.text);
	else if (error)
		log_error("--suppressions: %s: %s", path,
			  wrong.text[0] ? wrong.text : why_file(error).text);
	return error ? SESSION_USAGE : SESSION_OK;
}

/* One of a list. */
static int add_trigger(struct snapshot_triggers *to, const char *text)
{
	if (strcmp(text, "peak") == 0)
		to->peak = true;
	else if (strcasecmp(text, "SIGUSR1") == 0 || strcasecmp(text, "USR1") == 0)
		to->signal = true;
	else if (text[0] == '+')
		return quantity_size(text + 1, &to->growth) || !to->growth;
	else
		return quantity_size(text, &to->allocated) || !to->allocated;
	return 0;
}

static int set_snapshot_on(struct cli_options *o, const char *value)
{
	_cleanup_free_ char *list = strdup(value);
	char *rest = list, *text;

	while (rest && (text = strsep(&rest, ",")))
		if (add_trigger(&o->session.snapshot_on, text))
			return bad("--snapshot-on", value, "a list of 64M (so much was allocated), "
				   "+10M (so much more lives), peak, SIGUSR1");
	return SESSION_OK;
}

static int set_max_recording(struct cli_options *o, const char *value)
{
	uint64_t bytes;

	if (quantity_size(value, &bytes) || bytes < RECORDING_LIMIT_LEAST || bytes > 1ull << 50)
		return bad("--max-recording", value, "a number of bytes from 256K");
	o->session.max_recording = bytes;
	return SESSION_OK;
}

static int set_max_memory(struct cli_options *o, const char *value)
{
	uint64_t bytes;

	if (quantity_size(value, &bytes) || bytes < EVICT_LEAST || bytes > 1ull << 50)
		return bad("--max-memory", value, "a number of bytes from 16M");
	o->session.max_memory = o->session.names_memory = bytes;
	return SESSION_OK;
}

static int add_search(struct cli_options *o, const char *folder)
{
	if (o->searches == CLI_MAX_SEARCH) {
		log_error("--search may be given %u times at the most; leave some out",
			  CLI_MAX_SEARCH);
		return SESSION_USAGE;
	}
	o->search[o->searches++] = folder;
	return SESSION_OK;
}

static int set_top(struct cli_options *o, const char *value)
{
	uint64_t top;

	if (quantity_size(value, &top) || top == 0 || top > 1u << 30)
		return bad("--top", value, "a number of sites");
	o->session.top = (uint32_t)top;
	return SESSION_OK;
}

/* What is shown of a log of calls. */
static int set_filter(struct cli_options *o, int option, const char *value)
{
	struct trace_filter *filter = &o->session.filter;

	switch (option) {
	case OPT_SITE: filter->site = value; return SESSION_OK;
	case OPT_FUNCTION: filter->function = value; return SESSION_OK;
	case OPT_MODULE: filter->module = value; return SESSION_OK;
	case OPT_SIZE: return trace_filter_set_size(filter, value) ?
			bad("--size", value, "N, N-M or N-, in bytes (K, M, G)") : SESSION_OK;
	default: return trace_filter_set_thread(filter, value) ?
			bad("--thread", value, "a thread's id or pointer") : SESSION_OK;
	}
}

static int set_value(struct cli_options *o, int option, const char *value)
{
	struct session_options *s = &o->session;

	switch (option) {
	case 'p': return set_pid(o, value);
	case 'd': return read_seconds(value, &s->duration) ?
			bad("-d", value, "a number of seconds") : SESSION_OK;
	case 'o': s->output = value; return SESSION_OK;
	case OPT_TOP: return set_top(o, value);
	case OPT_SAMPLE: return set_sample(o, value);
	case OPT_COUNTS: return set_counts(o, value);
	case OPT_OVERHEAD: return set_overhead(o, value);
	case OPT_INTERVAL: return set_interval(o, value);
	case OPT_LOADER: return set_loader(o, value);
	case OPT_TRACK: return set_track(o, value);
	case OPT_ALLOC_FN:
		return options_add_custom(o, "--alloc-fn", RING_SHAPE_CUSTOM_ALLOC, value);
	case OPT_REALLOC_FN:
		return options_add_custom(o, "--realloc-fn", RING_SHAPE_CUSTOM_REALLOC, value);
	case OPT_FREE_FN:
		return options_add_custom(o, "--free-fn", RING_SHAPE_CUSTOM_FREE, value);
	case OPT_OVERFLOW: return set_overflow(o, value);
	case OPT_FREES: return set_frees(o, value);
	case OPT_STACKS: return set_stacks(o, value);
	case OPT_VERIFY_STACKS: return quantity_size(value, &s->verify_stacks) ?
			bad("--verify-stacks", value, "a number of stacks, or 0 for none") : 0;
	case OPT_SNAPSHOT: return set_snapshot(o, value);
	case OPT_ROOTS: return set_roots(o, value);
	case OPT_TRACE_TO: return set_trace(o, value);
	case OPT_SUPPRESSIONS: return add_suppressions(o, value);
	case OPT_SHOW_BYTES: return set_show_bytes(o, value);
	case OPT_ACCESS: return set_access(o, value);
	case OPT_SNAPSHOT_ON: return set_snapshot_on(o, value);
	case OPT_MAX_RECORDING: return set_max_recording(o, value);
	case OPT_MAX_MEMORY: return set_max_memory(o, value);
	case OPT_SEARCH: return add_search(o, value);
	case OPT_NAME: return add_target("--name", value, o->targets.name, &o->targets.names);
	case OPT_UNIT: return add_target("--unit", value, o->targets.unit, &o->targets.units);
	case OPT_MAX_PROCESSES: return set_max_processes(o, value);
	case OPT_HISTORY: s->history = value; return SESSION_OK;
	case OPT_CONTROL: o->control = value; return SESSION_OK;
	case OPT_SIZE: case OPT_SITE: case OPT_THREAD: case OPT_MODULE:
		return s->trace ? set_filter(o, option, value) :
				  options_view_set(o, option, value);
	case OPT_FUNCTION: return set_filter(o, option, value);
	case OPT_TO: o->export_to = value; return SESSION_OK;
	case OPT_SEED: return quantity_size(value, &s->seed) ? bad("--seed", value, "a number") :
			SESSION_OK;
	case OPT_RING: return quantity_size(value, &s->ring_bytes) || s->ring_bytes < 1u << 20 ||
			s->ring_bytes > RING_MAX_TOTAL_BYTES ?
			bad("--ring-size", value, "between 1M and 1G") : SESSION_OK;
	default: return options_view_set(o, option, value);
	}
}

static int set_flag(struct cli_options *o, int option)
{
	switch (option) {
	case OPT_LEAKS: o->session.leaks = true; return SESSION_OK;
	case OPT_JSON: o->session.json = true; return SESSION_OK;
	case OPT_HEAPS: o->session.heaps = true; return SESSION_OK;
	case OPT_PLAIN: o->session.plain = true; return SESSION_OK;
	case OPT_EXACT: return set_mode(o, SNAPSHOT_EXACT);
	case OPT_COUNTS: return set_counts(o, NULL);
	case OPT_DAEMON: o->by_daemon = true; return SESSION_OK;
	case OPT_FOLLOW: o->targets.follow = true; return SESSION_OK;
	default: return options_view_set(o, option, NULL);
	}
}

/* What follows from the rest. */
static void complete(struct cli_options *o)
{
	struct session_options *s = &o->session;

	if (!s->ring_bytes)
		s->ring_bytes = s->mode == SNAPSHOT_EXACT ? EXACT_RING : SAMPLED_RING;
	if (s->duration < 0 && isatty(STDOUT_FILENO) && !s->json) {
		o->may_have_screen = !s->plain && !s->counts;
		s->plain = true;
	}
	s->color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	s->view_options.filter.kind = s->track == ALLOCATOR_TRACK_MALLOC ? VIEW_KIND_MALLOC :
				      s->track == ALLOCATOR_TRACK_MMAP ? VIEW_KIND_MMAP :
				      VIEW_KIND_ALL;
}

int options_check_leaks(const struct cli_options *options, bool leaks)
{
	if (options->session.history && (!leaks || options->session.duration == 0)) {
		log_error("--history lengthens a watch for suspects: it goes with --leaks and "
			  "-d SECONDS, more than 0");
		return SESSION_USAGE;
	}
	if (options->session.access_seconds > 0 && (!leaks || options->session.trace_to)) {
		log_error("--access watches what a leak report suspects: it goes with --leaks, or "
			  "with `memattach leaks -p PID`, and without --trace-to");
		return SESSION_USAGE;
	}
	if (!options->session.show_bytes || leaks)
		return SESSION_OK;
	log_error("--show-bytes shows what leaked blocks hold: it goes with --leaks, or with "
		  "`memattach leaks -p PID`");
	return SESSION_USAGE;
}

/* What is about a recording goes with one. */
static int check_recording(const struct session_options *s)
{
	const struct snapshot_triggers *on = &s->snapshot_on;
	bool asked = s->max_recording || on->allocated || on->growth || on->peak || on->signal;

	if (s->heaps && !s->output && !(view_needs(s->view) & VIEW_NEEDS_HEAPS)) {
		log_error("--heaps walks the heaps for a recording: it goes with -o FILE; "
			  "--view=arenas does so by itself");
		return SESSION_USAGE;
	}
	if (!asked || (s->output && !s->trace))
		return SESSION_OK;
	log_error("%s goes with a recording: -o FILE",
		  s->max_recording ? "--max-recording" : "--snapshot-on");
	return SESSION_USAGE;
}

/* A budget is kept by moving the interval: it excludes what fixes that. */
static int check_overhead(struct session_options *s)
{
	if (s->overhead_percent > 0 && s->mode != SNAPSHOT_ADAPTIVE) {
		log_error("--overhead chooses how finely is sampled: it goes without --exact, "
			  "--sample and --counts");
		return SESSION_USAGE;
	}
	if (s->overhead_percent <= 0)
		s->overhead_percent = OVERHEAD_PERCENT;
	return SESSION_OK;
}

static const char *long_name(int option)
{
	for (const struct option *o = long_options; o->name; o++)
		if (o->val == option)
			return o->name;
	return NULL;
}

/* argument: where the parser stands; option: '?' or ':', and optopt which one it is about. */
static int refuse_option(const char *argument, int option)
{
	bool has_value = option == '?' && optopt > UCHAR_MAX;	/* --exact=1 */

	log_error("%s: %s; see `memattach --help`", argument, option == ':' ? "needs a value" :
		  has_value ? "takes no value" : "no such option");
	return SESSION_USAGE;
}

static int take_options(int argc, char **argv, struct cli_options *ret)
{
	/* +: up to the first operand; else getopt_long puts operands last */
	const char *letters = ret->mixed ? ":p:d:o:" : "+:p:d:o:";
	int option, status = SESSION_OK;

	optind = 0;	/* also how it is to order them */
	opterr = 0;
	while (status == SESSION_OK &&
	       (option = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
		const char *name = long_name(option == '?' || option == ':' ? optopt : option);

		status = name ? options_check_taken(argv[0], name) : SESSION_OK;
		if (status == SESSION_OK && (option == '?' || option == ':'))
			status = refuse_option(argv[optind - 1], option);
		if (status != SESSION_OK)
			break;
		status = optarg ? set_value(ret, option, optarg) : set_flag(ret, option);
	}
	ret->operands = argv + optind;
	return status;
}

/* The default for debug information, where the user gave no limit: bytes of a quarter. */
static uint64_t quarter_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);

	return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes / 4u : 0;
}

static int parse(int argc, char **argv, struct cli_options *ret)
{
	int status;

	ret->session.interval = 1;
	ret->session.duration = -1;
	ret->session.track = ALLOCATOR_TRACK_ALL;
	ret->session.roots = ROOT_ALL;
	ret->session.verify_stacks = RECOGNITION_VERIFY;
	ret->session.max_memory = EVICT_DEFAULT;
	ret->session.names_memory = quarter_of_memory();
	status = take_options(argc, argv, ret);
	if (status == SESSION_OK && ret->session.free_stacks &&
	    ret->session.mode != SNAPSHOT_EXACT) {
		log_error("--frees=stacks keeps the stack of every free: it goes with --exact");
		return SESSION_USAGE;
	}
	if (status == SESSION_OK)
		status = options_check_custom(&ret->session);
	if (status == SESSION_OK)
		status = options_check_counts(ret);
	if (status == SESSION_OK)
		status = check_overhead(&ret->session);
	if (status == SESSION_OK)
		status = check_recording(&ret->session);
	if (status == SESSION_OK && ret->session.trace)
		ret->session.mode = SNAPSHOT_EXACT;
	if (status == SESSION_OK)
		complete(ret);
	return status;
}

int options_parse(int argc, char **argv, struct cli_options *ret)
{
	memset(ret, 0, sizeof(*ret));
	return parse(argc, argv, ret);
}

int options_parse_mixed(int argc, char **argv, struct cli_options *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->mixed = true;
	return parse(argc, argv, ret);
}

int options_parse_trace(int argc, char **argv, struct cli_options *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->session.trace = true;
	return parse(argc, argv, ret);
}
