/* SPDX-License-Identifier: MIT */
/*
 * test_shim_sample.c - the sampler is unbiased, whatever path an allocation
 * takes, and the address table knows exactly the sampled blocks.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/abi/marks_abi.h"
#include "inject/shim/exponential.h"
#include "tests/unit/shim_host.h"

/* Blocks that are never real: the hooks only pass addresses on. */
static uintptr_t next_block = 0x10000;
static void *fake_malloc(size_t size)
{
	(void)size;
	return (void *)(next_block += 16);
}
static void *same_block(void *old, size_t size)
{
	(void)size;
	return old;
}
static void *no_block(void *old, size_t size)
{
	(void)old;
	(void)size;
	return NULL;
}
static void *moved_block(void *old, size_t size)
{
	(void)old;
	return fake_malloc(size);
}
static void fake_free(void *block)
{
	(void)block;
}

struct fixture {
	struct shim_host host;
	struct shim_host_log log;
	void *(*malloc)(size_t);
	void *(*realloc_in_place)(void *, size_t);
	void *(*realloc_moves)(void *, size_t);
	void *(*realloc_fails)(void *, size_t);
	void (*free)(void *);
};

static struct ring_thread *first_slot(struct ring_control *control)
{
	return (struct ring_thread *)((uint8_t *)control + control->threads_offset);
}

/* Of all hooks: RING_ISLAND_TLS lets the island itself count down. */
static uint32_t island_flags;

static void begin(struct fixture *f, const struct shim_host_options *options)
{
	struct shim_host_options sampled = *options;

	sampled.mode = RING_MODE_SAMPLE;
	shim_host_open(&f->host, &sampled);
#define HOOK(member, shape, function) \
	(*(void **)&f->member = shim_host_hook(&f->host, shape, (const void *)(function), 0, 0, \
					       island_flags))
	HOOK(malloc, RING_SHAPE_MALLOC, fake_malloc);
	HOOK(realloc_in_place, RING_SHAPE_REALLOC, same_block);
	HOOK(realloc_moves, RING_SHAPE_REALLOC, moved_block);
	HOOK(realloc_fails, RING_SHAPE_REALLOC, no_block);
	HOOK(free, RING_SHAPE_FREE, fake_free);
#undef HOOK
	next_block = 0x10000;
	shim_host_arm(&f->host);
}

static void expect_log(struct fixture *f, unsigned int count)
{
	shim_host_log(&f->host, &f->log);
	assert_int_equal(f->log.count, count);
}

/* Against libm, at the ends and in between; small distances must be right too. */
static void exponential_matches_log(void **state)
{
	uint64_t random = 1;
	long double worst = 0;

	(void)state;
	for (unsigned int i = 0; i < 300000; i++) {
		uint64_t r = i < 64 ? 1ull << i : i < 128 ? UINT64_MAX - (1ull << (i - 64)) :
			     i % 3 == 0 ? UINT64_MAX - (random >> (i % 60)) : random >> (i % 60);
		long double u = ldexpl((long double)(r ? r : 1), -64), truth, error;

		/* Distances below one byte in 2^40 don't matter. */
		truth = 1 - u < 1e-3L ? -log1pl(-(ldexpl((long double)(0 - r), -64))) : -logl(u);
		error = fabsl(ldexpl((long double)shim_exponential(r), -58) - truth) /
			(truth + 1e-10L);
		worst = error > worst ? error : worst;
		random = random * 6364136223846793005ull + 1442695040888963407ull;
	}
	assert_true(worst < 1e-7L);
}

/* Sum of weights and of their variance over what was recorded. */
struct estimate {
	double count, bytes, count_variance, bytes_variance;
	unsigned int records;
};
static void estimate_add(void *context, const struct ring_record *record,
			 const struct ring_stack *stack, const uint8_t *bytes)
{
	struct estimate *e = context;
	double size = (double)(record->size ? record->size : 1);
	double interval = (double)stack->interval;
	double p = interval > 0 ? -expm1(-size / interval) : 1;

	(void)bytes;
	if (record->kind != RING_ALLOC)
		return;
	e->records++;
	e->count += 1 / p;
	e->bytes += (double)record->size / p;
	e->count_variance += (1 - p) / (p * p);
	e->bytes_variance += (1 - p) / (p * p) * size * size;
}

static size_t mixed_size(uint64_t *random)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	switch (*random >> 62) {
	case 0:
		return (*random >> 33) % 32;	/* 0 too */
	case 1:
		return 64;
	case 2:
		return (*random >> 33) % 4096;
	default:
		return (*random >> 33) % 100 == 0 ? 1000000 : 24;
	}
}

