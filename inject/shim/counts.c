/* SPDX-License-Identifier: MIT */
/*
 * counts.c - counters instead of records.
 *
 * Each thread adds to a block of its own, found by its thread pointer: no lock, no cache line
 * that two threads write to, so that the cost of a call does not grow with threads. An addition
 * is one instruction: a signal handler in between, which allocates, takes nothing away from it. A
 * block is never given to another thread pointer: it can't be known whether the thread is
 * still in here. Who finds none free, and what a block's tables have no room for, adds to
 * counters that all share, with locked instructions; what finds no room there is counted as
 * that. So every call is counted in each of the sums, whatever happens.
 *
 * Neither time nor deadline is asked for: counting harms nobody when no one reads.
 *
 * Rejected: a block per CPU (a thread that moves between reading its CPU and adding loses
 * counts, unless every addition is locked); giving back the blocks of threads that seem to be
 * idle (a thread that was stopped for so long would share its block for an instant).
 */
#include "inject/shim/counts.h"

#include "inject/shim/paths.h"

#define OWNER_PROBES	8u
#define SIZE_PROBES	8u
#define PATH_PROBES	8u
#define SHARED_PROBES	32u
#define CHUNK_FLAGS	7u	/* of the word before a block of glibc's */
#define CHUNK_MMAPPED	2u
#define CHUNK_ALIGN	16u

typedef uint64_t usable_fn(uint64_t address);

/* Where one call is counted. */
struct target {
	struct ring_control *control;
	const struct counts_head *head;
	struct counts_block *block;	/* NULL: shared alone */
	struct counts_shared *shared;
};

static struct counts_head *head_of(const struct ring_control *control)
{
	return (struct counts_head *)((uint8_t *)(uintptr_t)control + control->counts_offset);
}

/* ---- blocks of threads ---- */

static bool owns(uint64_t *owner, uint64_t thread)
{
	uint64_t found = shim_load(owner);

	if (found == thread)
		return true;
	/* Owners never go: the first free place ends the search. */
	return found == 0 && (shim_exchange_if(owner, 0, thread) || shim_load(owner) == thread);
}

static struct target target_of(struct ring_control *control, uint64_t thread)
{
	struct counts_head *head = head_of(control);
	uint64_t *owner = (uint64_t *)(head + 1);
	uint8_t *block = (uint8_t *)(owner + control->counts_slots);
	uint64_t at = shim_hash(thread), mask = control->counts_slots - 1;
	struct target target = {
		.control = control, .head = head,
		.shared = (struct counts_shared *)(block + control->counts_slots *
							   control->counts_block),
	};

	for (uint32_t i = 0; i < OWNER_PROBES && thread != 0; i++) {
		uint64_t place = (at + i) & mask;

		if (!owns(&owner[place], thread))
			continue;
		target.block = (struct counts_block *)(block + place * control->counts_block);
		break;
	}
	return target;
}

/* ---- usable sizes ---- */

/*
 * The chunk's size less what malloc keeps: what malloc_usable_size says. An address that can't
 * be a block is left to free.
 */
static uint64_t chunk_usable(uint64_t address)
{
	uint64_t size;

	if (address % CHUNK_ALIGN != 0)
		return SHIM_COUNT_UNSIZED;
	size = *(const uint64_t *)(address - 8);
	return (size & ~(uint64_t)CHUNK_FLAGS) - (size & CHUNK_MMAPPED ? 16 : 8);
}

uint64_t shim_count_usable(const struct ring_control *control, const struct shim_call *call,
			   uint64_t address)
{
	uint32_t family = control->entry[call->entry].family;
	const struct counts_usable *usable = &head_of(control)->usable[family % COUNTS_FAMILIES];

	if (usable->kind == COUNTS_USABLE_CHUNK)
		return chunk_usable(address);
	if (usable->kind == COUNTS_USABLE_CALL)
		return ((usable_fn *)usable->function)(address);
	return SHIM_COUNT_UNSIZED;
}

/* ---- adding ---- */

