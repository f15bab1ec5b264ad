/* SPDX-License-Identifier: MIT */
/*
 * unwind_speed.c - how many stack copies a second are unwound, by one core.
 *
 * unwind_speed [SECONDS [KIND]]: takes copies of the stack of a child, which calls itself through
 * qsort() on 64 ways, FRAMES deep, with other words in its frames each time; and makes up stacks of
 * as many frames through functions of large libraries, none of them twice (stack_maker.h). Unwinds
 * them for SECONDS (1) of CPU time each and prints a table: as the analyst does, and by libunwind
 * with nothing kept (unwinder_walk). Each answer is compared with the latter's: 1 if one differs.
 * Only the unwinding is timed. KIND (hot, first, cold, known): that alone, to be profiled.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/unit/stack_maker.h"

#define FRAMES		26u
#define PATHS		64u
#define CONTENTS	8u		/* copies of each path */
#define MAX_STACK	(64u << 10)
#define KNOWN		4000u		/* call sites that new paths lead through */
#define COLD		10000u		/* stacks at the most */
#define PLACE		0x7e0000000000ull	/* of made-up mappings, one every SPACE bytes */
#define SPACE		(1ull << 32)
#define MAX_FILES	16u

/* The larger the better; what is not installed is left out. */
static const char *const libraries[MAX_FILES] = {
	"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
	"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/usr/lib/x86_64-linux-gnu/libclang-cpp.so.14",
	"/usr/bin/python3", "/usr/bin/gdb", "/usr/bin/perl",
};

struct copy {
	struct unwind_input input;
	uint8_t bytes[MAX_STACK];
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- the child ---- */

struct descent {
	uint32_t path;		/* which of two functions, a bit a level */
	uint32_t levels, rest;	/* through qsort() yet to go, and then plain calls */
};

static struct descent now;

static int compare_left(const void *a, const void *b);
static int compare_right(const void *a, const void *b);

__attribute__((noinline)) static int plain(uint32_t rest)
{
	volatile uint64_t noise[4] = { (uint64_t)rand(), rest, (uint64_t)rand(), 1 };

	if (rest == 0)
		raise(SIGSTOP);
	else
		noise[1] = (uint64_t)plain(rest - 1);
	return (int)noise[1];
}

static void descend(void)
{
	int pair[2] = { rand(), rand() };

	if (now.levels == 0) {
		(void)plain(now.rest);
		return;
	}
	now.levels--;
	qsort(pair, 2, sizeof(pair[0]), now.path & 1u << now.levels ? compare_left : compare_right);
}

__attribute__((noinline)) static int compare_left(const void *a, const void *b)
{
	volatile int noise = rand();

	descend();
	return *(const int *)a - *(const int *)b + noise - noise;
}

__attribute__((noinline)) static int compare_right(const void *a, const void *b)
{
	volatile int noise[9] = { rand(), rand() };

	descend();
	return *(const int *)b - *(const int *)a + noise[0] - noise[0];
}

/* Stops at the bottom of each path again and again. */
static void run_child(uint32_t levels, uint32_t rest)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (uint32_t i = 0;; i++) {
		now = (struct descent){ .path = i % PATHS, .levels = levels, .rest = rest };
		descend();
	}
}

struct child {
	pid_t pid;
	int memory;
	uint64_t stack_end;
};

static void child_end(struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	close(child->memory);
}

/* Lets it run on to its next stop. */
static void child_next(const struct child *child)
{
	int status;

	if (ptrace(PTRACE_CONT, child->pid, NULL, NULL) < 0 ||
	    waitpid(child->pid, &status, 0) != child->pid || !WIFSTOPPED(status))
		die("the child");
}

static void child_start(struct child *child, uint32_t levels, uint32_t rest, uint64_t stack_end)
{
	char path[64];
	int status;

	child->pid = fork();
	if (child->pid == 0)
		run_child(levels, rest);
	if (child->pid < 0 || waitpid(child->pid, &status, 0) != child->pid || !WIFSTOPPED(status))
		die("fork");
	snprintf(path, sizeof(path), "/proc/%d/mem", child->pid);
	child->memory = open(path, O_RDONLY | O_CLOEXEC);
	child->stack_end = stack_end;
}

static void child_copy(const struct child *child, struct copy *copy)
{
	struct user_regs_struct regs;
	uint64_t bytes;

	if (ptrace(PTRACE_GETREGS, child->pid, NULL, &regs) < 0)
		die("ptrace");
	bytes = child->stack_end - regs.rsp < MAX_STACK ? child->stack_end - regs.rsp : MAX_STACK;
	if (pread(child->memory, copy->bytes, bytes, (off_t)regs.rsp) != (ssize_t)bytes)
		die("the child's stack");
	copy->input = (struct unwind_input){
		.registers = { .rip = regs.rip, .rsp = regs.rsp, .rbp = regs.rbp, .rbx = regs.rbx,
			       .r12 = regs.r12, .r13 = regs.r13, .r14 = regs.r14, .r15 = regs.r15 },
		.stack = copy->bytes, .stack_address = regs.rsp, .stack_bytes = bytes,
	};
}