/* 1.2 million allocations; change: other intervals on the way. */
static void run_estimate(struct fixture *f, bool change, struct estimate *ret)
{
	static const uint64_t interval[] = { 4096, 512, 20000, 1, 0, 100000, 4096 };
	double count = 0, bytes = 0;
	uint64_t random = 12345;

	memset(ret, 0, sizeof(*ret));
	for (unsigned int i = 0; i < 1200000; i++) {
		size_t size = mixed_size(&random);

		if (change && i % 10000 == 0)
			f->host.control->interval = interval[i / 10000 % 7];
		f->malloc(size);
		count += 1;
		bytes += (double)size;
		if (i % 64 == 0)
			shim_host_drain(&f->host, 0, estimate_add, ret, NULL);
	}
	shim_host_drain(&f->host, 0, estimate_add, ret, NULL);
	assert_int_equal(f->host.control->ring[0].lost_alloc, 0);
	assert_true(fabs(ret->count - count) < 4 * sqrt(ret->count_variance));
	assert_true(fabs(ret->bytes - bytes) < 4 * sqrt(ret->bytes_variance));
	/* And the interval is no excuse: the estimates are close. */
	assert_true(fabs(ret->bytes - bytes) < bytes / 50);
}

static void stay_unbiased(void **state)
{
	struct estimate fixed, again, changing, slotless;
	struct fixture f;
	const struct shim_host_options options = { .seed = 42, .interval = 4096 };

	(void)state;
	begin(&f, &options);
	run_estimate(&f, false, &fixed);
	assert_in_range(fixed.records, 50000, 400000);
	assert_int_equal(f.host.control->threads_claimed, 1);
	shim_host_close(&f.host);

	begin(&f, &options);
	run_estimate(&f, false, &again);
	assert_int_equal(again.records, fixed.records);	/* the same seed, the same samples */
	assert_true(again.bytes == fixed.bytes);
	shim_host_close(&f.host);

	begin(&f, &options);
	run_estimate(&f, true, &changing);
	shim_host_close(&f.host);

	begin(&f, &options);
	f.host.control->thread_slots = 8;	/* all taken, by threads that are at work */
	for (unsigned int i = 0; i < 8; i++) {
		struct ring_thread *slot = first_slot(f.host.control) + i;

		slot->owner = 0xdead000 + i;
		slot->busy = 1;
	}
	run_estimate(&f, false, &slotless);
	assert_in_range(slotless.records, 50000, 400000);
	assert_true(f.host.control->lost_threads >= 1200000);
	shim_host_close(&f.host);
}

static void estimate_size_101(void *context, const struct ring_record *record,
			      const struct ring_stack *stack, const uint8_t *bytes)
{
	if (record->size == 101)
		estimate_add(context, record, stack, bytes);
}

/*
 * A weight must belong to the count-down that fired: blocks that are always
 * allocated at the coarse one of two intervals are counted right.
 */
static void redraw_when_the_interval_changes(void **state)
{
	const unsigned int calls = 160000;
	struct estimate e = { 0 };
	struct fixture f;

	(void)state;
	begin(&f, &(struct shim_host_options){ .seed = 7 });
	for (unsigned int i = 0; i < calls; i++) {
		f.host.control->interval = i % 16 ? 100 : 10000;
		f.malloc(i % 16 ? 100 : 101);
		if (i % 64 == 0)
			shim_host_drain(&f.host, 0, estimate_size_101, &e, NULL);
	}
	shim_host_drain(&f.host, 0, estimate_size_101, &e, NULL);
	assert_true(fabs(e.count - calls / 16) < 4 * sqrt(e.count_variance));
	shim_host_close(&f.host);
}

/* glibc's reallocarray jumps to realloc: one call, one chance to be sampled. */
static void sample_tail_jumps_once(void **state)
{
	void *(*array)(void *, size_t, size_t);
	unsigned int sampled = 0;
	struct fixture f;

	(void)state;
	begin(&f, &(struct shim_host_options){ .interval = 100, .seed = 3 });
	*(void **)&array = shim_host_hook(&f.host, RING_SHAPE_REALLOCARRAY,
					  *(void **)&f.realloc_moves, 0, 0, 0);
	for (unsigned int i = 0; i < 2000; i++) {
		array(NULL, 100, 1);
		shim_host_log(&f.host, &f.log);
		sampled += f.log.count;
	}
	assert_in_range(sampled, 1170, 1360);	/* 2000 (1 - 1/e) = 1264, sigma 22 */
	shim_host_close(&f.host);
}

