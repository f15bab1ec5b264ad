/* SPDX-License-Identifier: MIT */
/*
 * test_leak_heap_mimalloc.c - live blocks of mimalloc: of modelled builds, and of this program
 * with the library preloaded, where it is installed.
 *
 * Exact agreement for whole programs is tests/e2e/leaks-mimalloc.sh's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>

#include "src/base/sanitized.h"
#include "src/leak/mark/mark.h"
#include "tests/unit/leak_heap_walk.h"
#include "tests/unit/leak_mimalloc_model.h"
#include "tests/unit/leak_picture.h"

static int setup(void **state)
{
	return walk_setup(state, sizeof(struct mimodel));
}

static void finds_blocks_of_all_builds(void **state)
{
	struct mimodel *m = *state;

	for (int build = 0; build < MIMODEL_BUILDS; build++) {
		struct walk w;

		mimodel_make(m, (enum mimodel_build)build);
		walk_lab(&w, heap_walk_mimalloc, &m->lab);
		if (w.result.cover != HEAP_COVERED)
			print_message("build %d\n", build);
		walk_check_truth(&w, &m->lab);
		assert_int_equal(w.result.arenas, 2);
		assert_string_equal(w.result.allocator, "mimalloc");
		walk_done(&w);
	}
}

static void keeps_own_structures_apart(void **state)
{
	struct mimodel *m = *state;
	const struct ranges *segments;
	struct walk w;

	mimodel_make(m, MIMODEL_PLAIN);
	walk_lab(&w, heap_walk_mimalloc, &m->lab);
	segments = blocks_segments(w.heap.blocks);
	assert_true(ranges_contain(&w.heap.own, MIMODEL_FIRST));
	assert_true(ranges_contain(&w.heap.own, MIMODEL_FIRST + 0xffff));
	assert_false(ranges_contain(&w.heap.own, MIMODEL_FIRST + 0x10000));
	assert_true(ranges_contain(segments, MIMODEL_FIRST + 0x10000));
	/* What is free behind the last page: neither a root nor a place for blocks. */
	assert_true(ranges_contain(&w.heap.own, MIMODEL_FIRST + 0x60000));
	assert_true(ranges_contain(&w.heap.own, MIMODEL_FIRST + 0x1ffffff));
	assert_false(ranges_contain(&w.heap.own, MIMODEL_FIRST + 0x2000000));
	assert_true(ranges_contain(&w.heap.own, MIMODEL_EMPTY + 0x1000000));
	assert_true(ranges_contain(segments, MIMODEL_HUGE + 0x18fffff));
	/* Heaps stay roots: what the program made itself hangs there. */
	assert_false(ranges_contain(&w.heap.own, MIMODEL_MAIN));
	assert_false(ranges_contain(&w.heap.own, MIMODEL_OTHER));
	walk_done(&w);
}

/* One word of the model, changed to what a thread in the middle of malloc or an overflow leaves. */
static uint64_t first_page(const struct mimodel *m, unsigned int slice)
{
	return mimodel_page(m, MIMODEL_FIRST, slice);
}

static const struct damage {
	const char *what;
	unsigned int slice, offset;	/* in the slice's struct; slice 0: in the segment's head */
	uint64_t change;		/* xored */
} damages[] = {
	{ "a block taken, and not counted yet", 1, 24, 1 },
	{ "a list that begins elsewhere", 1, 16, 8 },
	{ "a list that begins in another page", 1, 16, 0x10000 },
	{ "a list that lost a block", 2, 16, 16 },
	{ "a list of freed blocks that is gone", 1, 32, 0x20000010090 },
	{ "less capacity", 1, 8, 0x300000 },
	{ "more capacity than there is room", 1, 8, 0x80000000 },
	{ "other room", 1, 8, 0x100000000 },
	{ "another size of blocks", 1, 24, 0x1000000000 },
	{ "a size that is none", 1, 24, 0x100000000 },
	{ "no slices", 1, 0, 1 },
	{ "too many slices", 6, 0, 0x1000 },
	{ "a slice that is not a first one", 1, 0, 0x5000000000 },
	{ "a page that is already free", 3, 24, 160ull << 32 },
	{ "a heap that is none", 1, 48, 0x10 },
	{ "a page not counted yet", 0, 208, 7 },
	{ "another number of entries", 0, 248, 1 },
	{ "another kind", 0, 240, 3 },
	{ "another size", 0, 224, 0x100 },
	{ "another thread's", 0, 256, 0x40 },
	{ "a segment that vanished", 0, 216, 1 },
};

