/* SPDX-License-Identifier: MIT */
/*
 * assigned_survey.c - how many allocation sites of a real program get their variable's name.
 *
 * assigned_survey [-v|-a] [-r SOURCE_ROOT] PROGRAM NAME[,NAME...]
 * Every direct call of one of the names (malloc, zmalloc, _Znwm, ...) that objdump finds in the
 * program's .text is asked about, alone: with source text only, with instructions and debug
 * information only, and with both. -v lists every site that the first two do not both name
 * with the same last word, -a every site. Calls in functions of the C++ library are left
 * out: what they allocate for is known by their callers only.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/leak/variable/assigned_name.h"
#include "tests/unit/leak_assigned_bench.h"

struct way {
	const char *name;
	struct assigned_options options;
	struct assigned_finder *finder;
	unsigned int kind[ASSIGNED_ARGUMENT + 1];
	double seconds;
};
struct survey {
	const char *program, *names, *root;
	bool verbose, all;
	struct bench bench;
	struct way way[3];	/* source, code, as users have it */
	unsigned int sites, library;
};

static int begin(struct survey *survey)
{
	int r = bench_begin(survey->program, &survey->bench);

	survey->way[0].name = "source";
	survey->way[0].options.no_code = true;
	survey->way[1].name = "instructions and debug information";
	survey->way[1].options.no_source = true;
	survey->way[2].name = "both";
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(survey->way); i++) {
		survey->way[i].options.source_root = survey->root;
		r = assigned_finder_new(survey->bench.modules, survey->bench.symbolizer,
					&survey->way[i].options, &survey->way[i].finder);
	}
	return r;
}

static void end(struct survey *survey)
{
	for (size_t i = 0; i < ARRAY_SIZE(survey->way); i++)
		assigned_finder_free(survey->way[i].finder);
	bench_end(&survey->bench);
}

static struct assigned ask(struct way *way, const struct frame *frame)
{
	struct timespec before, after;
	struct assigned assigned;

	clock_gettime(CLOCK_MONOTONIC, &before);
	if (assigned_find(way->finder, frame, 1, &assigned) < 0)
		exit(99);
	clock_gettime(CLOCK_MONOTONIC, &after);
	way->seconds += (double)(after.tv_sec - before.tv_sec) +
			(double)(after.tv_nsec - before.tv_nsec) / 1e9;
	way->kind[assigned.kind]++;
	return assigned;
}

static const char *difference(const struct assigned *source, const struct assigned *code)
{
	if (source->kind == ASSIGNED_NOTHING)
		return "NO-SOURCE";
	if (code->kind == ASSIGNED_NOTHING)
		return "NO-CODE";
	if (source->kind != ASSIGNED_VARIABLE || code->kind != ASSIGNED_VARIABLE)
		return "OTHER";
	return assigned_name_same(source->variable, code->variable) ? NULL : "DIFFERENT";
}

static void show(const struct symbol_frame *symbol, size_t count, const struct assigned *source,
		 const struct assigned *code, bool all)
{
	const char *what = difference(source, code);

	if (!what && !all)
		return;
	printf("%s %llx", what ? what : "SAME", (unsigned long long)symbol->offset);
	for (size_t i = 0; i < count; i++)
		printf(" %s:%u:%u", symbol[i].file ? symbol[i].file : "?", symbol[i].line,
		       symbol[i].column);
	printf(" source \"%s\" (%s) code \"%s\" (%s)\n", source->variable, source->type,
	       code->variable, code->type);
}

static void site(struct survey *survey, uint64_t return_address)
{
	struct frame frame = { .module = 1, .flags = FRAME_RETURN, .offset = return_address };
	struct assigned source, code;
	const struct symbol_frame *symbol;
	size_t count;

	symbol = symbolizer_frame(survey->bench.symbolizer, &frame, &count);
	if (assigned_name_is_library(&symbol[count - 1])) {
		survey->library++;
		return;
	}
	survey->sites++;
	source = ask(&survey->way[0], &frame);
	code = ask(&survey->way[1], &frame);
	(void)ask(&survey->way[2], &frame);
	if (survey->verbose)
		show(symbol, count, &source, &code, survey->all);
}

static int run(struct survey *survey)
{
	_cleanup_(bench_calls_done) struct bench_calls calls = { NULL, 0, 0 };
	int r = bench_calls_read(survey->program, &calls);

	for (size_t i = 0; i < calls.count; i++) {
		if (calls.call[i].return_address &&
		    bench_is_named(survey->names, calls.call[i].callee))
			site(survey, calls.call[i].return_address);
	}
	return r;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void report(const struct survey *survey)
{
	struct assigned_stats stats;

	printf("%s: %u sites\n", survey->program, survey->sites);
	for (size_t i = 0; i < ARRAY_SIZE(survey->way); i++) {
		const struct way *way = &survey->way[i];

		printf("  %s: %.1f %% (variable %u, returned %u, argument %u, unnamed %u), "
		       "%.2f ms a site\n", way->name,
		       percent(survey->sites - way->kind[ASSIGNED_NOTHING], survey->sites),
		       way->kind[ASSIGNED_VARIABLE], way->kind[ASSIGNED_RETURN],
		       way->kind[ASSIGNED_ARGUMENT], way->kind[ASSIGNED_NOTHING],
		       survey->sites ? way->seconds * 1e3 / survey->sites : 0);
	}
	assigned_finder_stats(survey->way[2].finder, &stats);
	printf("  both name a variable: %llu, the same: %.1f %%; source not believed: %llu\n",
	       (unsigned long long)stats.both,
	       percent((double)(stats.both - stats.disagreed), (double)stats.both),
	       (unsigned long long)stats.stale);
	printf("  left out, in functions of a library: %u\n", survey->library);
}

int main(int argc, char **argv)
{
	struct survey survey = { .program = NULL };
	int option, r;

	while ((option = getopt(argc, argv, "avr:")) != -1) {
		if (option == 'v' || option == 'a')
			survey.verbose = true;
		else if (option == 'r')
			survey.root = optarg;
		else
			return 2;
		survey.all |= option == 'a';
	}
	if (argc - optind != 2) {
		fprintf(stderr, "usage: %s [-v|-a] [-r SOURCE_ROOT] PROGRAM NAME[,NAME...]\n",
			argv[0]);
		return 2;
	}
	survey.program = argv[optind];
	survey.names = argv[optind + 1];
	r = begin(&survey);
	if (r == 0)
		r = run(&survey);
	if (r == 0)
		report(&survey);
	else
		fprintf(stderr, "%s: %s\n", survey.program, strerror(-r));
	end(&survey);
	return r < 0;
}
