/* SPDX-License-Identifier: MIT */
/*
 * test_older.c - older blocks against the block map that they were taken from; what the books
 * make of frees of them; and who may still be in a call from before the hooks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/leak/blocks/blocks.h"
#include "src/leak/blocks/preattach_blocks.h"
#include "src/session/under_way.h"
#include "tests/unit/live_books.h"

#define OTHER	4u
#define LOW	0x10000000ull
#define HEAP	0x100000ull
#define FINE	0x7f0000000000ull	/* of 8 byte granules */

/* ---- the set, against the map ---- */

/* Full ones, and with even seeds some with a few large blocks. */
static struct blocks *two_heaps(unsigned int seed)
{
	struct blocks *blocks;
	int count = seed % 2 ? 3000 : 8;

	srandom(seed);
	assert_int_equal(blocks_new(&blocks), 0);
	assert_int_equal(blocks_add_segment(blocks, FINE, FINE + HEAP, 8), 0);
	assert_int_equal(blocks_add_segment(blocks, LOW, LOW + HEAP, 16), 0);
	for (int i = 0; i < count; i++) {
		uint64_t size = seed % 2 && random() % 50 ? 1 + (uint64_t)random() % 300 :
							    (uint64_t)random() % 400000 + 1;
		uint64_t at = (uint64_t)random() % HEAP;

		(void)!blocks_add(blocks, LOW + (at & ~15ull), size);
		(void)!blocks_add(blocks, FINE + (at & ~7ull), size);
	}
	return blocks;
}

static const struct older_heap both[] = { { "fine", 0, 1 }, { "glibc", 1, 2 } };

static struct older *taken(struct blocks *blocks)
{
	struct older *older;

	assert_int_equal(older_new(blocks, both, 2, &older), 0);
	assert_true(older_set_entry(older, GLIBC, "glibc"));
	assert_true(older_set_entry(older, OTHER, "fine"));
	assert_false(older_set_entry(older, 7, "tcmalloc"));
	return older;
}

static void same_answer(const struct blocks *blocks, const struct older *older, uint16_t entry,
			uint64_t address)
{
	struct older_block found = { 0, 0 };
	struct block block;
	enum older_place place = older_find(older, entry, address, &found);

	if (!blocks_find(blocks, address, &block)) {
		assert_int_equal(place, OLDER_FREE);
		return;
	}
	assert_int_equal(place, block.address == address ? OLDER_LIVE : OLDER_INSIDE);
	assert_int_equal(found.address, block.address);
	assert_int_equal(found.bytes, block.bytes);
}

static void agrees_with_the_map(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 8; seed++) {
		struct blocks *model = two_heaps(seed), *source = two_heaps(seed);
		struct older *older = taken(source);

		blocks_free(source);
		for (int step = 0; step < 60000; step++) {
			uint64_t at = (uint64_t)random() % HEAP, address = LOW + at;
			struct block block = { 0, 0 };
			uint64_t bytes;

			same_answer(model, older, GLIBC, address);
			same_answer(model, older, OTHER, FINE + at);
			if (step % 8 || !blocks_find(model, address, &block))
				continue;
			bytes = older_remove(older, block.address);
			assert_int_equal(bytes, block.bytes);
			assert_int_equal(blocks_remove(model, block.address), 0);
			assert_int_equal(older_remove(older, block.address), 0);
		}
		assert_int_equal(older_count(older), blocks_count(model));
		assert_int_equal(older_bytes(older), blocks_bytes(model));
		older_free(older);
		blocks_free(model);
	}
}