static void damage(struct mimodel *m, const struct damage *d)
{
	uint64_t where = (d->slice ? first_page(m, d->slice) : MIMODEL_FIRST) + d->offset;

	mimodel_make(m, MIMODEL_PLAIN);
	lab_put(&m->lab, where, lab_get(&m->lab, where) ^ d->change);
}

static void expect_nothing(struct mimodel *m, enum heap_cover cover, const char *what)
{
	struct walk w;

	walk_lab(&w, heap_walk_mimalloc, &m->lab);
	walk_check_nothing(&w, what, cover);
	walk_done(&w);
}

static void tells_torn_from_broken(void **state)
{
	struct mimodel *m = *state;

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		damage(m, &damages[i]);
		/* Nobody is in malloc, so another picture would be the same. */
		expect_nothing(m, HEAP_NOT_COVERED, damages[i].what);
		m->lab.registers.rip = MIMODEL_CODE;
		expect_nothing(m, HEAP_TORN, damages[i].what);
	}
}

static void checks_what_is_queued_on_heaps(void **state)
{
	struct mimodel *m = *state;
	uint64_t head, block;

	mimodel_make(m, MIMODEL_PLAIN);
	head = mimodel_delayed(m, MIMODEL_MAIN);
	block = lab_get(&m->lab, head);
	/* A cycle; a block that is no block; one that a page has as free; one of nobody. */
	lab_put(&m->lab, block, block);
	expect_nothing(m, HEAP_NOT_COVERED, "a cycle");
	mimodel_make(m, MIMODEL_PLAIN);
	lab_put(&m->lab, head, block + 8);
	expect_nothing(m, HEAP_NOT_COVERED, "the midst of a block");
	mimodel_make(m, MIMODEL_PLAIN);
	lab_put(&m->lab, head, lab_get(&m->lab, mimodel_page(m, MIMODEL_FIRST, 1) + 16));
	expect_nothing(m, HEAP_NOT_COVERED, "a free block");
	mimodel_make(m, MIMODEL_PLAIN);
	lab_put(&m->lab, head, MIMODEL_FIRST + 0x100000);
	expect_nothing(m, HEAP_NOT_COVERED, "a block in no page");
	mimodel_make(m, MIMODEL_PLAIN);
	lab_put(&m->lab, head, MIMODEL_LIB);
	expect_nothing(m, HEAP_NOT_COVERED, "a block in no segment");
}

static void compares_with_what_threads_count(void **state)
{
	struct mimodel *m = *state;

	mimodel_make(m, MIMODEL_PLAIN);
	lab_put(&m->lab, mimodel_segment_count(MIMODEL_OTHER_TLD), 2);
	expect_nothing(m, HEAP_NOT_COVERED, "one segment more");
	mimodel_make(m, MIMODEL_PLAIN);
	lab_put(&m->lab, mimodel_segment_count(MIMODEL_TLD) + 16, 32 << 20);
	expect_nothing(m, HEAP_NOT_COVERED, "smaller segments");
}

static void says_what_it_does_not_know(void **state)
{
	struct mimodel *m = *state;
	struct walk w;

	/* Not there; there and never used. */
	mimodel_make(m, MIMODEL_PLAIN);
	memset(m->lib + 0x2000, 0, MIMODEL_LIB_BYTES - 0x2000);
	walk_lab(&w, heap_walk_mimalloc, &m->lab);
	assert_int_equal(w.result.cover, HEAP_ABSENT);
	walk_done(&w);
	mimodel_make(m, MIMODEL_PLAIN);
	lab_put(&m->lab, mimodel_delayed(m, MIMODEL_MAIN) + 24, 0);
	walk_lab(&w, heap_walk_mimalloc, &m->lab);
	assert_int_equal(w.result.cover, HEAP_ABSENT);
	walk_done(&w);
	/* A heap of another shape: unused, and used. */
	mimodel_make(m, MIMODEL_PLAIN);
	lab_put(&m->lab, MIMODEL_MAIN, 0);
	walk_lab(&w, heap_walk_mimalloc, &m->lab);
	assert_int_equal(w.result.cover, HEAP_ABSENT);
	walk_done(&w);
	lab_put(&m->lab, MIMODEL_MAIN + 8 + 129 * 8 + 24, MIMODEL_FIRST);
	expect_nothing(m, HEAP_NOT_COVERED, "another layout");
}