/* A slot whose owner has not been seen for long goes to whoever needs it. */
static void take_over_idle_slots(void **state)
{
	struct fixture f;
	struct ring_thread *slot;

	(void)state;
	begin(&f, &(struct shim_host_options){ .thread_slots = 8, .interval = 1000000 });
	slot = first_slot(f.host.control);
	for (unsigned int i = 0; i < 8; i++)
		slot[i] = (struct ring_thread){
			.owner = 1 + i, .used = f.host.control->deadline - (1ull << 30),
		};
	f.malloc(1);
	assert_int_equal(f.host.control->threads_claimed, 0);
	slot[3].used -= 1ull << 37;
	f.malloc(1);
	assert_int_equal(f.host.control->threads_claimed, 1);
	assert_int_not_equal(slot[3].owner, 4);
	assert_true(slot[3].interval == 1000000 && slot[3].countdown > 0);
	shim_host_close(&f.host);
}

/* A hook of this thread is at work below us: its slot stays as it is. */
static void leave_a_busy_slot_alone(void **state)
{
	struct fixture f;
	struct ring_thread *slot, before;
	uint32_t taken = 0;

	(void)state;
	begin(&f, &(struct shim_host_options){ .thread_slots = 1, .interval = 4096, .seed = 1 });
	slot = first_slot(f.host.control);
	f.malloc(1);
	assert_int_equal(slot->busy, 0);
	slot->busy = (uint64_t)&f + 4096;
	slot->countdown = 1;
	before = *slot;
	for (unsigned int i = 0; i < 1000; i++) {
		f.malloc(4096);
		shim_host_log(&f.host, &f.log);
		taken += f.log.count;
	}
	assert_memory_equal(slot, &before, sizeof(before));
	assert_in_range(taken, 500, 750);	/* 1 - 1/e */
	/* Left by longjmp from below: stale. */
	slot->busy = 4096;
	f.malloc(4096);
	assert_int_equal(slot->busy, 0);
	shim_host_close(&f.host);
}

static void free_of_sampled_blocks_only(void **state)
{
	struct fixture f;
	void *p, *q;

	(void)state;
	begin(&f, &(struct shim_host_options){ .table_slots = 1024, .interval = 1 });
	p = f.malloc(10);
	f.host.control->interval = 1ull << 40;
	q = f.malloc(10);	/* not sampled */
	f.free(q);
	f.free(p);
	f.free(p);		/* a second free is not the sampled block's */
	expect_log(&f, 2);
	assert_int_equal(f.log.record[0].kind, RING_ALLOC);
	assert_int_equal(f.log.record[1].kind, RING_FREE);
	assert_ptr_equal((void *)f.log.record[1].address, p);
	shim_host_close(&f.host);
}

/* What was sampled is freed by the next realloc, what was not leaves nothing. */
static void reallocs_are_sampled(void **state)
{
	enum { CALLS = 100000, SIZE = 100, INTERVAL = 10000, EXPECTED = CALLS / 100 };
	unsigned int allocs = 0, frees = 0;
	struct fixture f;
	void *p = NULL;

	(void)state;
	begin(&f, &(struct shim_host_options){ .table_slots = 1024, .interval = INTERVAL,
					       .seed = 7, .stack_limit = 64 });
	for (unsigned int i = 0; i < CALLS; i++) {
		p = p && i % 3 ? f.realloc_in_place(p, SIZE) : f.realloc_moves(p, SIZE);
		shim_host_log(&f.host, &f.log);
		assert_true(f.log.count <= 2);
		for (unsigned int k = 0; k < f.log.count; k++) {
			if (f.log.record[k].kind == RING_FREE)
				frees++;
			else
				allocs++;
			assert_true(frees <= allocs && allocs <= frees + 1);
		}
	}
	assert_in_range(allocs, EXPECTED - 160, EXPECTED + 160);	/* five sigma */
	assert_int_equal(f.host.control->lost_table, 0);
	shim_host_close(&f.host);
}

