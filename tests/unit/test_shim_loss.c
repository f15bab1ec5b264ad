/* SPDX-License-Identifier: MIT */
/*
 * test_shim_loss.c - what finds no room: what is counted, what is lost at once, and that what was
 * recorded has its free.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/attach/ring_publish.h"
#include "src/base/sanitized.h"
#include "tests/unit/shim_user.h"

static void drop_and_count_when_full(void **state)
{
	const unsigned int calls = 2000;
	struct shim_tally tally = { 0 };
	struct shim_user f;
	struct ring_head *head;
	uint64_t frees;

	(void)state;
	user_begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 512 });
	head = &f.host.control->ring[0];
	for (unsigned int i = 0; i < calls; i++)
		free(f.hook.malloc(8));
	assert_true(user_losses(&f).lost_alloc > 0 && head->lost_stack > 0);
	assert_int_equal(user_losses(&f).lost_alloc_bytes, 8 * user_losses(&f).lost_alloc);
	/* The eighth that is kept takes frees. */
	for (frees = 0; user_losses(&f).lost_free == 0; frees++)
		f.hook.free(malloc(8));
	assert_true(frees - 1 >= 1024 / 8 - 2);
	shim_host_drain(&f.host, 0, shim_tally_add, &tally, NULL);
	assert_int_equal(tally.count, calls - user_losses(&f).lost_alloc + frees - 1);
	shim_host_close(&f.host);
}

/* Once an allocation found no room they are counted alone, until the reader says otherwise. */
static void count_alone_while_pressed(void **state)
{
	struct shim_tally tally = { 0 };
	struct shim_user f;
	struct ring_control *c;
	uint64_t lost;
	void *p, *older;

	(void)state;
	user_begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 512,
					       .table_slots = 1024 });
	c = f.host.control;
	older = f.hook.malloc(8);
	assert_int_equal(c->pressed, 0);
	while (user_losses(&f).lost_alloc == 0)
		free(f.hook.malloc(8));
	assert_int_equal(c->pressed, RING_PRESSED | RING_WAS_PRESSED);
	shim_host_drain(&f.host, 0, shim_tally_add, &tally, NULL);
	tally.count = 0;
	lost = user_losses(&f).lost_alloc;
	p = f.hook.malloc(24);
	assert_int_equal(user_losses(&f).lost_alloc, lost + 1);
	assert_int_equal(user_losses(&f).lost_alloc_bytes, 8 * lost + 24);
	f.hook.free(older);
	shim_host_drain(&f.host, 0, shim_tally_add, &tally, NULL);
	assert_int_equal(tally.count, 1);	/* the free, which is not to be lost */
	assert_ptr_equal((void *)tally.last_address, older);
	f.hook.free(p);				/* nobody would know of what */
	assert_int_equal(user_losses(&f).lost_free, 1);
	shim_host_drain(&f.host, 0, shim_tally_add, &tally, NULL);
	assert_int_equal(tally.count, 1);
	c->pressed = RING_WAS_PRESSED;
	f.hook.free(f.hook.malloc(24));
	shim_host_drain(&f.host, 0, shim_tally_add, &tally, NULL);
	assert_int_equal(tally.count, 3);
	assert_int_equal(user_losses(&f).lost_alloc, lost + 1);
	assert_int_equal(user_losses(&f).lost_free, 1);
	shim_host_close(&f.host);
}

/* A block that was lost is freed where nobody sees it: what is recorded there then has its free. */
static void know_recorded_from_lost(void **state)
{
	struct shim_tally tally = { 0 };
	struct shim_user f;
	struct ring_control *c;
	void *p, *q;

	(void)state;
	if (MEMATTACH_SANITIZED)	/* its malloc gives no address twice so soon */
		skip();
	user_begin(&f, &(struct shim_host_options){ .stack_limit = 64, .table_slots = 256 });
	c = f.host.control;
	c->pressed = RING_PRESSED | RING_WAS_PRESSED;
	p = f.hook.malloc(24);
	free(p);
	c->pressed = RING_WAS_PRESSED;
	q = f.hook.malloc(24);
	assert_ptr_equal(p, q);
	f.hook.free(q);
	shim_host_drain(&f.host, 0, shim_tally_add, &tally, NULL);
	assert_int_equal(tally.count, 2);
	/* realloc: it may fail, its free is recorded. */
	c->pressed = RING_PRESSED | RING_WAS_PRESSED;
	p = f.hook.malloc(24);
	c->pressed = RING_WAS_PRESSED;
	tally.count = 0;
	p = f.hook.realloc(p, 30000);
	shim_host_drain(&f.host, 0, shim_tally_add, &tally, NULL);
	assert_int_equal(tally.count, 2);
	f.hook.free(p);
	shim_host_drain(&f.host, 0, shim_tally_add, &tally, NULL);
	assert_int_equal(tally.count, 3);
	shim_host_close(&f.host);
}