/* Every block of no page with a list: the distance to the first could be another. */
static void wants_proof_of_a_version_that_is_not_told(void **state)
{
	struct mimodel *m = *state;
	const unsigned int capacity_offset = 8;

	mimodel_make(m, MIMODEL_PLAIN);
	for (unsigned int slice = 1; slice <= 3; slice++) {
		uint64_t page = first_page(m, slice);

		for (unsigned int offset = 16; offset <= 40; offset += 8)
			lab_put(&m->lab, page + offset, offset == 24 ?
				lab_get(&m->lab, page + 24) & ~0xffffffffull : 0);
		lab_put(&m->lab, page + capacity_offset,
			lab_get(&m->lab, page + capacity_offset) & ~0xffff0000ull);
	}
	lab_put(&m->lab, mimodel_delayed(m, MIMODEL_MAIN), 0);
	lab_put(&m->lab, mimodel_delayed(m, MIMODEL_OTHER), 0);
	/* The other thread is not there. */
	lab_put(&m->lab, MIMODEL_SECOND + 216, 0);
	expect_nothing(m, HEAP_NOT_COVERED, "no list to look at");
}

/* A pointer to offset in the block that was asked for aligned, and nothing else, is a root. */
static enum block_kind kind_by(struct walk *w, struct mimodel *m, uint64_t offset)
{
	struct root_word word = { .value = m->aligned + offset, .class = ROOT_REGISTERS };
	struct roots roots = { .word_count = 1, .word = &word };
	struct mark_input input = { .picture = &m->lab.picture, .blocks = w->heap.blocks,
				    .roots = &roots, .workers = 1 };
	struct mark_sums sums;

	assert_int_equal(mark_run(&input, &sums), 0);
	return mark_kind(w->heap.blocks, m->aligned);
}

static void takes_aligned_pointers_for_start_pointers(void **state)
{
	struct mimodel *m = *state;
	uint64_t away, start;
	struct block block;
	struct walk w;

	mimodel_make(m, MIMODEL_PLAIN);
	assert_int_equal(lab_open(&m->lab), 0);
	walk_picture(&w, heap_walk_mimalloc, &m->lab.picture, m->lab.modules);
	away = -m->aligned & 255;
	assert_true(away > 16);
	assert_int_equal(kind_by(&w, m, 0), BLOCK_REACHABLE);
	assert_int_equal(kind_by(&w, m, away), BLOCK_REACHABLE);
	assert_int_equal(kind_by(&w, m, away + 16), BLOCK_POSSIBLY_LOST);
	assert_int_equal(kind_by(&w, m, away + 8), BLOCK_POSSIBLY_LOST);
	/* Where the session has seen the program's pointer. */
	start = m->aligned + away;
	assert_int_equal(blocks_set_start(w.heap.blocks, start), 0);
	assert_true(blocks_find(w.heap.blocks, start, &block));
	assert_int_equal(block.address, start);
	assert_int_equal(block.bytes, 160 - away);
	assert_false(blocks_find(w.heap.blocks, start - 1, &block));
	/* Other pages have no such blocks. */
	assert_int_equal(blocks_set_start(w.heap.blocks, m->lab.live[0].address + 8), -ENOENT);
	lab_close(&m->lab);
	walk_done(&w);
}

/* --- this program with the library ---------------------------------------------- */

#define CHILD	"--with-mimalloc"
#define THREADS	4
#define MINE	600

static void *kept[THREADS][MINE], *given[THREADS][MINE];
static pthread_barrier_t meeting;

static void *allocate(void *index)
{
	void **keep = kept[(uintptr_t)index], **give = given[(uintptr_t)index];

	for (unsigned int i = 0; i < MINE; i++) {
		keep[i] = malloc(i % 50 ? 1 + i * 7 : (size_t)i << 15);
		give[i] = malloc(1 + i * 3);
	}
	/* Some threads end, and leave segments behind. */
	if ((uintptr_t)index % 2)
		return NULL;
	pthread_barrier_wait(&meeting);
	for (;;)
		pause();
}

static void tell(int fd, void *const *blocks)
{
	if (write(fd, blocks, MINE * sizeof(*blocks)) != (ssize_t)(MINE * sizeof(*blocks)))
		exit(99);
}

