/* SPDX-License-Identifier: MIT */
/* test_hashmap.c - random operations against a naive model, and the edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/base/hashmap.h"

#define MODEL_KEYS 512

struct model {
	bool has[MODEL_KEYS];
	uint64_t value[MODEL_KEYS];
	size_t count, seen;
	uint64_t stride;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void check_pair(void *context, uint64_t key, uint64_t value)
{
	struct model *model = context;
	uint64_t i = key / model->stride;

	assert_int_equal(key % model->stride, 0);
	assert_true(i < MODEL_KEYS && model->has[i]);
	assert_int_equal(model->value[i], value);
	model->seen++;
}

static void check_all(const struct hashmap *map, struct model *model)
{
	assert_int_equal(hashmap_count(map), model->count);
	model->seen = 0;
	hashmap_each(map, check_pair, model);
	assert_int_equal(model->seen, model->count);
	for (uint64_t i = 0; i < MODEL_KEYS; i++) {
		uint64_t value = 0;

		assert_int_equal(hashmap_get(map, i * model->stride, &value), model->has[i]);
		if (model->has[i])
			assert_int_equal(value, model->value[i]);
	}
}

/* In its place. */
static void replace(struct hashmap *map, struct model *model, uint64_t i, uint64_t value)
{
	uint64_t *place = hashmap_value(map, i * model->stride);

	assert_int_equal(place != NULL, model->has[i]);
	if (!place)
		return;
	assert_int_equal(*place, model->value[i]);
	*place = model->value[i] = value;
}

static void step(struct hashmap *map, struct model *model, uint64_t *state)
{
	uint64_t i = next_random(state) % MODEL_KEYS, value = next_random(state), old = 0;

	replace(map, model, i, ~value);
	if (next_random(state) % 2) {
		assert_int_equal(hashmap_put(map, i * model->stride, value), 0);
		model->count += !model->has[i];
		model->has[i] = true;
		model->value[i] = value;
		return;
	}
	assert_int_equal(hashmap_remove(map, i * model->stride, &old), model->has[i]);
	if (model->has[i])
		assert_int_equal(old, model->value[i]);
	model->count -= model->has[i];
	model->has[i] = false;
}

static void run_model(uint64_t stride, uint8_t near)
{
	struct hashmap map = { .near = near };
	struct model model = { .stride = stride };
	uint64_t state = 88172645463325252u + stride;

	for (int i = 0; i < 40000; i++) {
		step(&map, &model, &state);
		if (i % 500 == 0)
			check_all(&map, &model);
	}
	check_all(&map, &model);
	hashmap_done(&map);
}

static void model_random_operations(void **state)
{
	(void)state;
	for (uint8_t near = 0; near <= 5; near += 5) {
		run_model(1, near);
		run_model(16, near);
		run_model(4096, near);
		run_model(1ull << 32, near);
	}
}

static void get_empty_map(void **state)
{
	struct hashmap map = { 0 };
	uint64_t value = 7;

	(void)state;
	assert_false(hashmap_get(&map, 0, &value));
	assert_false(hashmap_get(&map, 5, &value));
	assert_false(hashmap_remove(&map, 0, NULL));
	assert_false(hashmap_remove(&map, 5, NULL));
	assert_int_equal(value, 7);
	assert_int_equal(hashmap_count(&map), 0);
	hashmap_done(&map);
}

static void put_key_zero(void **state)
{
	struct hashmap map = { 0 };
	uint64_t value;

	(void)state;
	assert_int_equal(hashmap_put(&map, 0, 3), 0);
	assert_int_equal(hashmap_put(&map, 0, 4), 0);
	assert_int_equal(hashmap_count(&map), 1);
	assert_true(hashmap_get(&map, 0, &value));
	assert_int_equal(value, 4);
	assert_true(hashmap_remove(&map, 0, NULL));
	assert_false(hashmap_get(&map, 0, &value));
	hashmap_done(&map);
}

/* Heap addresses (16 apart) must spread: at most 0.7 full, and no long cluster. */
static void put_stays_below_load(void **state)
{
	struct hashmap map = { 0 };
	uint64_t value;

	(void)state;
	for (uint64_t i = 1; i <= 100000; i++) {
		assert_int_equal(hashmap_put(&map, 0x555500000000 + i * 16, i), 0);
		assert_true(map.count * 10 <= map.capacity * 7);
		assert_int_equal(map.capacity & (map.capacity - 1), 0);
	}
	for (uint64_t i = 1; i <= 100000; i++) {
		assert_true(hashmap_get(&map, 0x555500000000 + i * 16, &value));
		assert_int_equal(value, i);
	}
	hashmap_done(&map);
	assert_int_equal(map.capacity, 0);
}

/* Low bits pick the slot: over 4096 buckets, 4096 neighbours may not pile up on a few. */
static void hash_spreads_addresses(void **state)
{
	unsigned char hits[4096] = { 0 };
	unsigned int worst = 0;

	(void)state;
	for (uint64_t i = 0; i < 4096; i++) {
		unsigned char *slot = &hits[hashmap_hash(0x7f0000000000 + i * 4096) & 4095];

		(*slot)++;
		worst = *slot > worst ? *slot : worst;
	}
	assert_true(worst < 12);
}

/* A guess that is made is right, and most are made: of those, too, that lie behind others. */
static void glance_finds_most(void **state)
{
	enum { KEYS = 90000, STRIDE = 48, NEAR = 4 };	/* 69 % full */
	struct hashmap map = { .near = NEAR };
	uint64_t value, seen = 0;

	(void)state;
	for (uint64_t i = 1; i <= KEYS; i++)
		assert_int_equal(hashmap_put(&map, i * STRIDE, i), 0);
	for (uint64_t i = 1; i <= KEYS; i++) {
		assert_false(hashmap_glance(&map, i * STRIDE + 16, &value));
		if (!hashmap_glance(&map, i * STRIDE, &value))
			continue;
		assert_int_equal(value, i);
		seen++;
	}
	print_message("%llu of %u at a glance\n", (unsigned long long)seen, KEYS);
	assert_true(seen > KEYS * 85 / 100);	/* by the first slot alone: 78 % */
	hashmap_done(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(model_random_operations),
		cmocka_unit_test(get_empty_map),
		cmocka_unit_test(glance_finds_most),
		cmocka_unit_test(put_key_zero),
		cmocka_unit_test(put_stays_below_load),
		cmocka_unit_test(hash_spreads_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
