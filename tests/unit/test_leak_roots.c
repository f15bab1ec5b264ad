/* SPDX-License-Identifier: MIT */
/*
 * test_leak_roots.c - the program leak_roots says where it put pointers and of what kind
 * each place is; it is stopped like a target, and every place must be in exactly one root of
 * its kind, or in none.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <time.h>

#include "src/leak/roots/roots.h"
#include "src/leak/roots/thread_data.h"
#include "tests/unit/leak_picture.h"

#define PLACES_MAX	400
#define THREADS_MAX	64

struct place {
	char kind[12], name[32];
	int tid;
	uint64_t address;
};
struct run {
	pid_t pid;
	struct place place[PLACES_MAX];
	size_t count;
	struct picture picture;
	struct ranges heap, excluded;
	struct blocks *blocks;
	struct roots roots;
};

/* --- a stopped victim -------------------------------------------------------- */

static const char *victim_path(const char *name)
{
	static char path[2][4096];
	static unsigned int turn;
	const char *build = getenv("BUILDDIR");

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/tests/victims/%s", build ? build : ".", name);
	return path[turn];
}

static void read_places(struct run *run, FILE *lines)
{
	char line[256];

	while (fgets(line, sizeof(line), lines)) {
		struct place *place = &run->place[run->count];
		unsigned long address;

		assert_int_equal(sscanf(line, "%11s %d %lx %31s", place->kind, &place->tid,
					&address, place->name), 4);
		place->address = address;
		if (strcmp(place->kind, "ready") == 0)
			return;
		assert_true(++run->count < PLACES_MAX);
	}
	fail_msg("the victim ended early");
}

/* Its leader comes last: all its threads are traced. */
static void end_victim(pid_t pid)
{
	kill(pid, SIGKILL);
	for (int i = 0; i < 1000 && waitpid(-1, NULL, __WALL) > 0; i++)
		;
}

static void start(struct run *run, const char *program, unsigned int seed)
{
	static pid_t last;
	char text[16];
	int output[2];

	/* A test that failed has left its own. */
	if (last > 0)
		end_victim(last);
	snprintf(text, sizeof(text), "%u", seed);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	run->pid = fork();
	last = run->pid;
	if (run->pid == 0) {
		dup2(output[1], 1);
		execl(victim_path(program), program, text, victim_path("leak_roots_plug.so"), NULL);
		_exit(127);
	}
	close(output[1]);
	_cleanup_file_ FILE *lines = fdopen(output[0], "r");
	read_places(run, lines);
}

/* Stops tid and takes its registers; left stopped until the victim is killed. */
static void stop_thread(pid_t tid, struct picture_thread *ret)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
	assert_int_equal(waitpid(tid, &status, __WALL), tid);
	*ret = (struct picture_thread){ .tid = tid };
	assert_int_equal(ptrace(PTRACE_GETREGS, tid, NULL, &ret->registers), 0);
}

static size_t stop_all(pid_t pid, struct picture_thread *thread)
{
	char path[64];
	size_t count = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	assert_non_null(tasks);
	for (struct dirent *task = readdir(tasks); task; task = readdir(tasks)) {
		if (task->d_name[0] == '.')
			continue;
		assert_true(count < THREADS_MAX);
		stop_thread(atoi(task->d_name), &thread[count++]);
	}
	closedir(tasks);
	return count;
}

static void know_heap(struct run *run)
{
	for (size_t i = 0; i < run->picture.maps.count; i++) {
		const struct procmap *map = &run->picture.maps.map[i];

		if (strcmp(map->path, "[heap]") == 0) {
			assert_int_equal(ranges_add(&run->heap, map->start, map->end), 0);
			assert_int_equal(blocks_add_segment(run->blocks, map->start, map->end,
							    16), 0);
		}
	}
	for (size_t i = 0; i < run->count; i++) {
		const struct place *place = &run->place[i];

		if (strcmp(place->kind, "block") == 0)
			assert_int_equal(blocks_add(run->blocks, place->address,
						    (uint64_t)place->tid), 0);
		if (strcmp(place->kind, "exclude") == 0)
			assert_int_equal(ranges_add(&run->excluded, place->address,
						    place->address + (uint64_t)place->tid), 0);
	}
	ranges_normalize(&run->heap);
	ranges_normalize(&run->excluded);
}

static struct roots_input input_of(const struct run *run, unsigned int classes)
{
	return (struct roots_input){ &run->picture, &run->heap, &run->excluded, run->blocks,
				     classes };
}

static void find_holes(struct run *run)
{
	int pagemap = leak_picture_open_file(run->pid, "pagemap");

	assert_int_equal(picture_find_holes(&run->picture, pagemap, -1), 0);
	if (pagemap >= 0)
		close(pagemap);
}

