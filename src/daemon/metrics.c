/* SPDX-License-Identifier: MIT */
/* metrics.c - see metrics.h. */
#include "src/daemon/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/replace_file.h"
#include "src/daemon/metrics_private.h"
#include "src/report/printable.h"

void metrics_put_head(FILE *out, const char *name, enum metrics_type type, const char *help)
{
	fprintf(out, "# HELP memattach_%s %s\n# TYPE memattach_%s %s\n", name, help, name,
		type == COUNTER ? "counter" : "gauge");
}

/* A label's value ends where we say: \ " and line ends are escaped, what is no text is replaced. */
static int put_value(FILE *out, const char *text)
{
	_cleanup_free_ char *copy = printable_copy(text, PRINTABLE_TEXT);

	if (!copy)
		return -ENOMEM;
	for (const char *c = copy; *c; c++) {
		if (*c == '\\' || *c == '"')
			putc('\\', out);
		putc(*c, out);
	}
	return 0;
}

int metrics_put_label(FILE *out, const char *name, const char *value)
{
	int error;

	fprintf(out, "%s=\"", name);
	error = put_value(out, value);
	putc('"', out);
	return error;
}

int metrics_put_target(FILE *out, const char *name, const struct metrics_target *target)
{
	int error;

	fprintf(out, "memattach_%s{pid=\"%d\",", name, target->pid);
	error = metrics_put_label(out, "name", target->name);
	putc(',', out);
	return metrics_put_label(out, "rule", target->rule) ?: error;
}

/* --- figures of a target -------------------------------------------------- */

/* What is read of struct screen_state, or else by a function. */
struct figure {
	const char *name, *help;
	enum metrics_type type;
	size_t offset;			/* of an uint64_t */
	double (*value)(const struct metrics_target *target, double now);	/* negative: none */
};

static double age(const struct metrics_target *target, double now)
{
	return now > target->figures->time ? now - target->figures->time : 0;
}

static double watched(const struct metrics_target *target, double now)
{
	(void)now;
	return target->seconds;
}

static double gap(const struct metrics_target *target, double now)
{
	(void)now;
	return target->figures->state.gap_seconds;
}

static double overhead(const struct metrics_target *target, double now)
{
	(void)now;
	return target->figures->state.overhead_percent / 100;
}

static double analyst(const struct metrics_target *target, double now)
{
	(void)now;
	return target->figures->state.analyst_cpu;
}

static double partial(const struct metrics_target *target, double now)
{
	(void)now;
	return target->figures->state.partial;
}

static double growing(const struct metrics_target *target, double now)
{
	(void)now;
	return target->figures->growing;
}

static double growth(const struct metrics_target *target, double now)
{
	(void)now;
	return target->figures->growth;
}

#define AT(member) offsetof(struct screen_state, member)
static const struct figure figure[] = {
	{ "target_watched_seconds", "Since the process was begun to be watched.", GAUGE, 0,
	  watched },
	{ "target_snapshot_age_seconds", "Since the snapshot that the other figures are of.",
	  GAUGE, 0, age },
	{ "target_live_bytes", "Bytes of blocks that are allocated and not freed, estimated.",
	  GAUGE, AT(live_bytes), NULL },
	{ "target_live_low_bytes", "Lower end of the 95 % interval of the live bytes.", GAUGE,
	  AT(live_low), NULL },
	{ "target_live_high_bytes", "Upper end of the 95 % interval of the live bytes.", GAUGE,
	  AT(live_high), NULL },
	{ "target_live_blocks", "Blocks that are allocated and not freed, estimated.", GAUGE,
	  AT(live_count), NULL },
	{ "target_peak_live_bytes", "Most live bytes since the process was begun to be watched.",
	  GAUGE, AT(peak_bytes), NULL },
	{ "target_resident_memory_bytes", "Resident memory of the process (RSS).", GAUGE,
	  AT(rss_bytes), NULL },
	{ "target_allocations_total", "Allocations, estimated.", COUNTER, AT(alloc_count), NULL },
	{ "target_allocated_bytes_total", "Bytes of allocations, estimated.", COUNTER,
	  AT(alloc_bytes), NULL },
	{ "target_frees_total", "Blocks that were freed, estimated.", COUNTER, AT(free_count),
	  NULL },
	{ "target_allocations_low", "Lower end of the 95 % interval of the allocations.", GAUGE,
	  AT(alloc_count_low), NULL },
	{ "target_allocations_high", "Upper end of the 95 % interval of the allocations.", GAUGE,
	  AT(alloc_count_high), NULL },
	{ "target_allocated_low_bytes", "Lower end of the 95 % interval of the allocated bytes.",
	  GAUGE, AT(alloc_bytes_low), NULL },
	{ "target_allocated_high_bytes", "Upper end of the 95 % interval of the allocated bytes.",
	  GAUGE, AT(alloc_bytes_high), NULL },
	{ "target_frees_low", "Lower end of the 95 % interval of the frees.", GAUGE,
	  AT(free_count_low), NULL },
	{ "target_frees_high", "Upper end of the 95 % interval of the frees.", GAUGE,
	  AT(free_count_high), NULL },
	{ "target_sites", "Call paths that allocated.", GAUGE, AT(sites_total), NULL },
	{ "target_growing_sites", "Call paths whose live bytes grow, and not by chance.", GAUGE, 0,
	  growing },
	{ "target_growth_bytes_per_second", "Growth of the call paths that grow, together.", GAUGE,
	  0, growth },
	{ "target_partial", "1: functions of its allocators are not hooked, and not seen.", GAUGE,
	  0, partial },
	{ "target_sample_interval_bytes", "Mean bytes from one sample to the next; 0: every event.",
	  GAUGE, AT(sample_interval), NULL },
	{ "target_overhead_ratio", "Processor time that watching costs, to the process's own.",
	  GAUGE, 0, overhead },
	{ "target_analyst_cpu_ratio", "Share of a processor that the analysis takes.", GAUGE, 0,
	  analyst },
	{ "target_gap_seconds_total", "Time of which nothing was recorded.", COUNTER, 0, gap },
};
#undef AT

