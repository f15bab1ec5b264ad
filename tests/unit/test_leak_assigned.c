/* SPDX-License-Identifier: MIT */
/*
 * test_leak_assigned.c - the variable at every allocation site of two victims.
 *
 * They are built from a copy of their source by gcc and clang at three levels of
 * optimization; the comments in them say what is expected. Asked with the source there,
 * with source and instructions, and with the source deleted; then with a source that is newer than
 * the program and shifted, with a FIFO in its place, and with nothing but symbols.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "src/leak/variable/assigned_name.h"
#include "tests/unit/leak_assigned_bench.h"

#define MAX_LINES	400u
#define MAX_CHAIN	6u

static const char *const allocators =
	"malloc,calloc,realloc,strdup,_Znwm,_Znam,xmalloc,xcalloc,copy,node_new,list_add,"
	"_ZN4shop5Store4makeEi";

struct victim {
	const char *name;
	const char *compiler;
	const char *level;
};
static const struct victim victims[] = {
	{ "leak_assigned.c", "gcc", "-O0" },
	{ "leak_assigned.c", "gcc", "-O1" },
	{ "leak_assigned.c", "gcc", "-O2" },
	{ "leak_assigned.c", "clang", "-O0" },
	{ "leak_assigned.c", "clang", "-O1" },
	{ "leak_assigned.c", "clang", "-O2" },
	{ "leak_assigned_cxx.cc", "g++", "-O0" },
	{ "leak_assigned_cxx.cc", "g++", "-O1" },
	{ "leak_assigned_cxx.cc", "g++", "-O2" },
	{ "leak_assigned_cxx.cc", "clang++", "-O0" },
	{ "leak_assigned_cxx.cc", "clang++", "-O1" },
	{ "leak_assigned_cxx.cc", "clang++", "-O2" },
};

/* A victim that was built, and what its comments say. */
struct build {
	char folder[64], source[128], program[128];
	char expected[MAX_LINES][96], type[MAX_LINES][96];
	struct bench bench;
	struct bench_calls calls;
};
struct score {
	unsigned int asked, right, wrong;
};

_printf_(1, 2) static int run(const char *format, ...)
{
	_cleanup_free_ char *command = NULL;
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vasprintf(&command, format, arguments);
	va_end(arguments);
	assert_true(n >= 0);
	return system(command);
}

static const char *source_folder(void)
{
	const char *folder = getenv("SRCDIR");

	return folder ? folder : ".";
}

/* "... //= name : type" */
static void read_expected(struct build *build)
{
	_cleanup_file_ FILE *file = fopen(build->source, "re");
	char line[512];

	assert_non_null(file);
	for (unsigned int i = 1; i < MAX_LINES && fgets(line, sizeof(line), file); i++) {
		char *mark = strstr(line, "//= "), *type;

		if (!mark)
			continue;
		line[strcspn(line, "\n")] = '\0';
		type = strstr(mark, " : ");
		if (type) {
			*type = '\0';
			snprintf(build->type[i], sizeof(build->type[i]), "%.90s", type + 3);
		}
		snprintf(build->expected[i], sizeof(build->expected[i]), "%.90s", mark + 4);
	}
}

/* NULL: the compiler is not here. */
static struct build *build_new(const struct victim *victim)
{
	struct build *build;

	if (run("command -v %s >/dev/null 2>&1", victim->compiler) != 0)
		return NULL;
	build = calloc(1, sizeof(*build));
	assert_non_null(build);
	strcpy(build->folder, "/tmp/test_leak_assigned.XXXXXX");
	assert_non_null(mkdtemp(build->folder));
	snprintf(build->source, sizeof(build->source), "%s/%s", build->folder, victim->name);
	snprintf(build->program, sizeof(build->program), "%s/victim", build->folder);
	assert_int_equal(run("cp '%s/tests/victims/%s' %s", source_folder(), victim->name,
			     build->source), 0);
	assert_int_equal(run("%s -g %s -o %s %s", victim->compiler, victim->level, build->program,
			     build->source), 0);
	read_expected(build);
	assert_int_equal(bench_begin(build->program, &build->bench), 0);
	assert_int_equal(bench_calls_read(build->program, &build->calls), 0);
	return build;
}

static void build_free(struct build *build)
{
	bench_end(&build->bench);
	bench_calls_done(&build->calls);
	assert_int_equal(run("rm -r %s", build->folder), 0);
	free(build);
}

/* ---- what is expected ---- */

/* The line of the innermost function at the call that keeps the result; 0: its caller does. */
static uint32_t deciding_line(struct build *build, const struct bench_call *call)
{
	struct frame frame = { .module = 1, .flags = FRAME_RETURN, .offset = call->return_address };
	const struct symbol_frame *symbol;
	size_t count;

	symbol = symbolizer_frame(build->bench.symbolizer, &frame, &count);
	for (size_t i = 0; i < count; i++) {
		uint32_t line = symbol[i].line;

		if (symbol[i].file && strcmp(symbol[i].file, build->source) == 0 &&
		    line < MAX_LINES && build->expected[line][0] &&
		    strcmp(build->expected[line], "^") != 0)
			return line;
	}
	return 0;
}