static void judges_its_own_heap_only(void **state)
{
	struct blocks *blocks = two_heaps(1);
	struct older_block found;
	struct older *older;

	(void)state;
	assert_int_equal(blocks_add_segment(blocks, LOW + HEAP, LOW + 2 * HEAP, 16), 0);
	older = taken(blocks);
	assert_int_equal(older_find(older, GLIBC, FINE, &found), OLDER_UNKNOWN);
	assert_int_equal(older_find(older, OTHER, LOW, &found), OLDER_UNKNOWN);
	assert_int_equal(older_find(older, 7, LOW, &found), OLDER_UNKNOWN);
	assert_int_equal(older_find(older, UINT16_MAX, LOW, &found), OLDER_UNKNOWN);
	assert_int_equal(older_find(older, GLIBC, LOW - 16, &found), OLDER_UNKNOWN);
	assert_int_equal(older_find(older, GLIBC, LOW + HEAP, &found), OLDER_UNKNOWN);
	assert_int_equal(older_find(older, GLIBC, 0, &found), OLDER_UNKNOWN);
	assert_int_equal(older_find(older, GLIBC, UINT64_MAX, &found), OLDER_UNKNOWN);
	assert_int_equal(older_remove(older, 0), 0);
	older_free(older);
	blocks_free(blocks);

	/* the program's pointers are not where blocks begin */
	blocks = two_heaps(1);
	assert_int_equal(blocks_set_aligned(blocks, LOW), 0);
	older = taken(blocks);
	assert_int_equal(older_find(older, GLIBC, LOW + 64, &found), OLDER_UNKNOWN);
	older_free(older);
	blocks_free(blocks);
}

static void is_small(void **state)
{
	struct blocks *blocks;
	struct older *older;

	(void)state;
	assert_int_equal(blocks_new(&blocks), 0);
	assert_int_equal(blocks_add_segment(blocks, LOW, LOW + (64u << 20), 16), 0);
	for (uint64_t at = 0; at + 64 <= 64u << 20; at += 64)
		assert_int_equal(blocks_add(blocks, LOW + at, 56), 0);
	older = taken(blocks);
	assert_true(older_memory(older) <= (64u << 20) / 60);
	older_free(older);
	blocks_free(blocks);
}

/* ---- the books ---- */

static int set_up(void **state)
{
	*state = &books;
	return books_begin(NULL, NULL);
}

static const struct wrong_free *last_wrong(void) { return wrong_at(wrong_count() - 1); }

/* Blocks of 0x30 usable bytes at each 0x100 from LOW on, 16 of them. */
static struct older *sixteen(void)
{
	struct blocks *blocks;
	struct older_heap heap = { "glibc", 0, 1 };
	struct older *older;

	assert_int_equal(blocks_new(&blocks), 0);
	assert_int_equal(blocks_add_segment(blocks, LOW, LOW + HEAP, 16), 0);
	for (uint64_t i = 0; i < 16; i++)
		assert_int_equal(blocks_add(blocks, LOW + i * 0x100, 0x30), 0);
	assert_int_equal(older_new(blocks, &heap, 1, &older), 0);
	assert_true(older_set_entry(older, GLIBC, "glibc"));
	blocks_free(blocks);
	return older;
}

static void know_older(void)
{
	live_await_older(books.live, ++books.now);
	assert_true(live_set_older(books.live, sixteen()));
}

static void tells_inside_free_and_twice(void **state)
{
	(void)state;
	know_older();
	release(1, LOW, 8);
	release(1, LOW + 0x200, 8);
	assert_int_equal(wrong_count(), 0);
	release(1, LOW + 0x100 + 0x10, 9);
	assert_int_equal(last_wrong()->reason, WRONG_FREE_INSIDE);
	assert_int_equal(last_wrong()->block.address, LOW + 0x100);
	assert_int_equal(last_wrong()->block.size, 0x30);
	assert_int_equal(last_wrong()->block.site, 0);
	release(1, LOW + 0x180, 9);	/* between two */
	assert_int_equal(last_wrong()->reason, WRONG_FREE_FREE);
	assert_int_equal(wrong_free_kind(last_wrong()->reason), WRONG_FREE_ILLEGAL);
	realloc_begin(1, LOW + 0x190, 9);
	assert_true(last_wrong()->realloc);
	release(1, LOW, 10);
	assert_int_equal(last_wrong()->reason, WRONG_FREE_AGAIN);
	assert_int_equal(last_wrong()->block.size, 0x30);
	assert_int_equal(last_wrong()->block.freed.stack, 8);
	assert_int_equal(wrong_count(), 4);
	assert_int_equal(sites_oddities(books.sites)->illegal_free, 3);
	assert_int_equal(sites_oddities(books.sites)->free_unknown, 2);
}