/* ---- modules ---- */

static int open_file(void *context, const struct procmap *map)
{
	(void)context;
	return open(map->path, O_RDONLY | O_CLOEXEC);
}

/* Of this process, and of its children. */
static struct modules *own_modules(uint64_t *ret_stack_end)
{
	struct module_source source = { .open_file = open_file };
	struct procmaps maps = { 0 };
	struct modules *modules;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || procmaps_read(fd, &maps) < 0 || modules_new(&source, &modules) < 0 ||
	    modules_update(modules, &maps) < 0)
		die("modules");
	*ret_stack_end = procmaps_find(&maps, (uint64_t)(uintptr_t)&maps)->end;
	procmaps_done(&maps);
	close(fd);
	return modules;
}

/* The libraries, as if they were mapped somewhere. */
static struct modules *library_modules(void)
{
	struct module_source source = { .open_file = open_file };
	struct procmap map[MAX_FILES];
	struct procmaps maps = { .map = map };
	struct modules *modules;

	for (size_t i = 0; i < MAX_FILES && libraries[i]; i++) {
		struct stat of;

		if (stat(libraries[i], &of) < 0)
			continue;
		map[maps.count] = (struct procmap){
			.start = PLACE + SPACE * maps.count, .inode = of.st_ino,
			.end = PLACE + SPACE * maps.count + (1u << 30),
			.prot = PROCMAP_R | PROCMAP_X, .path = (char *)(uintptr_t)libraries[i],
		};
		maps.count++;
	}
	if (modules_new(&source, &modules) < 0 || modules_update(modules, &maps) < 0)
		die("libraries");
	return modules;
}

/* ---- what is measured ---- */

struct lab {
	struct modules *modules;
	struct unwinder *unwinder;
	struct stacks *stacks;
};
struct result {
	uint64_t stacks, frames;
	double kept, plain;	/* CPU seconds: as the analyst does it, and with nothing kept */
};

static void lab_begin(struct lab *lab, struct modules *modules)
{
	lab->modules = modules;
	if (unwinder_new(modules, &lab->unwinder) < 0 || stacks_new(&lab->stacks) < 0)
		die("unwinder_new");
}

static void lab_end(struct lab *lab)
{
	unwinder_free(lab->unwinder);
	stacks_free(lab->stacks);
}

/* One stack both ways. Truncated ones are as good: the caller looks at the frames. */
static void unwind(struct lab *lab, const struct unwind_input *input, struct result *result)
{
	static struct frame frame[STACKS_MAX_FRAMES];
	double begin = cpu_seconds(), middle, end;
	enum unwind_end how;
	struct stack stack;
	uint32_t id, count;

	if (unwinder_stack(lab->unwinder, lab->stacks, input, &id) < 0)
		die("unwinder_stack");
	middle = cpu_seconds();
	if (unwinder_walk(lab->unwinder, input, frame, &count, &how) < 0)
		die("unwinder_walk");
	end = cpu_seconds();
	stack = stacks_get(lab->stacks, id);
	if (stack.frame_count != count || memcmp(stack.frame, frame, count * sizeof(*frame)) != 0 ||
	    (stack.flags != 0) != (how != UNWIND_COMPLETE)) {
		fprintf(stderr, "unwind_speed: another stack than libunwind's\n");
		exit(1);
	}
	result->kept += middle - begin;
	result->plain += end - middle;
	result->stacks++;
	result->frames += count;
}

static void print(const char *what, const struct result *result)
{
	double stacks = (double)result->stacks;

	printf("%-44s %8" PRIu64 " %6.1f %9.2f %10.0f %12.1f\n", what, result->stacks,
	       (double)result->frames / stacks, 1e6 * result->kept / stacks,
	       stacks / result->kept, 1e6 * result->plain / stacks);
}

/* Copies of a child at FRAMES frames, CONTENTS of each path. */
static struct copy *take_copies(struct lab *lab, uint64_t stack_end)
{
	struct copy *copy = calloc(PATHS * CONTENTS, sizeof(*copy));
	static struct frame frame[STACKS_MAX_FRAMES];
	enum unwind_end end;
	uint32_t count = 0;