static struct run *run_victim(const char *program, unsigned int seed)
{
	struct run *run = calloc(1, sizeof(*run));
	struct picture_thread thread[THREADS_MAX];
	struct roots_input input;
	size_t count;

	assert_non_null(run);
	start(run, program, seed);
	count = stop_all(run->pid, thread);
	assert_int_equal(leak_picture_of(run->pid, thread, count, &run->picture), 0);
	if (seed % 2)		/* with holes, and without */
		find_holes(run);
	assert_int_equal(blocks_new(&run->blocks), 0);
	know_heap(run);
	input = input_of(run, ROOT_ALL);
	assert_int_equal(roots_collect(&input, &run->roots), 0);
	return run;
}

static void end_run(struct run *run)
{
	roots_done(&run->roots);
	ranges_done(&run->heap);
	ranges_done(&run->excluded);
	blocks_free(run->blocks);
	picture_done(&run->picture);
	end_victim(run->pid);
	free(run);
}

/* --- what must hold ---------------------------------------------------------- */

static void assert_root(const struct run *run, const struct place *place, enum root_class class)
{
	const struct root *root = roots_find(&run->roots, place->address);

	if (picture_skip_hole(&run->picture, place->address) != place->address) {
		assert_null(root);	/* nothing was ever written there */
		return;
	}
	if (!root)
		fail_msg("%s %d: %lx in no root", place->name, place->tid, place->address);
	if (root->class != class || (class != ROOT_GLOBALS && root->tid != place->tid))
		fail_msg("%s %d: %lx in a root of class %u of %d", place->name, place->tid,
			 place->address, root->class, root->tid);
	assert_int_equal(root->shared, strncmp(place->name, "shared", 6) == 0);
}

static void assert_no_root(const struct run *run, const struct place *place)
{
	const struct root *root = roots_find(&run->roots, place->address);

	if (root)
		fail_msg("%s %d: %lx in the root %lx-%lx of class %u of %d", place->name,
			 place->tid, place->address, root->low, root->high, root->class, root->tid);
}

/* One of words points to the block in which address lies, if near below. */
static bool leads_to(const struct run *run, uint64_t low, uint64_t high, uint64_t address)
{
	for (uint64_t at = low; at < high; at += 8) {
		uint64_t word = picture_word(&run->picture, at);

		if (word <= address && address - word < 512)
			return true;
	}
	return false;
}

/* The thread's dtv holds it: as a word that is the dtv's block, or in a TLS root. */
static void assert_dynamic(const struct run *run, const struct place *place)
{
	const struct roots *roots = &run->roots;
	bool found = false;

	assert_no_root(run, place);
	for (size_t i = 0; i < roots->word_count; i++) {
		const struct root_word *word = &roots->word[i];

		if (word->class == ROOT_TLS && word->tid == place->tid)
			found |= leads_to(run, word->value, word->value + 512, place->address);
	}
	for (size_t i = 0; i < roots->count; i++) {
		const struct root *root = &roots->root[i];

		if (root->class == ROOT_TLS && root->tid == place->tid)
			found |= leads_to(run, root->low, root->high, place->address);
	}
	if (!found)
		fail_msg("%s %d: %lx is not held", place->name, place->tid, place->address);
}

/* Below the red zone of a thread on a stack that can be known: nothing. */
static void assert_nothing_below(const struct run *run, const struct place *place)
{
	for (size_t i = 0; i < run->picture.thread_count; i++) {
		const struct picture_thread *thread = &run->picture.thread[i];
		uint64_t rsp = thread->registers.rsp;

		if (thread->tid != place->tid)
			continue;
		for (uint64_t at = rsp - 8; at > rsp - 2048; at -= 8) {
			const struct root *root = roots_find(&run->roots, at);

			assert_int_equal(root != NULL && root->class == ROOT_STACKS,
					 at >= ((rsp - 128) & ~7ull));
			assert_true(!root || root->class == ROOT_STACKS);
		}
		assert_int_equal(roots_find(&run->roots, rsp)->tid, thread->tid);
	}
}

static void check_place(const struct run *run, const struct place *place)
{
	static const struct {
		const char *kind;
		enum root_class class;
	} kinds[] = { { "globals", ROOT_GLOBALS }, { "stacks", ROOT_STACKS }, { "tls", ROOT_TLS } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(place->kind, kinds[i].kind) == 0)
			assert_root(run, place, kinds[i].class);
	}
	if (strcmp(place->kind, "none") == 0 || strcmp(place->kind, "heap") == 0)
		assert_no_root(run, place);
	if (strcmp(place->kind, "dynamic") == 0)
		assert_dynamic(run, place);
	if (strcmp(place->kind, "thread") == 0 && strcmp(place->name, "known") == 0)
		assert_nothing_below(run, place);
}