static void reuse_is_not_wrong(void **state)
{
	(void)state;
	know_older();
	release(1, LOW, 8);
	alloc(2, LOW, 20, 7);	/* its address, */
	alloc(2, LOW + 0x20, 10, 7);	/* and the rest of it */
	release(1, LOW + 0x20, 8);
	release(2, LOW, 8);
	alloc(1, LOW, 0x80, 7);
	release(1, LOW, 8);
	alloc(1, LOW + 0x140, 8, 7);	/* where nothing was */
	release(1, LOW + 0x140, 8);
	release(1, LOW + HEAP + 64, 8);		/* not in the heap: believed */
	assert_int_equal(wrong_count(), 0);
	assert_int_equal(live_count(books.live), 0);
}

static void reallocs_of_older_blocks(void **state)
{
	(void)state;
	know_older();
	realloc_begin(1, LOW, 8);
	realloc_failed(1, LOW);
	realloc_begin(1, LOW, 8);
	realloc_done(1, LOW, LOW, 0x10);	/* in place */
	release(1, LOW, 8);
	realloc_begin(1, LOW + 0x100, 8);
	alloc(2, LOW + 0x100, 5, 7);		/* given away before the move is told */
	realloc_done(1, LOW + 0x100, LOW + 0x8000, 500);
	release(2, LOW + 0x100, 8);
	release(1, LOW + 0x8000, 8);
	realloc_begin(1, LOW + 0x200, 8);	/* to nothing */
	release(1, LOW + 0x300, 8);
	assert_int_equal(wrong_count(), 0);
	release(1, LOW + 0x200, 8);
	assert_int_equal(last_wrong()->reason, WRONG_FREE_AGAIN);
}

/* Even when nobody remembers the first free of it. */
static void a_forgotten_free_is_known_by_the_heap(void **state)
{
	(void)state;
	know_older();
	release(1, LOW, 8);
	for (uint64_t i = 1; i <= FREED_MAX + 10; i++)
		release(1, FINE + i * 16, 8);
	assert_int_equal(wrong_count(), 0);
	release(1, LOW, 9);
	assert_int_equal(last_wrong()->reason, WRONG_FREE_FREE);
}

static void frees_during_the_walk_are_judged_after_it(void **state)
{
	(void)state;
	release(1, LOW + 0x188, 8);	/* before the picture: who knows */
	live_await_older(books.live, ++books.now);
	release(1, LOW, 8);
	alloc(1, LOW, 8, 7);
	release(1, LOW + 0x150, 9);
	release(1, LOW + 0x210, 10);
	realloc_begin(2, LOW + 0x320, 11);	/* and the allocator aborts */
	realloc_begin(3, LOW + 0x400, 11);
	assert_int_equal(wrong_count(), 1);	/* the misaligned one */
	assert_int_equal(sites_oddities(books.sites)->free_unknown, 3);
	assert_true(live_set_older(books.live, sixteen()));
	assert_int_equal(wrong_count(), 4);
	assert_int_equal(last_wrong()->address, LOW + 0x320);
	assert_int_equal(last_wrong()->reason, WRONG_FREE_INSIDE);
	assert_true(last_wrong()->realloc);
	assert_int_equal(sites_oddities(books.sites)->free_unknown, 1);
	realloc_done(3, LOW + 0x400, LOW + 0x9000, 5);
	release(1, LOW, 8);
	release(1, LOW + 0x9000, 8);
	assert_int_equal(wrong_count(), 4);
	release(1, LOW, 8);
	assert_int_equal(last_wrong()->reason, WRONG_FREE_AGAIN);
}

/* In the picture its old block is free already, and its end not yet told. */
static void a_realloc_in_the_picture_is_not_judged(void **state)
{
	(void)state;
	realloc_begin(1, LOW + 0x150, 8);
	realloc_begin(2, LOW + 0x160, 8);
	live_await_older(books.live, ++books.now);
	realloc_done(1, LOW + 0x150, LOW + 0x7000, 8);
	assert_true(live_set_older(books.live, sixteen()));
	realloc_done(2, LOW + 0x160, LOW + 0x8000, 8);
	release(1, LOW + 0x7000, 8);
	release(1, LOW + 0x8000, 8);
	assert_int_equal(wrong_count(), 0);
	/* what is announced later is */
	realloc_begin(1, LOW + 0x170, 8);
	assert_int_equal(wrong_count(), 1);
}