#define SLOTS 3000u
struct slot {
	void *block;
	bool lost;
};

/* Frees what is in slot; true: that was lost, too. */
static bool slot_free(struct shim_user *f, const struct slot *slot)
{
	uint64_t before = user_losses(f).lost_free;

	f->hook.free(slot->block);
	if (!slot->lost)
		assert_int_equal(user_losses(f).lost_free, before);
	return user_losses(f).lost_free != before;
}

static void slot_fill(struct shim_user *f, struct slot *slot, size_t size)
{
	uint64_t before = user_losses(f).lost_alloc;

	slot->block = f->hook.malloc(size);
	slot->lost = user_losses(f).lost_alloc != before;
}

/*
 * Blocks come and go at random, now under pressure and now not: of what was recorded each free is,
 * too, of what was lost nearly none, or fewer where the table is so small that memory shares words.
 */
static unsigned int lose_at_random(uint64_t table_slots)
{
	static struct slot slot[SLOTS];
	unsigned int lost = 0, dropped = 0;
	struct shim_tally tally = { 0 };
	struct shim_user f;

	memset(slot, 0, sizeof(slot));
	user_begin(&f, &(struct shim_host_options){ .stack_limit = 8, .table_slots = table_slots });
	for (unsigned int i = 0; i < 100000; i++) {
		struct slot *s = &slot[(unsigned int)rand() % SLOTS];

		if (s->block) {
			lost += s->lost;
			dropped += slot_free(&f, s);
		}
		slot_fill(&f, s, (size_t)rand() % 1000);
		if (i % 40 == 0)
			f.host.control->pressed = RING_WAS_PRESSED |
						  (rand() % 2 ? RING_PRESSED : 0);
		if (i % 100 == 0)
			shim_host_drain(&f.host, 0, shim_tally_add, &tally, NULL);
	}
	for (unsigned int i = 0; i < SLOTS; i++)
		free(slot[i].block);
	assert_true(lost > 10000);
	assert_int_equal(user_losses(&f).lost_free, dropped);
	shim_host_close(&f.host);
	return dropped * 100 / lost;
}

static void lose_pairs(void **state)
{
	(void)state;
	if (MEMATTACH_SANITIZED)	/* and its blocks lie far apart */
		skip();
	/* all, unless the heap lies on both sides of a multiple of 64 MiB */
	assert_in_range(lose_at_random(1u << 17), 60, 100);
	assert_in_range(lose_at_random(256), 1, 59);
	assert_int_equal(lose_at_random(64), 0);	/* too small */
}

static bool pair_is_lost(struct shim_user *f, size_t size)
{
	struct slot slot;

	slot_fill(f, &slot, size);
	assert_true(slot.lost);
	return slot_free(f, &slot);
}

/* What was lost and freed keeps its word of the table, but not for ever. */
static void give_way(void **state)
{
	enum { BLOCKS = 400, SIZE = 1000, BEATS = 2000 };
	struct slot slot[BLOCKS];
	struct shim_user f;
	unsigned int i, gone;

	(void)state;
	if (MEMATTACH_SANITIZED)
		skip();
	user_begin(&f, &(struct shim_host_options){ .stack_limit = 8, .table_slots = 256 });
	f.host.control->pressed = RING_PRESSED | RING_WAS_PRESSED;
	for (i = 0; i < BLOCKS; i++)
		slot_fill(&f, &slot[i], SIZE);
	/* Memory of 400 kB, words for 64: one block there that finds its word in use. */
	for (gone = 0; gone < BLOCKS; gone++) {
		if (!slot_free(&f, &slot[gone]) && !pair_is_lost(&f, SIZE))
			break;
		slot_fill(&f, &slot[gone], SIZE);
	}
	assert_in_range(gone, 0, BLOCKS - 1);
	for (i = 0; i < BEATS && !pair_is_lost(&f, SIZE); i++)
		f.host.control->beat++;
	assert_in_range(i, 1, BEATS - 1);
	assert_true(pair_is_lost(&f, SIZE));
	for (i = 0; i < BLOCKS; i++)
		free(i == gone ? NULL : slot[i].block);
	shim_host_close(&f.host);
}