/* Ascending, disjoint, aligned, readable, not excluded; bytes is their sum. */
static void check_roots(const struct run *run, const struct roots *roots)
{
	uint64_t end = 0, bytes = 0, shared_bytes = 0;
	uint64_t word;

	for (size_t i = 0; i < roots->count; i++) {
		const struct root *root = &roots->root[i];

		assert_true(root->low >= end && root->low < root->high);
		assert_true(root->low % 8 == 0 && root->high % 8 == 0);
		assert_int_equal(picture_read(&run->picture, root->low, &word, 8), 0);
		assert_int_equal(picture_read(&run->picture, root->high - 8, &word, 8), 0);
		assert_int_equal(picture_hole_bytes(&run->picture, root->low, root->high), 0);
		assert_false(ranges_contain(&run->excluded, root->low));
		assert_false(ranges_contain(&run->excluded, root->high - 1));
		assert_true(root->class != ROOT_GLOBALS || !ranges_contain(&run->heap, root->low));
		assert_true(root->class != ROOT_GLOBALS || root->tid == 0);
		end = root->high;
		bytes += root->high - root->low;
		shared_bytes += root->shared ? root->high - root->low : 0;
	}
	assert_int_equal(bytes, roots->bytes);
	assert_int_equal(shared_bytes, roots->shared_bytes);
}

/* --- tests ------------------------------------------------------------------- */

static void every_place_is_in_its_root(void **state)
{
	size_t kinds[256] = { 0 };

	(void)state;
	for (unsigned int seed = 1; seed <= 6; seed++) {
		struct run *run = run_victim("leak_roots", seed);

		check_roots(run, &run->roots);
		for (size_t i = 0; i < run->count; i++) {
			kinds[(unsigned char)run->place[i].kind[0]]++;
			check_place(run, &run->place[i]);
		}
		assert_int_equal(run->roots.ended_threads, 9);
		assert_int_equal(run->roots.shared_bytes, 3 * 4096);
		end_run(run);
	}
	assert_true(kinds['g'] && kinds['s'] && kinds['t'] && kinds['n'] && kinds['h'] &&
		    kinds['d'] && kinds['e'] && kinds['b']);
}

static void a_static_program_has_the_same(void **state)
{
	struct run *run;

	(void)state;
	if (access(victim_path("leak_roots_static"), X_OK) != 0)
		skip();
	run = run_victim("leak_roots_static", 1);
	check_roots(run, &run->roots);
	for (size_t i = 0; i < run->count; i++)
		check_place(run, &run->place[i]);
	end_run(run);
}

/* Each class alone gives its own roots; together they are all. */
static void classes_can_be_switched_off(void **state)
{
	struct run *run = run_victim("leak_roots", 7);
	uint64_t bytes = 0;
	size_t words = 0;

	(void)state;
	for (unsigned int class = 1; class < ROOT_ALL; class *= 2) {
		struct roots_input input = input_of(run, class);
		struct roots roots;

		assert_int_equal(roots_collect(&input, &roots), 0);
		check_roots(run, &roots);
		for (size_t i = 0; i < roots.count; i++)
			assert_int_equal(roots.root[i].class, class);
		for (size_t i = 0; i < roots.word_count; i++)
			assert_int_equal(roots.word[i].class, class);
		assert_true(class == ROOT_REGISTERS ? roots.word_count > 0 : roots.bytes > 0);
		bytes += roots.bytes;
		words += roots.word_count;
		roots_done(&roots);
	}
	assert_int_equal(bytes, run->roots.bytes);
	assert_int_equal(words, run->roots.word_count);
	end_run(run);
}

/* Every general register of every thread, and neither fs_base nor gs_base; vector registers. */
static void registers_are_words(void **state)
{
	struct picture_thread thread = { .tid = 42 };
	struct picture_vector vector = { .tid = 42, .value = 0x10000 };
	struct picture picture = { .mem = -1, .thread_count = 1, .thread = &thread,
				   .vector_count = 1, .vector = &vector };
	struct roots_input input = { .picture = &picture, .classes = ROOT_ALL };
	unsigned long long *value = (unsigned long long *)&thread.registers;
	const struct user_regs_struct *r = &thread.registers;
	struct roots roots;

	(void)state;
	for (size_t i = 0; i < sizeof(thread.registers) / 8; i++)
		value[i] = 0x1000 + i;
	assert_int_equal(roots_collect(&input, &roots), 0);
	assert_int_equal(roots.count, 0);
	assert_int_equal(roots.word_count, 19);
	for (size_t i = 0; i < roots.word_count; i++) {
		assert_int_equal(roots.word[i].value, roots.word[i].number == ROOT_VECTOR ?
				 vector.value : 0x1000 + roots.word[i].number);
		assert_int_equal(roots.word[i].tid, 42);
		assert_int_equal(roots.word[i].class, ROOT_REGISTERS);
		assert_int_not_equal(roots.word[i].value, r->fs_base);
		assert_int_not_equal(roots.word[i].value, r->gs_base);
	}
	roots_done(&roots);
}