static void realloc_keeps_the_table(void **state)
{
	struct fixture f;
	void *p, *q;

	(void)state;
	begin(&f, &(struct shim_host_options){ .table_slots = 1024 });
	p = f.malloc(10);				/* alloc p */
	f.host.control->interval = 1ull << 40;
	assert_null(f.realloc_fails(p, 100));		/* free p, undo p */
	assert_ptr_equal(f.realloc_in_place(p, 20), p);	/* free p; the new one is not sampled */
	f.free(p);					/* nothing */
	f.host.control->interval = 0;
	q = f.realloc_moves(p, 30);			/* p was not sampled: alloc q */
	assert_ptr_equal(f.realloc_in_place(q, 40), q);	/* free q, alloc q */
	assert_null(f.realloc_fails(q, 0));		/* free q */
	f.free(q);					/* nothing */
	expect_log(&f, 8);
	for (unsigned int i = 0; i < 8; i++) {
		static const uint8_t kind[] = { RING_ALLOC, RING_FREE, RING_UNDO, RING_FREE,
						RING_ALLOC, RING_FREE, RING_ALLOC, RING_FREE };

		assert_int_equal(f.log.record[i].kind, kind[i]);
		assert_ptr_equal((void *)f.log.record[i].address, i < 4 ? p : q);
	}
	shim_host_close(&f.host);
}

static unsigned int table_population(const struct ring_control *control)
{
	const uint64_t *table =
		(const uint64_t *)((const uint8_t *)control + control->table_offset);
	unsigned int count = 0;

	for (uint64_t i = 0; i < control->table_slots; i++)
		count += table[i] != 0;
	return count;
}

static void count_kinds(void *context, const struct ring_record *record,
			const struct ring_stack *stack, const uint8_t *bytes)
{
	(void)stack;
	(void)bytes;
	((unsigned int *)context)[record->kind]++;
}

/* How many addresses are marked. */
static unsigned int marks(struct ring_control *control)
{
	const uint8_t *mark = marks_of(control, 0);
	unsigned int sum = 0;

	for (uint64_t i = 0; i < MARKS_BYTES; i++)
		sum += mark[i] > MARKS_MANY ? mark[i] - MARKS_MANY : mark[i] != 0;
	return sum;
}

/* Addresses that share a mark: who else is freed there is looked for, and not found. */
static void tell_marked_neighbours_apart(void **state)
{
	enum { APART = MARKS_BYTES << MARKS_SHIFT, MANY = 300 };
	unsigned int kinds[RING_KIND_COUNT] = { 0 };
	struct fixture f;

	(void)state;
	begin(&f, &(struct shim_host_options){ .ring_bytes = 1u << 20, .table_slots = 1u << 14 });
	for (uintptr_t i = 1; i <= 2; i++) {
		next_block = i * APART - 16;
		assert_ptr_equal(f.malloc(8), (void *)(i * APART));
	}
	expect_log(&f, 2);
	f.free((void *)(uintptr_t)(3 * APART));
	expect_log(&f, 0);
	assert_int_equal(*marks_of(f.host.control, APART), MARKS_MANY + 2);
	f.free((void *)(uintptr_t)APART);
	expect_log(&f, 1);
	assert_ptr_equal((void *)f.log.record[0].address, (void *)(uintptr_t)APART);
	f.free((void *)(uintptr_t)(2 * APART));
	expect_log(&f, 1);
	assert_int_equal(marks(f.host.control), 0);

	/* more than a mark can count: there may be some for ever, and each free is looked up */
	for (int turn = 0; turn < 2; turn++) {
		for (uintptr_t i = 1; i <= MANY; i++) {
			next_block = i * APART - 16;
			f.malloc(8);
		}
		for (uintptr_t i = 1; i <= MANY; i++)
			f.free((void *)(i * APART));
		shim_host_drain(&f.host, 0, count_kinds, kinds, NULL);
		assert_int_equal(kinds[RING_ALLOC], MANY * (turn + 1));
		assert_int_equal(kinds[RING_FREE], MANY * (turn + 1));
		assert_int_equal(table_population(f.host.control), 0);
		assert_int_equal(marks(f.host.control), MARKS_MOST - MARKS_MANY);
	}
	shim_host_close(&f.host);
}

/* A mark of one block tells most others of the same mark apart, and never denies its own. */
static void know_a_lone_block_by_its_print(void **state)
{
	enum { APART = MARKS_BYTES << MARKS_SHIFT, OTHERS = 6400 };
	struct ring_control *control;
	struct fixture f;

	(void)state;
	begin(&f, &(struct shim_host_options){ .table_slots = 1u << 14 });
	control = f.host.control;
	for (uint64_t one = APART; one < 100ull * APART; one += APART + 16) {
		unsigned int taken_for_it = 0;

		marks_add(control, one);
		assert_true(marks_may_have(control, one));
		for (uint64_t other = 1; other <= OTHERS; other++)
			taken_for_it += marks_may_have(control, one + other * APART);
		assert_in_range(taken_for_it, OTHERS / 64 / 2, OTHERS / 64 * 2);
		marks_remove(control, one);
		assert_false(marks_may_have(control, one));
	}
	assert_int_equal(marks(control), 0);
	shim_host_close(&f.host);
}