/* Allocates, frees what other threads have allocated, and tells addresses, live ones first. */
static _Noreturn void child(int fd)
{
	pthread_t thread[THREADS];

	pthread_barrier_init(&meeting, NULL, THREADS / 2 + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, allocate, (void *)i);
	for (unsigned int i = 1; i < THREADS; i += 2)
		pthread_join(thread[i], NULL);
	pthread_barrier_wait(&meeting);
	for (unsigned int i = 0; i < THREADS * MINE; i++)
		free(given[i / MINE][i % MINE]);
	for (unsigned int i = 0; i < THREADS; i++) {
		tell(fd, kept[i]);
		tell(fd, given[i]);
	}
	for (;;)
		pause();
}

static pid_t start_child(int *ret_output)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		/* However the test ends. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 3);
		setenv("LD_PRELOAD", "libmimalloc.so.2", 1);
		execl("/proc/self/exe", "test", CHILD, (char *)NULL);
		_exit(99);
	}
	close(ends[1]);
	*ret_output = ends[0];
	return pid;
}

static bool read_all(int fd, void *buffer, size_t bytes)
{
	uint8_t *to = buffer;
	ssize_t got;

	for (; bytes > 0; to += got, bytes -= (size_t)got) {
		got = read(fd, to, bytes);
		if (got <= 0)
			return false;
	}
	return true;
}

static void check_child(const struct walk *w, void *const *keep, void *const *give)
{
	struct block found;

	for (unsigned int i = 0; i < MINE; i++) {
		assert_true(blocks_find(w->heap.blocks, (uintptr_t)keep[i], &found));
		assert_int_equal(found.address, (uintptr_t)keep[i]);
		assert_false(blocks_find(w->heap.blocks, (uintptr_t)give[i], &found));
	}
}

static void walk_child(pid_t pid, int output)
{
	struct picture_thread thread = { .tid = pid };
	struct modules *modules;
	struct picture picture;
	void *told[2][MINE];
	struct walk w;

	assert_int_equal(leak_picture_of(pid, &thread, 1, &picture), 0);
	assert_int_equal(modules_new(&(struct module_source){ .open_file = lab_open_file },
				     &modules), 0);
	assert_true(modules_update(modules, &picture.maps) >= 0);
	walk_picture(&w, heap_walk_mimalloc, &picture, modules);
	if (w.result.version[0] && strncmp(w.result.version, "2.0.9", 5) != 0) {
		print_message("version %s is not known\n", w.result.version);
		return;
	}
	if (w.result.cover != HEAP_COVERED)
		fail_msg("%s %s: %s", w.result.allocator, w.result.version, w.result.why);
	print_message("version %s, %llu blocks\n", w.result.version,
		      (unsigned long long)w.result.live_count);
	check_child(&w, kept[0], given[0]);
	for (unsigned int i = 1; i < THREADS; i++) {
		assert_true(read_all(output, told, sizeof(told)));
		check_child(&w, told[0], told[1]);
	}
	walk_done(&w);
	modules_free(modules);
	picture_done(&picture);
}

static void finds_blocks_of_a_real_program(void **state)
{
	int output;
	pid_t pid;

	(void)state;
	if (MEMATTACH_SANITIZED || (access("/usr/lib/x86_64-linux-gnu/libmimalloc.so.2", R_OK) &&
			  access("/usr/lib64/libmimalloc.so.2", R_OK)))
		skip();
	pid = start_child(&output);
	/* From the first answer on nothing is allocated any more. */
	assert_true(read_all(output, kept[0], sizeof(kept[0])) &&
		    read_all(output, given[0], sizeof(given[0])));
	walk_child(pid, output);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(output);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_blocks_of_all_builds, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(keeps_own_structures_apart, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(tells_torn_from_broken, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(checks_what_is_queued_on_heaps, setup,
						walk_teardown),
		cmocka_unit_test_setup_teardown(compares_with_what_threads_count, setup,
						walk_teardown),
		cmocka_unit_test_setup_teardown(says_what_it_does_not_know, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(wants_proof_of_a_version_that_is_not_told, setup,
						walk_teardown),
		cmocka_unit_test_setup_teardown(takes_aligned_pointers_for_start_pointers, setup,
						walk_teardown),
		cmocka_unit_test(finds_blocks_of_a_real_program),
	};

	if (argc == 2 && strcmp(argv[1], CHILD) == 0)
		child(3);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