/* A free that had just been announced, or a call that nobody saw has given it out again. */
static void what_lives_in_the_picture_may_be_freed(void **state)
{
	(void)state;
	release(1, LOW, 8);
	release(1, LOW + 0x180, 8);
	know_older();
	release(1, LOW, 9);
	assert_int_equal(wrong_count(), 0);
	release(1, LOW, 10);
	assert_int_equal(last_wrong()->reason, WRONG_FREE_AGAIN);
	assert_int_equal(last_wrong()->block.freed.stack, 9);
	release(1, LOW + 0x180, 9);	/* does not live in it */
	assert_int_equal(last_wrong()->reason, WRONG_FREE_AGAIN);
	assert_int_equal(last_wrong()->block.freed.stack, 8);
	assert_int_equal(wrong_count(), 2);
}

/* The same while the heaps are walked. */
static void what_lives_in_the_picture_is_judged_late(void **state)
{
	(void)state;
	release(1, LOW, 8);
	release(1, LOW + 0x180, 8);
	live_await_older(books.live, ++books.now);
	release(1, LOW, 9);
	release(1, LOW + 0x180, 9);
	assert_int_equal(wrong_count(), 0);
	assert_true(live_set_older(books.live, sixteen()));
	assert_int_equal(wrong_count(), 1);
	assert_int_equal(last_wrong()->address, LOW + 0x180);
}

static void a_loss_ends_all_verdicts(void **state)
{
	(void)state;
	know_older();
	books.lost = 1;
	release(1, LOW + 0x150, 8);
	release(1, LOW + 0x110, 8);
	books.lost = 0;
	release(1, LOW + 0x160, 8);
	assert_int_equal(wrong_count(), 0);
	live_await_older(books.live, ++books.now);
	assert_false(live_set_older(books.live, sixteen()));
}

static void a_gap_ends_all_verdicts(void **state)
{
	(void)state;
	know_older();
	live_lose_track(books.live, books.now);
	release(1, LOW + 0x150, 8);
	assert_int_equal(wrong_count(), 0);
	live_await_older(books.live, ++books.now);
	assert_false(live_set_older(books.live, sixteen()));
}

static void without_a_walk_all_is_believed(void **state)
{
	(void)state;
	live_await_older(books.live, ++books.now);
	release(1, LOW + 0x150, 8);
	assert_false(live_set_older(books.live, NULL));
	release(1, LOW + 0x160, 8);
	assert_int_equal(wrong_count(), 0);
	assert_false(live_set_older(books.live, sixteen()));	/* of no moment */
}

static void too_many_to_remember(void **state)
{
	(void)state;
	live_await_older(books.live, ++books.now);
	for (uint64_t i = 0; i < (1u << 20) + 1000; i++)
		release(1, FINE + i * 16, 8);
	assert_false(live_set_older(books.live, sixteen()));
	release(1, LOW + 0x150, 8);
	assert_int_equal(wrong_count(), 0);
}

/* ---- calls from before the hooks ---- */

#define STACK	0x7ffff000ull
#define RESTORER 0x400077ull

struct scene {
	struct picture picture;
	struct picture_thread thread;
	struct modules *modules;
	struct hook_plan plan;
	uint64_t word[8];	/* its stack */
};
static struct scene scene;

static int open_file(void *context, const struct procmap *map)
{
	int fd = open(map->path, O_RDONLY | O_CLOEXEC);

	(void)context;
	return fd < 0 ? -errno : fd;
}