static void totals_alloc(const struct target *target, uint64_t size, uint64_t usable)
{
	bool known = usable != SHIM_COUNT_UNSIZED;
	struct counts_totals *totals;
	uint32_t cpu;

	if (target->block) {
		totals = &target->block->totals;
		arch_add(&totals->alloc_count, 1);
		arch_add(&totals->alloc_bytes, size);
		arch_add(known ? &totals->alloc_usable : &totals->alloc_unsized,
			 known ? usable : 1);
		return;
	}
	(void)arch_clock(target->control, &cpu);
	totals = &target->shared->totals[cpu % COUNTS_LINES];
	shim_add(&totals->alloc_count, 1);
	shim_add(&totals->alloc_bytes, size);
	shim_add(known ? &totals->alloc_usable : &totals->alloc_unsized, known ? usable : 1);
}

static void totals_free(const struct target *target, uint64_t usable)
{
	bool known = usable != SHIM_COUNT_UNSIZED;
	struct counts_totals *totals;
	uint32_t cpu;

	if (target->block) {
		totals = &target->block->totals;
		arch_add(&totals->free_count, 1);
		arch_add(known ? &totals->free_usable : &totals->free_unsized, known ? usable : 1);
		return;
	}
	(void)arch_clock(target->control, &cpu);
	totals = &target->shared->totals[cpu % COUNTS_LINES];
	shim_add(&totals->free_count, 1);
	shim_add(known ? &totals->free_usable : &totals->free_unsized, known ? usable : 1);
}

/* Before the first entry of a page: a reader looks only at pages whose bit is set. */
static void map_set(uint64_t *map, uint64_t place, uint64_t bytes)
{
	uint64_t page = place * bytes / COUNTS_PAGE, bit = 1ull << (page % 64);

	if (!(shim_load(&map[page / 64]) & bit))
		(void)__atomic_fetch_or(&map[page / 64], bit, __ATOMIC_SEQ_CST);
}

/* A table of sizes, or of paths: first word of each entry is its key. */
struct table {
	uint8_t *entry;
	uint64_t *map;
	uint64_t places;	/* a power of two */
	uint32_t bytes, probes;
};

/* The entry of key, made if there is none; NULL: no room near its place. */
static void *table_find(const struct table *table, uint64_t key)
{
	uint64_t at = (key * SHIM_GOLDEN) >> SHIM_HASH_SHIFT;

	for (uint32_t i = 0; i < table->probes; i++) {
		uint64_t place = (at + i) & (table->places - 1);
		uint64_t *entry = (uint64_t *)(table->entry + place * table->bytes);
		uint64_t found = shim_load(entry);

		if (found == key)
			return entry;
		if (found != 0)
			continue;
		map_set(table->map, place, table->bytes);
		if (shim_exchange_if(entry, 0, key) || shim_load(entry) == key)
			return entry;
	}
	return NULL;
}

static bool block_size(struct counts_block *block, uint64_t size)
{
	const struct table table = {
		.entry = (uint8_t *)block->size, .map = block->size_map,
		.places = COUNTS_SIZES, .bytes = sizeof(struct counts_size),
		.probes = SIZE_PROBES,
	};
	struct counts_size *entry;

	if (size < COUNTS_SMALL) {
		arch_add(&block->small[size], 1);
		return true;
	}
	entry = table_find(&table, size + 1);
	if (entry)
		arch_add(&entry->count, 1);
	return entry != NULL;
}

static void shared_size(struct counts_shared *shared, uint64_t size)
{
	const struct table table = {
		.entry = (uint8_t *)shared->size, .map = shared->size_map,
		.places = COUNTS_SHARED_SIZES, .bytes = sizeof(struct counts_size),
		.probes = SHARED_PROBES,
	};
	struct counts_size *entry;

	if (size < COUNTS_SMALL) {
		shim_add(&shared->small[size], 1);
		return;
	}
	entry = table_find(&table, size + 1);
	if (entry) {
		shim_add(&entry->count, 1);
		return;
	}
	shim_add(&shared->sizes_left.count, 1);
	shim_add(&shared->sizes_left.bytes, size);
}

