/* SPDX-License-Identifier: MIT */
/*
 * hashmap.c - u64 -> u64 by linear probing.
 *
 * Power-of-two capacity, at most 7/10 full, removal by backward shift, so that
 * a probe ends at the first empty slot and nothing decays under churn. A slot
 * with key 0 is empty; the pair of key 0 itself lives beside the table. The
 * table never shrinks: its users (live blocks) come back to their peak.
 * Robin Hood and SwissTable layouts were rejected: at this load a lookup of a
 * heap address touches 1.3 cache lines on average already.
 * The hash is not keyed: a target that forges colliding addresses slows its
 * own analysis, nothing else.
 */
#include "src/base/hashmap.h"

#include <errno.h>
#include <string.h>

#include "src/base/huge_pages.h"

#define HASHMAP_FIRST_CAPACITY 64
#define GOLDEN	0x9e3779b97f4a7c15u	/* 2^64 / golden ratio */
#define LINE_SHIFT	2	/* slots of a cache line */
#define LINE_SLOTS	(1u << LINE_SHIFT)
#define LINE_BYTES	((uintptr_t)LINE_SLOTS * sizeof(struct hashmap_slot))

struct hashmap_slot {
	uint64_t key; /* 0: empty */
	uint64_t value;
};

uint64_t hashmap_hash(uint64_t key)
{
	/* Heap addresses differ in few middle bits: multiply up, fold the top down. */
	key ^= key >> 32;
	key *= GOLDEN;
	key ^= key >> 29;
	key *= 0xbf58476d1ce4e5b9u;
	return key ^ (key >> 32);
}

void hashmap_done(struct hashmap *map)
{
	free(map->memory);
	*map = (struct hashmap){ 0 };
}

void hashmap_clear(struct hashmap *map)
{
	if (map->slot)
		memset(map->slot, 0, map->capacity * sizeof(*map->slot));
	map->count = 0;
	map->has_zero = false;
}

size_t hashmap_bytes(const struct hashmap *map)
{
	return map->capacity * sizeof(*map->slot);
}

/* Where the search for key begins. pre: capacity > 0 */
static inline size_t hashmap_home(const struct hashmap *map, uint64_t key)
{
	if (map->near == 0)
		return hashmap_hash(key) & (map->capacity - 1);
	/* Fibonacci hashing: neighbours and strides spread evenly, by the product's top bits. */
	return (key >> (map->near + LINE_SHIFT)) * GOLDEN >> map->line_shift << LINE_SHIFT |
	       (key >> map->near & (LINE_SLOTS - 1));
}

/* The slot that holds key, or the empty one where it belongs. pre: capacity > 0, key != 0 */
static size_t hashmap_probe(const struct hashmap *map, uint64_t key)
{
	size_t mask = map->capacity - 1, i = hashmap_home(map, key);

	while (map->slot[i].key != 0 && map->slot[i].key != key)
		i = (i + 1) & mask;
	return i;
}

bool hashmap_get(const struct hashmap *map, uint64_t key, uint64_t *ret_value)
{
	size_t i;

	if (key == 0) {
		if (map->has_zero)
			*ret_value = map->zero_value;
		return map->has_zero;
	}
	if (map->capacity == 0)
		return false;
	i = hashmap_probe(map, key);
	if (map->slot[i].key == 0)
		return false;
	*ret_value = map->slot[i].value;
	return true;
}

uint64_t *hashmap_value(struct hashmap *map, uint64_t key)
{
	size_t i;

	if (key == 0)
		return map->has_zero ? &map->zero_value : NULL;
	if (map->capacity == 0)
		return NULL;
	i = hashmap_probe(map, key);
	return map->slot[i].key == 0 ? NULL : &map->slot[i].value;
}

void hashmap_foresee(const struct hashmap *map, uint64_t key)
{
	if (map->capacity > 0)
		__builtin_prefetch(&map->slot[hashmap_home(map, key)], 1);
}