/* After the deadline nothing is lost: nothing is recorded. It is noticed under pressure, too. */
static void lapse_with_table(uint64_t table_slots)
{
	void *block[4000];
	struct shim_user f;
	uint64_t lost;

	user_begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 512,
					       .table_slots = table_slots });
	f.host.control->pressed = RING_PRESSED | RING_WAS_PRESSED;
	f.host.control->deadline = 1;
	for (unsigned int i = 0; i < 2000; i++)
		block[i] = f.hook.malloc(8);
	lost = user_losses(&f).lost_alloc;
	assert_int_equal(f.host.control->lapsed, 1);
	assert_true(lost < 2000);
	for (unsigned int i = 2000; i < 4000; i++)
		block[i] = f.hook.malloc(8);
	assert_int_equal(user_losses(&f).lost_alloc, lost);
	for (unsigned int i = 0; i < 4000; i++)
		free(block[i]);
	shim_host_close(&f.host);
}

static void lapse_while_pressed(void **state)
{
	(void)state;
	lapse_with_table(0);
	lapse_with_table(1u << 14);
}

/* One block that is lost where one was lost before: the shortest way of both hooks. */
static void lose_one(struct shim_user *f, size_t size)
{
	f->hook.free(f->hook.malloc(size));
}

/* lose_one, and how many of its two calls were counted as lost. */
static uint64_t lost_of_one(struct shim_user *f)
{
	struct ring_head before = user_losses(f), after;

	lose_one(f, 24);
	after = user_losses(f);
	assert_int_equal(after.lost_alloc_bytes - before.lost_alloc_bytes,
			 24 * (after.lost_alloc - before.lost_alloc));
	return after.lost_alloc - before.lost_alloc + after.lost_free - before.lost_free;
}

/* The short way is for what is lost and nothing else; and what it leaves to C is right there. */
static void lose_shortly(void **state)
{
	const struct ring_range everything = { 0x1000, UINT64_MAX };
	struct shim_tally tally = { 0 };
	struct ring_control *c;
	struct ring_lane *lane;
	struct shim_user f;

	(void)state;
	if (MEMATTACH_SANITIZED)
		skip();
	user_begin(&f, &(struct shim_host_options){ .stack_limit = 8, .table_slots = 1u << 14 });
	c = f.host.control;
	c->pressed = RING_PRESSED | RING_WAS_PRESSED;
	lose_one(&f, 24);
	for (unsigned int i = 0; i < 3000; i++)
		assert_int_equal(lost_of_one(&f), 2);
	assert_int_equal(f.host.control->ring[0].head, 0);
	/* A call of the allocator's own. */
	assert_int_equal(ring_publish_helpers(c, &everything, 1), 0);
	assert_int_equal(lost_of_one(&f), 0);
	ring_publish_callers(c);
	assert_int_equal(lost_of_one(&f), 2);
	/* Nothing is recorded now. */
	c->mode = RING_MODE_OFF;
	assert_int_equal(lost_of_one(&f), 0);
	c->mode = RING_MODE_ALL;
	c->lapsed = c->epoch;
	assert_int_equal(lost_of_one(&f), 0);
	c->lapsed = 0;
	/* The lanes belong to others: the ring's own counters. */
	for (lane = c->lane; lane < c->lane + RING_LANES; lane++)
		lane->owner++;
	assert_int_equal(lost_of_one(&f), 2);
	assert_int_equal(c->ring[0].lost_free, 1);
	for (lane = c->lane; lane < c->lane + RING_LANES; lane++)
		lane->owner--;
	assert_int_equal(lost_of_one(&f), 2);
	assert_int_equal(c->ring[0].head, 0);
	/* Every call is wanted, or there is room again: both are recorded. */
	c->pressed = RING_WAS_PRESSED;
	assert_int_equal(lost_of_one(&f), 0);
	shim_host_drain(&f.host, 0, shim_tally_add, &tally, NULL);
	assert_int_equal(tally.count, 2);
	shim_host_close(&f.host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drop_and_count_when_full),
		cmocka_unit_test(count_alone_while_pressed),
		cmocka_unit_test(know_recorded_from_lost),
		cmocka_unit_test(lose_pairs),
		cmocka_unit_test(give_way),
		cmocka_unit_test(lapse_while_pressed),
		cmocka_unit_test(lose_shortly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