static void class_names_are_parsed(void **state)
{
	static const struct {
		const char *text;
		unsigned int classes;	/* 0: refused */
	} cases[] = {
		{ "all", 15 }, { "globals", 1 }, { "stacks,tls", 10 }, { "registers,registers", 4 },
		{ "tls,registers,stacks,globals", 15 }, { "", 0 }, { ",", 0 }, { "tls,", 0 },
		{ ",tls", 0 }, { "global", 0 }, { "tls stacks", 0 }, { "TLS", 0 }, { "tlsx", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned int classes = 99;
		int error = roots_parse_classes(cases[i].text, &classes);

		assert_int_equal(error, cases[i].classes ? 0 : -EINVAL);
		assert_int_equal(classes, cases[i].classes ? cases[i].classes : 99);
	}
}

/* --- lies -------------------------------------------------------------------- */

#define AREA_WORDS	(128u << 10)

/* Words that look like control blocks, lists and vectors, mostly pointing into each other. */
static void forge(uint64_t *area, uint64_t *ret_tcb)
{
	uint64_t base = (uintptr_t)area;

	for (size_t i = 0; i < AREA_WORDS; i++) {
		switch (rand() % 6) {
		case 0: area[i] = (uint64_t)rand() % 64; break;
		case 1: area[i] = base + (uint64_t)rand() % (AREA_WORDS * 8); break;
		case 2: area[i] = ~0ull - (uint64_t)rand() % 4096; break;
		case 3: area[i] = (uint64_t)rand() << 33; break;
		default: area[i] = base + (uint64_t)rand() % (AREA_WORDS / 64) * 512; break;
		}
	}
	for (size_t tcb = 0; tcb < AREA_WORDS; tcb += 512) {
		uint64_t self = base + tcb * 8, next = base + (tcb + 512) % AREA_WORDS * 8;
		uint64_t previous = base + (tcb + AREA_WORDS - 512) % AREA_WORDS * 8;

		area[tcb] = area[tcb + 2] = self;
		area[tcb + 1] = rand() % 2 ? base + 16 + (uint64_t)rand() % 1024 * 8 : ~0ull;
		area[tcb + 3] = (uint64_t)rand() % 2;
		area[tcb + 0x58] = next + 0x2c0;
		area[tcb + 0x59] = previous + 0x2c0;
		area[tcb + 0x5a] = (uint64_t)rand() % 3 - 1;
	}
	*ret_tcb = base + (uint64_t)rand() % (AREA_WORDS / 512) * 4096;
}

static void lies_are_survived(void **state)
{
	uint64_t *area = mmap(NULL, AREA_WORDS * 8, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ranges heap = { 0 };
	clock_t begin = clock();

	(void)state;
	assert_int_equal(ranges_add(&heap, (uintptr_t)area + 4096, (uintptr_t)area + 9000), 0);
	for (unsigned int seed = 0; seed < 60; seed++) {
		struct run run = { .heap = heap };
		struct roots_input input = input_of(&run, ROOT_ALL);
		struct picture_thread thread[2] = { { .tid = 1 }, { .tid = 2 } };

		srand(seed);
		for (size_t i = 0; i < 2; i++) {
			uint64_t tcb;

			forge(area, &tcb);
			thread[i].registers.fs_base = tcb;
			thread[i].registers.rsp = (uintptr_t)area + (uint64_t)rand() % 200000;
		}
		assert_int_equal(leak_picture_of(getpid(), thread, 2, &run.picture), 0);
		assert_int_equal(roots_collect(&input, &run.roots), 0);
		roots_done(&run.roots);
		picture_done(&run.picture);
	}
	assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
	ranges_done(&heap);
	munmap(area, AREA_WORDS * 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_is_in_its_root),
		cmocka_unit_test(a_static_program_has_the_same),
		cmocka_unit_test(classes_can_be_switched_off),
		cmocka_unit_test(registers_are_words),
		cmocka_unit_test(class_names_are_parsed),
		cmocka_unit_test(lies_are_survived),
	};

	alarm(150);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
