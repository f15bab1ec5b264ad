/* SPDX-License-Identifier: MIT */
/*
 * hashmap.h - u64 -> u64, open addressing, for the hot tables (live blocks,
 * unwind memo). Cold code uses uthash. Key 0 is allowed.
 */
#ifndef MEMATTACH_HASHMAP_H
#define MEMATTACH_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

struct hashmap {
	struct hashmap_slot *slot;	/* at a cache line, in memory */
	void *memory;
	size_t capacity, count;		/* capacity: 0 or a power of two */
	uint64_t zero_value;		/* of key 0 */
	bool has_zero;
	uint8_t near;			/* set while it is empty: see below */
	uint8_t line_shift;		/* 64 - log2 of the lines */
};

/*
 * A zeroed struct hashmap is an empty map. near > 0: keys in the same aligned 4 * 2^near are looked
 * for in one cache line (four slots), one after another those that differ by 2^near, as
 * neighbours among the keys are asked for one after another. 0: each goes to a place of its own.
 */
void hashmap_done(struct hashmap *map);
/* True and *ret_value set when key is there. */
bool hashmap_get(const struct hashmap *map, uint64_t key, uint64_t *ret_value);
/* Where it stands, to be read and replaced; NULL: it is not there. Until the map changes. */
uint64_t *hashmap_value(struct hashmap *map, uint64_t key);
/* Inserts or replaces. 0 or -ENOMEM (then the map is unchanged). */
int hashmap_put(struct hashmap *map, uint64_t key, uint64_t value) _must_check_;
/* Removes (backward shift, no tombstones); true and *ret_value (if not NULL) when it was there. */
bool hashmap_remove(struct hashmap *map, uint64_t key, uint64_t *ret_value);
/* Calls each() for every pair in no particular order. The map must not change meanwhile. */
void hashmap_each(const struct hashmap *map,
		  void (*each)(void *context, uint64_t key, uint64_t value), void *context);
/* key will be asked for soon. */
void hashmap_foresee(const struct hashmap *map, uint64_t key);
/* As hashmap_get, but looks only into the line where key most likely is, and fetches the next. */
bool hashmap_glance(const struct hashmap *map, uint64_t key, uint64_t *ret_value);
/* Removes all pairs, and keeps the room that they took: as many new ones can't fail. */
void hashmap_clear(struct hashmap *map);
/* Memory that it takes. */
size_t hashmap_bytes(const struct hashmap *map);
static inline size_t hashmap_count(const struct hashmap *map) { return map->count; }
uint64_t hashmap_hash(uint64_t key);

#endif