static void count_size(const struct target *target, uint64_t size)
{
	if (!target->block || !block_size(target->block, size))
		shared_size(target->shared, size);
}

/*
 * The detail stands there before the first count: a reader that sees a count knows of what. A
 * handler on top of the entry's maker may be the first to count.
 */
static void path_describe(struct counts_path *entry, uint64_t detail)
{
	if (shim_load(&entry->detail) == 0)
		shim_store_release(&entry->detail, detail);
}

static bool block_path(struct counts_block *block, uint64_t key, uint64_t detail, uint64_t size)
{
	const struct table table = {
		.entry = (uint8_t *)block->path, .map = block->path_map,
		.places = COUNTS_PATHS, .bytes = sizeof(struct counts_path),
		.probes = PATH_PROBES,
	};
	struct counts_path *entry = table_find(&table, key);

	if (!entry)
		return false;
	path_describe(entry, detail);
	arch_add(&entry->bytes, size);
	arch_add(&entry->count, 1);
	return true;
}

static void shared_path(struct counts_shared *shared, uint64_t key, uint64_t detail, uint64_t size)
{
	const struct table table = {
		.entry = (uint8_t *)shared->path, .map = shared->path_map,
		.places = COUNTS_SHARED_PATHS, .bytes = sizeof(struct counts_path),
		.probes = SHARED_PROBES,
	};
	struct counts_path *entry = table_find(&table, key);

	if (entry) {
		path_describe(entry, detail);
		shim_add(&entry->bytes, size);
		shim_add(&entry->count, 1);
		return;
	}
	shim_add(&shared->paths_left.count, 1);
	shim_add(&shared->paths_left.bytes, size);
}

/* By its path if that has a name, else by the return address alone. */
static void count_path(const struct target *target, const struct shim_call *call, uint64_t path,
		       bool known, uint64_t size)
{
	uint64_t detail = counts_detail(size, !known);
	uint64_t key = counts_path_key(known ? path : call->caller, detail);

	if (!target->block || !block_path(target->block, key, detail, size))
		shared_path(target->shared, key, detail, size);
}

/* ---- the hooks ---- */

/* True if the stack of call has a name, which the reader is told first. */
static bool find_path(struct ring_control *control, const struct shim_call *call,
		      uint64_t *ret_path)
{
	enum shim_path known;

	if (!shim_load(&control->recognise))
		return false;
	known = shim_path_find(control, call, ret_path);
	if (known == SHIM_PATH_AND_COPY)
		shim_record_audit(control, call, *ret_path);
	return known != SHIM_PATH_NONE;
}

/* Asked for the control block once more: a handler may have forked while the size was found. */
void shim_count_alloc(struct ring_control *control, const struct shim_call *call, uint64_t size,
		      uint64_t address)
{
	uint64_t usable = shim_count_usable(control, call, address), path = 0;
	uint64_t kind = head_of(control)->kind;
	bool known = false, copied = false;
	struct target target;

	if (kind == COUNTS_SITES)
		known = find_path(control, call, &path);
	if (kind == COUNTS_SITES && !known && shim_control() == control &&
	    shim_load(&control->copy_unknown))
		copied = shim_record_unknown(control, call, size);
	if (shim_control() != control)
		return;
	target = target_of(control, call->thread);
	totals_alloc(&target, size, usable);
	if (kind >= COUNTS_HISTOGRAM)
		count_size(&target, size);
	if (kind >= COUNTS_SITES && !copied)
		count_path(&target, call, path, known, size);
}

void shim_count_freed(struct ring_control *control, const struct shim_call *call, uint64_t usable)
{
	struct target target;

	if (shim_control() != control)
		return;
	target = target_of(control, call->thread);
	totals_free(&target, usable);
}

void shim_count_free(struct ring_control *control, const struct shim_call *call, uint64_t address)
{
	shim_count_freed(control, call, shim_count_usable(control, call, address));
}