bool hashmap_glance(const struct hashmap *map, uint64_t key, uint64_t *ret_value)
{
	size_t i;

	if (map->capacity == 0 || key == 0)
		return false;
	i = hashmap_home(map, key);
	do {
		const struct hashmap_slot *slot = &map->slot[i];

		*ret_value = slot->value;
		if (slot->key == key || slot->key == 0)
			return slot->key == key;
		i = (i + 1) & (map->capacity - 1);
	} while (i % LINE_SLOTS != 0);
	__builtin_prefetch(&map->slot[i], 1);
	return false;
}

static int hashmap_grow(struct hashmap *map)
{
	struct hashmap bigger = *map;

	bigger.capacity = map->capacity ? map->capacity * 2 : HASHMAP_FIRST_CAPACITY;
	bigger.line_shift = (uint8_t)(__builtin_clzll(bigger.capacity) + 1 + LINE_SHIFT);
	bigger.memory = calloc(bigger.capacity + LINE_SLOTS, sizeof(*bigger.slot));
	if (!bigger.memory)
		return -ENOMEM;
	bigger.slot = (void *)(((uintptr_t)bigger.memory + LINE_BYTES - 1) & -LINE_BYTES);
	huge_pages_ask(bigger.slot, bigger.capacity * sizeof(*bigger.slot));
	for (size_t i = 0; i < map->capacity; i++) {
		if (map->slot[i].key != 0)
			bigger.slot[hashmap_probe(&bigger, map->slot[i].key)] = map->slot[i];
	}
	free(map->memory);
	*map = bigger;
	return 0;
}

static void hashmap_put_zero(struct hashmap *map, uint64_t value)
{
	map->count += !map->has_zero;
	map->has_zero = true;
	map->zero_value = value;
}

static bool hashmap_is_full(const struct hashmap *map)
{
	return (map->count + 1) * 10 > map->capacity * 7;
}

int hashmap_put(struct hashmap *map, uint64_t key, uint64_t value)
{
	size_t i;

	if (key == 0) {
		hashmap_put_zero(map, value);
		return 0;
	}
	if (map->capacity == 0 && hashmap_grow(map) < 0)
		return -ENOMEM;
	i = hashmap_probe(map, key);
	if (map->slot[i].key == key) {
		map->slot[i].value = value;
		return 0;
	}
	if (hashmap_is_full(map)) {
		if (hashmap_grow(map) < 0)
			return -ENOMEM;
		i = hashmap_probe(map, key);
	}
	map->slot[i] = (struct hashmap_slot){ key, value };
	map->count++;
	return 0;
}

/* Moves later members of the cluster back over hole, as long as that keeps them reachable. */
static void hashmap_close_hole(struct hashmap *map, size_t hole)
{
	size_t mask = map->capacity - 1;

	for (size_t i = (hole + 1) & mask; map->slot[i].key != 0; i = (i + 1) & mask) {
		size_t home = hashmap_home(map, map->slot[i].key);

		/* Its home lies cyclically in (hole, i]: moving it would put it before its home. */
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		map->slot[hole] = map->slot[i];
		hole = i;
	}
	map->slot[hole].key = 0;
}

static bool hashmap_remove_zero(struct hashmap *map, uint64_t *ret_value)
{
	if (!map->has_zero)
		return false;
	if (ret_value)
		*ret_value = map->zero_value;
	map->has_zero = false;
	map->count--;
	return true;
}

bool hashmap_remove(struct hashmap *map, uint64_t key, uint64_t *ret_value)
{
	size_t i;

	if (key == 0)
		return hashmap_remove_zero(map, ret_value);
	if (map->capacity == 0)
		return false;
	i = hashmap_probe(map, key);
	if (map->slot[i].key == 0)
		return false;
	if (ret_value)
		*ret_value = map->slot[i].value;
	hashmap_close_hole(map, i);
	map->count--;
	return true;
}

void hashmap_each(const struct hashmap *map,
		  void (*each)(void *context, uint64_t key, uint64_t value), void *context)
{
	if (map->has_zero)
		each(context, 0, map->zero_value);
	for (size_t i = 0; i < map->capacity; i++) {
		if (map->slot[i].key != 0)
			each(context, map->slot[i].key, map->slot[i].value);
	}
}