/* This process: its libc is the allocator's library, its memory the picture's. */
static int set_scene(void **state)
{
	struct module_source source = { .open_file = open_file };
	_cleanup_fd_ int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (set_up(state))
		return 1;
	memset(&scene, 0, sizeof(scene));
	assert_int_equal(modules_new(&source, &scene.modules), 0);
	scene.thread.registers.fs_base = 1;
	scene.thread.registers.rsp = (uint64_t)(uintptr_t)scene.word;
	assert_int_equal(picture_open(open("/proc/self/mem", O_RDONLY | O_CLOEXEC), maps,
				      &scene.thread, 1, &scene.picture), 0);
	assert_true(modules_update(scene.modules, &scene.picture.maps) >= 0);
	scene.plan.family_count = scene.plan.entry_count = 1;
	/* in libc also where a sanitizer has a malloc of its own */
	scene.plan.entry[0].address = (uint64_t)(uintptr_t)abs;
	scene.plan.gadget_restorer = RESTORER;
	return 0;
}

static int end_scene(void **state)
{
	picture_done(&scene.picture);
	modules_free(scene.modules);
	return books_end(state);
}

/* May a thread in this call (-1: none), with this first argument, at rip, be inside? */
static bool inside(long number, uint64_t argument, uint64_t rip)
{
	const struct under_way input = { &scene.picture, scene.modules, &scene.plan,
					 books.live };
	struct user_regs_struct *r = &scene.picture.thread[0].registers;

	r->orig_rax = (uint64_t)number;
	r->rdi = argument;
	r->rip = rip;
	return under_way(&input);
}

static void who_is_inside(void **state)
{
	uint64_t libc = scene.plan.entry[0].address, own = (uint64_t)(uintptr_t)set_up;
	static int own_lock = 1;	/* not zero: where zeros are, heaps may be */
	uint64_t lock = (uint64_t)(uintptr_t)&own_lock;

	(void)state;
	assert_true(inside(-1, 0, libc));
	assert_false(inside(-1, 0, own));
	assert_false(inside(SYS_read, 0, libc));
	assert_true(inside(SYS_mmap, 0, libc));
	assert_true(inside(SYS_madvise, 0, libc));
	assert_true(inside(SYS_futex, libc, libc));	/* the library's own memory */
	assert_false(inside(SYS_futex, lock, libc));
	scene.plan.island_count = 1;
	scene.plan.island[0] = (struct hook_island){ .address = 0x30000000, .pages = 1 };
	assert_true(inside(-1, 0, 0x30000008));
	assert_false(inside(-1, 0, 0x30001000));
}

static void handlers_hide_what_they_interrupted(void **state)
{
	(void)state;
	assert_false(inside(SYS_read, 0, 0));
	scene.word[5] = RESTORER;
	assert_true(inside(SYS_read, 0, 0));
}

static void who_allocates_is_outside(void **state)
{
	uint64_t libc = scene.plan.entry[0].address;

	(void)state;
	alloc(1, 0x1000, 8, 7);
	assert_true(inside(-1, 0, libc));	/* by the call itself, perhaps */
	alloc(1, 0x2000, 8, 7);
	assert_false(inside(-1, 0, libc));
	scene.picture.thread[0].registers.fs_base = 2;
	assert_true(inside(-1, 0, libc));
}

int main(void)
{
#define WITH_BOOKS(test) cmocka_unit_test_setup_teardown(test, set_up, books_end)
#define WITH_SCENE(test) cmocka_unit_test_setup_teardown(test, set_scene, end_scene)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_map),
		cmocka_unit_test(judges_its_own_heap_only),
		cmocka_unit_test(is_small),
		WITH_BOOKS(tells_inside_free_and_twice),
		WITH_BOOKS(reuse_is_not_wrong),
		WITH_BOOKS(reallocs_of_older_blocks),
		WITH_BOOKS(a_forgotten_free_is_known_by_the_heap),
		WITH_BOOKS(frees_during_the_walk_are_judged_after_it),
		WITH_BOOKS(a_realloc_in_the_picture_is_not_judged),
		WITH_BOOKS(what_lives_in_the_picture_may_be_freed),
		WITH_BOOKS(what_lives_in_the_picture_is_judged_late),
		WITH_BOOKS(a_loss_ends_all_verdicts),
		WITH_BOOKS(a_gap_ends_all_verdicts),
		WITH_BOOKS(without_a_walk_all_is_believed),
		WITH_BOOKS(too_many_to_remember),
		WITH_SCENE(who_is_inside),
		WITH_SCENE(handlers_hide_what_they_interrupted),
		WITH_SCENE(who_allocates_is_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