/* The stack of call as it is when the function it calls allocates; how many frames. */
static uint32_t make_stack(struct build *build, const struct bench_call *call,
			   struct frame frame[MAX_CHAIN])
{
	const struct bench_call *at[MAX_CHAIN] = { call };
	uint32_t count = 1;

	for (size_t i = 0; i < build->calls.count && count < MAX_CHAIN; i++) {
		const struct bench_call *inner = &build->calls.call[i];

		if (strcmp(inner->function, at[count - 1]->callee) != 0 ||
		    !bench_is_named(allocators, inner->callee) || deciding_line(build, inner))
			continue;
		at[count++] = inner;
		i = (size_t)-1;
	}
	for (uint32_t i = 0; i < count; i++)
		frame[i] = (struct frame){ .module = 1, .flags = FRAME_RETURN,
					   .offset = at[count - 1 - i]->return_address };
	return count;
}

/* ---- asking ---- */

static struct assigned_finder *new_finder(struct build *build, bool source, bool code)
{
	struct assigned_options options = { .no_source = !source, .no_code = !code };
	struct assigned_finder *finder;

	assert_int_equal(assigned_finder_new(build->bench.modules, build->bench.symbolizer,
					     &options, &finder), 0);
	return finder;
}

static bool is_right(const struct build *build, uint32_t line, const struct assigned *assigned,
		     bool exact)
{
	const char *expected = build->expected[line], *type = build->type[line];

	if (exact && type[0] && strcmp(type, assigned->type) != 0)
		return false;
	if (strncmp(expected, "argument of ", 12) == 0 || exact)
		return strcmp(expected, assigned->variable) == 0;
	return assigned->kind == ASSIGNED_VARIABLE &&
	       assigned_name_same(expected, assigned->variable);
}

/* Asks about every call with a comment. */
static void ask_all(struct build *build, struct assigned_finder *finder, bool exact, bool show,
		    struct score *score)
{
	for (size_t i = 0; i < build->calls.count; i++) {
		const struct bench_call *call = &build->calls.call[i];
		struct frame frame[MAX_CHAIN];
		struct assigned assigned;
		uint32_t line, count;
		bool right;

		if (!bench_is_named(allocators, call->callee) || !call->return_address)
			continue;
		line = deciding_line(build, call);
		if (!line || strcmp(build->expected[line], "?") == 0)
			continue;
		count = make_stack(build, call, frame);
		assert_int_equal(assigned_find(finder, frame, count, &assigned), 0);
		right = is_right(build, line, &assigned, exact);
		score->asked++;
		score->right += right;
		score->wrong += !right && assigned.kind != ASSIGNED_NOTHING;
		if (!right && show)
			print_message("%u %s %llx: \"%s\" (%s), not \"%s\" (%s)\n", line,
				      call->callee, (unsigned long long)call->return_address,
				      assigned.variable, assigned.type, build->expected[line],
				      build->type[line]);
	}
}

static void print_score(const char *what, const struct score *score)
{
	print_message("%s: %u of %u right (%.1f %%), %u wrong\n", what, score->right, score->asked,
		      score->asked ? 100.0 * score->right / score->asked : 0, score->wrong);
}

/* One finder's questions. */
static void ask_way(struct build *build, bool source, bool code, struct score *score)
{
	struct assigned_finder *finder = new_finder(build, source, code);
	bool exact = source && access(build->source, F_OK) == 0;

	ask_all(build, finder, exact, getenv("VERBOSE") != NULL, score);
	assigned_finder_free(finder);
}

static void every_build(void **state)
{
	struct score source = { 0 }, both = { 0 }, code = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(victims); i++) {
		struct build *build = build_new(&victims[i]);

		if (!build)
			continue;
		print_message("%s %s %s\n", victims[i].compiler, victims[i].level, victims[i].name);
		ask_way(build, true, false, &source);
		ask_way(build, true, true, &both);
		unlink(build->source);
		ask_way(build, true, true, &code);
		build_free(build);
	}
	print_score("source", &source);
	print_score("source and instructions", &both);
	print_score("source deleted", &code);
	assert_true(source.asked >= 120);
	assert_true(source.right * 100 >= source.asked * 99);
	assert_true(both.right * 100 >= both.asked * 99);
	assert_true(code.right * 100 >= code.asked * 90);
}

/* ---- odd sources ---- */

/* Lines are shifted and the file is newer: it must give no wrong answer. */
static void stale_source(void **state)
{
	struct timespec later = { .tv_sec = time(NULL) + 100 }, times[2] = { later, later };
	struct build *build = build_new(&victims[1]);
	struct score score = { 0 };
	struct assigned_stats stats;
	struct assigned_finder *finder;

	(void)state;
	if (!build)
		skip();
	assert_int_equal(run("cd %s && { echo 'int a;'; echo 'int b;'; cat %s; } >new && mv new %s",
			     build->folder, victims[1].name, victims[1].name), 0);
	assert_int_equal(utimensat(AT_FDCWD, build->source, times, 0), 0);
	finder = new_finder(build, true, false);
	ask_all(build, finder, true, false, &score);
	assigned_finder_stats(finder, &stats);
	assert_true(score.asked > 10);
	assert_int_equal(score.wrong, 0);
	assert_true(stats.stale > 0);
	assigned_finder_free(finder);
	build_free(build);
}