	if (!copy)
		die("memory");
	for (uint32_t rest = 0; rest < FRAMES && count != FRAMES; rest++) {
		struct child child;

		child_start(&child, 4, rest, stack_end);
		child_copy(&child, copy);
		if (unwinder_walk(lab->unwinder, &copy->input, frame, &count, &end) < 0)
			die("unwinder_walk");
		for (uint32_t i = 0; i < PATHS * CONTENTS && count == FRAMES; i++) {
			child_copy(&child, &copy[i]);
			child_next(&child);
		}
		child_end(&child);
	}
	if (count != FRAMES)
		die("no stack of the right depth");
	return copy;
}

/* The time that the loop itself takes must not show: so many at once. */
static double time_kept(struct lab *lab, const struct copy *copy, uint64_t *ret_stacks,
			double seconds)
{
	double begin = cpu_seconds(), end;
	uint32_t id;

	*ret_stacks = 0;
	do {
		for (uint32_t i = 0; i < PATHS * CONTENTS; i++) {
			if (unwinder_stack(lab->unwinder, lab->stacks, &copy[i].input, &id) < 0)
				die("unwinder_stack");
		}
		*ret_stacks += PATHS * CONTENTS;
		end = cpu_seconds();
	} while (end - begin < seconds);
	return end - begin;
}

static void measure_hot(struct lab *lab, const struct copy *copy, double seconds)
{
	struct result result = { 0 };
	uint64_t stacks;
	double kept;

	for (uint32_t i = 0; i < 4 * PATHS * CONTENTS; i++)
		unwind(lab, &copy[i % (PATHS * CONTENTS)].input, &result);
	kept = time_kept(lab, copy, &stacks, seconds);
	result.plain *= (double)stacks / (double)result.stacks;
	result.frames = result.frames / result.stacks * stacks;
	result.kept = kept;
	result.stacks = stacks;
	print("hot: real copies of 64 paths", &result);
}

/* Every copy with an unwinder that knows nothing; what opens it is not counted. */
static void measure_first(struct modules *modules, const struct copy *copy, double seconds)
{
	struct result result = { 0 };

	for (uint32_t i = 0; result.kept < seconds; i++) {
		struct lab lab;

		lab_begin(&lab, modules);
		unwind(&lab, &copy[i % (PATHS * CONTENTS)].input, &result);
		lab_end(&lab);
	}
	print("the same, nothing known each time", &result);
}

static void measure_known(struct lab *lab, struct stack_maker *maker, double seconds)
{
	struct result result = { 0 }, warm = { 0 };
	struct unwind_input input;

	while (result.kept < seconds) {
		stack_maker_known(maker, KNOWN, FRAMES, &input);
		unwind(lab, &input, warm.stacks < KNOWN ? &warm : &result);
	}
	print("new paths through 4,000 known calls", &result);
}

static void measure_cold(struct lab *lab, struct stack_maker *maker)
{
	struct result result = { 0 };
	struct unwind_input input;

	while (result.stacks < COLD && stack_maker_fresh(maker, FRAMES, &input))
		unwind(lab, &input, &result);
	print("cold: every frame in a function never seen", &result);
}

/* What the command line asks for. */
struct wish {
	double seconds;
	const char *kind;	/* NULL: all */
};

static bool is_wanted(const struct wish *wish, const char *kind)
{
	return !wish->kind || strcmp(wish->kind, kind) == 0;
}

static void measure_copies(const struct wish *wish)
{
	uint64_t stack_end;
	struct lab lab;
	struct copy *copy;

	lab_begin(&lab, own_modules(&stack_end));
	copy = take_copies(&lab, stack_end);
	if (is_wanted(wish, "hot"))
		measure_hot(&lab, copy, wish->seconds);
	if (is_wanted(wish, "first"))
		measure_first(lab.modules, copy, wish->seconds);
	lab_end(&lab);
	modules_free(lab.modules);
	free(copy);
}

static void measure_libraries(const struct wish *wish)
{
	static struct stack_maker maker;
	struct follower follower;
	struct lab lab;

	lab_begin(&lab, library_modules());
	if (!follower_init(&follower, lab.modules) || !stack_maker_init(&maker, &follower, 1))
		die("libraries");
	if (is_wanted(wish, "cold"))
		measure_cold(&lab, &maker);
	if (is_wanted(wish, "known"))
		measure_known(&lab, &maker, wish->seconds);
	stack_maker_done(&maker);
	follower_done(&follower);
	lab_end(&lab);
	modules_free(lab.modules);
}

int main(int argc, char **argv)
{
	struct wish wish = {
		.seconds = argc > 1 ? atof(argv[1]) : 1, .kind = argc > 2 ? argv[2] : NULL,
	};

	printf("%-44s %8s %6s %9s %10s %12s\n", "stacks", "number", "frames", "us each",
	       "a second", "us, nothing");
	printf("%-44s %8s %6s %9s %10s %12s\n", "", "", "", "", "", "kept at all");
	measure_copies(&wish);
	measure_libraries(&wish);
	return 0;
}
