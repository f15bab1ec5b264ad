/* SPDX-License-Identifier: MIT */
/* test_leak_heap_glibc_choose.c - which places that look like a block with a mapping are one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/heap/glibc/heap_glibc.h"
#include "tests/unit/leak_glibc_model.h"
#include "tests/unit/leak_heap_walk.h"

enum { PAGE = 0x1000, DRIFTS = 43 /* from then on mp_ does not say how large they are */ };

static int setup(void **state)
{
	return walk_setup(state, sizeof(struct model));
}

/* A page of the program's own before them, and one within: as many blocks, but not as large. */
static void tells_what_only_looks_like_one(void **state)
{
	struct model *m = *state;
	unsigned int tried = 0;

	for (size_t i = 0; i < MODEL_VERSIONS && model_versions[i].minor < DRIFTS; i++, tried++) {
		struct walk w;

		model_build(m, &model_versions[i]);
		lab_put(&m->lab, MODEL_TLS, 0);
		lab_put(&m->lab, MODEL_TLS + 8, 0x1002);
		lab_put(&m->lab, MODEL_MAPPED + 0x3000, 0);
		lab_put(&m->lab, MODEL_MAPPED + 0x3008, 0x21002);
		walk_lab(&w, heap_walk_glibc, &m->lab);
		walk_check_truth(&w, &m->lab);
		assert_int_equal(w.result.mmapped, 2);
		walk_done(&w);
	}
	assert_true(tried > 5);
}

struct bench {
	struct glibc glibc;
	struct picture picture;
	struct procmap map;
	struct glibc_par_layout par;
	struct glibc_mapped place[64];
};

static void bench_init(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->map = (struct procmap){ .start = 0, .end = 1 << 30, .prot = PROCMAP_R | PROCMAP_W };
	b->picture.maps = (struct procmaps){ .map = &b->map, .count = 1 };
	b->glibc.picture = &b->picture;
	b->glibc.par = &b->par;
	b->glibc.mapped = b->place;
}

static void bench_add(struct bench *b, uint64_t page, uint64_t pages)
{
	b->place[b->glibc.mapped_count++] =
		(struct glibc_mapped){ page * PAGE, page * PAGE, (page + pages) * PAGE, 16 };
}

static void bench_choose(struct bench *b, uint64_t wanted, uint64_t pages)
{
	b->glibc.n_mmaps = wanted;
	b->glibc.mmapped_mem = pages * PAGE;
	assert_int_equal(glibc_choose_mapped(&b->glibc), 0);
}

static bool has(const struct bench *b, uint64_t page)
{
	for (size_t i = 0; i < b->glibc.mapped_count; i++)
		if (b->place[i].base == page * PAGE)
			return true;
	return false;
}

/* A large one that is none lies over two that are. */
static void none_overlap(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	bench_add(&b, 100, 700);
	bench_add(&b, 150, 33);
	bench_add(&b, 300, 67);
	bench_add(&b, 900, 11);
	bench_add(&b, 905, 667);
	bench_choose(&b, 3, 33 + 67 + 11);
	assert_int_equal(b.glibc.mapped_count, 3);
	assert_true(has(&b, 150) && has(&b, 300) && has(&b, 900));
}

/* Both add up: the pair of neighbours is likelier. */
static void the_likelier_ones(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	bench_add(&b, 100, 40);
	bench_add(&b, 200, 60);
	bench_add(&b, 500, 60);
	bench_add(&b, 560, 40);
	bench_choose(&b, 2, 100);
	assert_true(b.glibc.mapped_count == 2 && has(&b, 500) && has(&b, 560));
}

/* Nothing is made up, and a search without end ends. */
static void none_add_up(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	for (uint64_t i = 0; i < 60; i++)
		bench_add(&b, 1000 * i, 32 + 2 * (i % 17));
	bench_choose(&b, 30, 30 * 48 + 1);
	assert_int_equal(b.glibc.mapped_count, 60);
	bench_choose(&b, 61, 61 * 48);
	assert_int_equal(b.glibc.mapped_count, 60);
	b.glibc.mapped_count = 0;
	bench_choose(&b, 0, 0);
	assert_int_equal(b.glibc.mapped_count, 0);
}

/* Against all subsets of up to 12 places. */
static bool any_adds_up(const struct bench *b, uint64_t wanted, uint64_t pages)
{
	for (unsigned int set = 0; set < 1u << b->glibc.mapped_count; set++) {
		uint64_t sum = 0, taken = 0, end = 0;
		bool apart = true;

		for (size_t i = 0; i < b->glibc.mapped_count; i++) {
			if (!(set >> i & 1))
				continue;
			apart &= b->place[i].base >= end;
			end = b->place[i].end;
			sum += end - b->place[i].base;
			taken++;
		}
		if (apart && taken == wanted && sum == pages * PAGE)
			return true;
	}
	return false;
}

static void as_all_subsets(void **state)
{
	unsigned int found = 0, none = 0;

	(void)state;
	srandom(1);
	for (int round = 0; round < 3000; round++) {
		uint64_t page = 0, wanted = 1 + (uint64_t)random() % 5, sum = 0;
		uint64_t pages = wanted * 8 + (uint64_t)random() % 24;
		struct bench b;
		bool may;

		bench_init(&b);
		for (int i = 0; i < 9; i++) {
			page += 1 + (uint64_t)random() % 20;
			bench_add(&b, page, 1 + (uint64_t)random() % 20);
		}
		may = any_adds_up(&b, wanted, pages);
		bench_choose(&b, wanted, pages);
		for (size_t i = 0; may && i < b.glibc.mapped_count; i++)
			sum += b.place[i].end - b.place[i].base;
		assert_int_equal(b.glibc.mapped_count, may ? wanted : 9);
		assert_true(!may || sum == pages * PAGE);
		found += may;
		none += !may;
	}
	assert_true(found > 300 && none > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_only_looks_like_one),
		cmocka_unit_test(none_overlap),
		cmocka_unit_test(the_likelier_ones),
		cmocka_unit_test(none_add_up),
		cmocka_unit_test(as_all_subsets),
	};

	return cmocka_run_group_tests(tests, setup, walk_teardown);
}