static bool has_figure(const struct figure *f, const struct metrics_target *target, double now)
{
	if (f->value == watched)
		return true;
	return target->figures->known && (!f->value || f->value(target, now) >= 0);
}

static void put_figure(FILE *out, const struct figure *f, const struct metrics_target *target,
		       double now)
{
	uint64_t number;

	if (f->value) {
		fprintf(out, "} %.9g\n", f->value(target, now));
		return;
	}
	memcpy(&number, (const char *)&target->figures->state + f->offset, sizeof(number));
	fprintf(out, "} %llu\n", (unsigned long long)number);
}

static int put_figures(FILE *out, const struct metrics *metrics)
{
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(figure); i++) {
		metrics_put_head(out, figure[i].name, figure[i].type, figure[i].help);
		for (size_t k = 0; !error && k < metrics->targets; k++) {
			const struct metrics_target *target = &metrics->target[k];

			if (!has_figure(&figure[i], target, metrics->now))
				continue;
			error = metrics_put_target(out, figure[i].name, target);
			put_figure(out, &figure[i], target, metrics->now);
		}
	}
	return error;
}

static int put_lost(FILE *out, const struct metrics *metrics)
{
	static const struct { const char *kind; size_t offset; } lost[] = {
		{ "alloc", offsetof(struct screen_state, lost_alloc) },
		{ "free", offsetof(struct screen_state, lost_free) },
		{ "map", offsetof(struct screen_state, lost_map) },
		{ "stack", offsetof(struct screen_state, lost_stack) },
	};
	const char *name = "target_lost_events_total";
	uint64_t number;
	int error = 0;

	metrics_put_head(out, name, COUNTER, "Events that found no room, by kind.");
	for (size_t i = 0; i < metrics->targets; i++) {
		const struct figures *figures = metrics->target[i].figures;

		for (size_t k = 0; figures->known && k < ARRAY_SIZE(lost); k++) {
			memcpy(&number, (const char *)&figures->state + lost[k].offset,
			       sizeof(number));
			error = metrics_put_target(out, name, &metrics->target[i]) ?: error;
			fprintf(out, ",kind=\"%s\"} %llu\n", lost[k].kind,
				(unsigned long long)number);
		}
	}
	return error;
}

/* --- memattachd's own ----------------------------------------------------- */

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* Those of what it has started and what has ended: sessions are counted at their end. */
static void put_own_cost(FILE *out)
{
	const char *name = "processor_seconds_total";
	struct rusage own, ended;

	metrics_put_head(out, name, COUNTER, "Processor time of memattachd, and of its children "
			 "that have ended.");
	(void)getrusage(RUSAGE_SELF, &own);
	(void)getrusage(RUSAGE_CHILDREN, &ended);
	fprintf(out, "memattach_%s{of=\"memattachd\"} %.6f\n", name,
		seconds_of(own.ru_utime) + seconds_of(own.ru_stime));
	fprintf(out, "memattach_%s{of=\"ended_children\"} %.6f\n", name,
		seconds_of(ended.ru_utime) + seconds_of(ended.ru_stime));
}

static int put_own(FILE *out, const struct metrics *metrics)
{
	static const char *const state[METRICS_STATES] = {
		[METRICS_WATCHED] = "watched", [METRICS_LEAVING] = "leaving",
		[METRICS_WAITING] = "waiting", [METRICS_REFUSED] = "refused",
		[METRICS_CLEANING] = "cleaning",
	};
	int error;

	metrics_put_head(out, "build_info", GAUGE, "1, labelled by the version of memattachd.");
	fputs("memattach_build_info{", out);
	error = metrics_put_label(out, "version", metrics->version);
	fputs("} 1\n", out);
	metrics_put_head(out, "targets", GAUGE, "Processes that the rules mean, or "
			 "that are to be cleaned, by state.");
	for (int i = 0; i < METRICS_STATES; i++)
		fprintf(out, "memattach_targets{state=\"%s\"} %zu\n", state[i], metrics->count[i]);
	put_own_cost(out);
	return error;
}

int metrics_write(FILE *out, const struct metrics *metrics)
{
	int error = put_own(out, metrics);

	if (!error)
		error = put_figures(out, metrics);
	if (!error)
		error = put_lost(out, metrics);
	if (!error)
		error = metrics_put_leaks(out, metrics);
	if (!error)
		error = metrics_put_sites(out, metrics);
	if (!error && (fflush(out) != 0 || ferror(out)))
		error = errno ? -errno : -EIO;
	return error;
}

/* --- the file ------------------------------------------------------------- */

static int write_all(FILE *out, const void *context)
{
	return metrics_write(out, context);
}

int metrics_write_file(const char *path, const struct metrics *metrics)
{
	return replace_file(path, 0644, write_all, metrics);	/* node_exporter is another user */
}