/* Not a file: neither waits nor names. */
static void fifo_as_source(void **state)
{
	struct build *build = build_new(&victims[0]);
	struct score score = { 0 };

	(void)state;
	if (!build)
		skip();
	unlink(build->source);
	assert_int_equal(mkfifo(build->source, 0600), 0);
	ask_way(build, true, false, &score);
	assert_int_equal(score.right + score.wrong, 0);
	build_free(build);
}

/* The source lies elsewhere, under the same name in another folder. */
static void moved_source(void **state)
{
	struct build *build = build_new(&victims[2]);
	struct assigned_options options = { .no_code = true };
	struct assigned_finder *finder;
	struct score score = { 0 };
	char root[128];

	(void)state;
	if (!build)
		skip();
	snprintf(root, sizeof(root), "%s/root", build->folder);
	options.source_root = root;
	assert_int_equal(run("mkdir %s && mv %s %s", root, build->source, root), 0);
	assert_int_equal(assigned_finder_new(build->bench.modules, build->bench.symbolizer,
					     &options, &finder), 0);
	ask_all(build, finder, true, true, &score);
	assert_int_equal(score.right, score.asked);
	assigned_finder_free(finder);
	build_free(build);
}

/* ---- without debug information ---- */

static void symbols_only(void **state)
{
	struct build *build = build_new(&victims[2]);
	struct assigned_finder *finder;
	struct bench stripped;
	unsigned int named = 0;
	char path[160];

	(void)state;
	if (!build)
		skip();
	snprintf(path, sizeof(path), "%s/stripped", build->folder);
	assert_int_equal(run("strip --strip-debug -o %s %s", path, build->program), 0);
	assert_int_equal(bench_begin(path, &stripped), 0);
	assert_int_equal(assigned_finder_new(stripped.modules, stripped.symbolizer, NULL, &finder),
			 0);
	for (size_t i = 0; i < build->calls.count; i++) {
		const struct bench_call *call = &build->calls.call[i];
		struct frame frame = { .module = 1, .flags = FRAME_RETURN,
				       .offset = call->return_address };
		uint32_t line = deciding_line(build, call);
		struct assigned assigned;

		if (!bench_is_named(allocators, call->callee) || !line)
			continue;
		assert_int_equal(assigned_find(finder, &frame, 1, &assigned), 0);
		if (assigned.how != ASSIGNED_BY_SYMBOL)
			continue;
		named++;
		assert_memory_equal(assigned.variable, build->expected[line],
				    strcspn(assigned.variable, "+"));
	}
	assert_true(named >= 5);
	assigned_finder_free(finder);
	bench_end(&stripped);
	build_free(build);
}

/* ---- sizes, and what is no place ---- */

static void sizes(void **state)
{
	struct assigned node = { .element_bytes = 48 }, text = { .element_bytes = 1 }, none = { 0 };

	(void)state;
	assert_true(assigned_fits(&node, 48));
	assert_true(assigned_fits(&node, 480));
	assert_false(assigned_fits(&node, 49));
	assert_false(assigned_fits(&node, 0));
	assert_true(assigned_fits(&text, 7));
	assert_true(assigned_fits(&none, 7));
}

static void nowhere(void **state)
{
	static const struct frame frames[] = {
		{ .module = 0, .flags = FRAME_RETURN, .offset = 0x1234 },
		{ .module = 77, .flags = FRAME_RETURN, .offset = 0x1234 },
		{ .module = 1, .flags = FRAME_RETURN, .offset = 0 },
		{ .module = 1, .flags = FRAME_RETURN, .offset = UINT64_MAX },
		{ .module = 1, .flags = 0, .offset = 0x1000 },
		{ .module = 1, .flags = FRAME_SIGNAL, .offset = 0x2000 },
	};
	struct build *build = build_new(&victims[0]);
	struct assigned_finder *finder;
	struct assigned assigned;

	(void)state;
	if (!build)
		skip();
	finder = new_finder(build, true, true);
	assert_int_equal(assigned_find(finder, frames, ARRAY_SIZE(frames), &assigned), 0);
	assert_int_equal(assigned.kind, ASSIGNED_NOTHING);
	assert_int_equal(assigned_find(finder, NULL, 0, &assigned), 0);
	assert_int_equal(assigned.how, ASSIGNED_UNKNOWN);
	assigned_finder_free(finder);
	build_free(build);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_build),
		cmocka_unit_test(stale_source),
		cmocka_unit_test(fifo_as_source),
		cmocka_unit_test(moved_source),
		cmocka_unit_test(symbols_only),
		cmocka_unit_test(sizes),
		cmocka_unit_test(nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