/* Whatever comes and goes at one mark: no block that is there is ever denied. */
static void deny_no_block_that_is_there(void **state)
{
	enum { APART = MARKS_BYTES << MARKS_SHIFT, BLOCKS = 5, STEPS = 100000 };
	bool there[BLOCKS] = { false };
	uint64_t random = 1;
	struct fixture f;

	(void)state;
	begin(&f, &(struct shim_host_options){ .table_slots = 1u << 14 });
	for (int step = 0; step < STEPS; step++) {
		uint64_t i;

		random = random * 6364136223846793005u + 1442695040888963407u;
		i = (random >> 33) % BLOCKS;
		if (there[i])
			marks_remove(f.host.control, (i + 1) * APART);
		else
			marks_add(f.host.control, (i + 1) * APART);
		there[i] = !there[i];
		for (i = 0; i < BLOCKS; i++)
			assert_true(!there[i] || marks_may_have(f.host.control, (i + 1) * APART));
	}
	for (uint64_t i = 0; i < BLOCKS; i++)
		if (there[i])
			marks_remove(f.host.control, (i + 1) * APART);
	assert_int_equal(marks(f.host.control), 0);
	shim_host_close(&f.host);
}

static void flag_what_finds_no_room_in_the_table(void **state)
{
	void *block[20];
	struct fixture f;
	unsigned int untracked = 0;

	(void)state;
	begin(&f, &(struct shim_host_options){ .table_slots = 8 });
	for (unsigned int i = 0; i < 20; i++)
		block[i] = f.malloc(8);
	expect_log(&f, 20);
	for (unsigned int i = 0; i < 20; i++)
		untracked += (f.log.record[i].flags & RING_F_UNTRACKED) != 0;
	assert_int_equal(untracked, 12);
	assert_int_equal(f.host.control->lost_table, 12);
	for (unsigned int i = 0; i < 20; i++)
		f.free(block[i]);
	expect_log(&f, 8);
	assert_int_equal(table_population(f.host.control), 0);
	assert_int_equal(marks(f.host.control), 0);
	shim_host_close(&f.host);
}

static void take_dropped_records_out_of_the_table(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .table_slots = 1u << 14 });
	for (unsigned int i = 0; i < 3000; i++)
		f.malloc(8);
	assert_true(f.host.control->ring[0].lost_alloc > 0);
	assert_int_equal(table_population(f.host.control) +
				 f.host.control->ring[0].lost_alloc, 3000);
	assert_int_equal(marks(f.host.control), table_population(f.host.control));
	shim_host_close(&f.host);
}

/* Sequential and arena-like addresses spread over the buckets. */
static void spread_addresses(void **state)
{
	struct fixture f;
	unsigned int kinds[RING_KIND_COUNT] = { 0 };

	(void)state;
	begin(&f, &(struct shim_host_options){ .table_slots = 1u << 14 });
	for (unsigned int arena = 0; arena < 16; arena++) {
		next_block = 0x7f0000000000 + ((uintptr_t)arena << 26);
		for (unsigned int i = 0; i < 400; i++) {
			next_block += 16 * (arena % 5);
			f.malloc(8);
			shim_host_drain(&f.host, 0, count_kinds, kinds, NULL);
		}
	}
	assert_int_equal(kinds[RING_ALLOC], 6400);
	assert_true(f.host.control->lost_table < 64);	/* 1 % at 39 % load */
	shim_host_close(&f.host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exponential_matches_log),
		cmocka_unit_test(stay_unbiased),
		cmocka_unit_test(redraw_when_the_interval_changes),
		cmocka_unit_test(sample_tail_jumps_once),
		cmocka_unit_test(take_over_idle_slots),
		cmocka_unit_test(leave_a_busy_slot_alone),
		cmocka_unit_test(free_of_sampled_blocks_only),
		cmocka_unit_test(reallocs_are_sampled),
		cmocka_unit_test(realloc_keeps_the_table),
		cmocka_unit_test(tell_marked_neighbours_apart),
		cmocka_unit_test(know_a_lone_block_by_its_print),
		cmocka_unit_test(deny_no_block_that_is_there),
		cmocka_unit_test(flag_what_finds_no_room_in_the_table),
		cmocka_unit_test(take_dropped_records_out_of_the_table),
		cmocka_unit_test(spread_addresses),
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	island_flags = RING_ISLAND_TLS;
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
