/* SPDX-License-Identifier: MIT */
/*
 * fuzz_counts.c - a target that writes whatever it likes between its counters, before they are
 * found and between readings. Readings must end, and rows be no more than there are places.
 *
 * Input: a byte (kind), then commands: 'r' read, 'e' an entry of a table with its page's bit,
 * anything else pokes 8 bytes somewhere.
 */
#include <stdlib.h>
#include <string.h>

#include "inject/attach/counts_setup.h"
#include "src/counts/counts_sum.h"

#define SLOTS	8u
#define WRITTEN	65536u	/* words that an input may write */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static uint64_t take(struct input *input, size_t bytes)
{
	uint64_t value = 0;

	bytes = bytes < input->size ? bytes : input->size;
	memcpy(&value, input->data, bytes);
	input->data += bytes;
	input->size -= bytes;
	return value;
}

/*
 * The memory of a kind stays from one input to the next, since it is megabytes: the words that an
 * input has written become 0 again when it ends.
 */
struct area {
	uint8_t *memory;
	size_t bytes;
	uint64_t *written[WRITTEN];
	size_t count;
};

static void put(struct area *area, uint64_t *word, uint64_t value)
{
	if (area->count == WRITTEN)
		return;
	area->written[area->count++] = word;
	*word = value;
}

static void area_begin(struct area *area, uint32_t kind)
{
	struct ring_control *control;

	area->bytes = RING_CONTROL_BYTES + counts_setup_bytes(kind, SLOTS);
	if (!area->memory) {
		area->memory = aligned_alloc(RING_LINE, area->bytes);
		if (!area->memory)
			abort();
		memset(area->memory, 0, area->bytes);
	}
	control = (void *)area->memory;
	put(area, &control->counts_offset, RING_CONTROL_BYTES);
	put(area, &control->counts_slots, SLOTS);
	put(area, &control->counts_block, counts_block_bytes(kind));
}

static void area_end(struct area *area)
{
	while (area->count)
		*area->written[--area->count] = 0;
}

static void poke(struct input *input, struct area *area)
{
	size_t at = take(input, 3) % (area->bytes / 8);

	put(area, (uint64_t *)(void *)area->memory + at, take(input, 8));
}

static void put_entry(struct input *input, struct area *area, struct counts_block *block)
{
	uint64_t place = take(input, 2) % COUNTS_PATHS;
	struct counts_path *path = &block->path[place];

	put(area, block->path_map, block->path_map[0] |
				   1ull << (place * sizeof(*path) / COUNTS_PAGE));
	put(area, &path->key, take(input, 8));
	put(area, &path->detail, take(input, 2));
	put(area, &path->count, take(input, 1));
}

static void look(void *context, uint64_t size, uint64_t count)
{
	uint64_t *sum = context;

	*sum += size ^ count;
}

static void read_all(struct counts *counts)
{
	const uint64_t most = 1000;
	const struct counts_totals *totals;
	uint64_t sum = 0;

	if (!counts || counts_read(counts, most))
		return;
	totals = &counts_sums(counts)->totals;
	if (totals->alloc_count > most || totals->free_count > most ||
	    totals->alloc_bytes > 1ull << 53)
		abort();
	if (counts_sizes(counts, look, &sum) != counts_sizes(counts, NULL, NULL))
		abort();
	if (counts_rows(counts) > SLOTS * COUNTS_PATHS + COUNTS_SHARED_PATHS)
		abort();
	for (size_t i = 0; i < counts_rows(counts); i++)
		if (counts_row(counts, i)->step >= COUNTS_STEPS ||
		    counts_row(counts, i)->count > most)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct area areas[COUNTS_KINDS];
	struct input input = { data, size };
	uint32_t kind = (uint32_t)take(&input, 1) % COUNTS_KINDS;
	struct area *area = &areas[kind];
	struct counts *counts = NULL;
	struct counts_head *head;
	uint64_t *owner;

	area_begin(area, kind);
	head = (void *)(area->memory + RING_CONTROL_BYTES);
	owner = (uint64_t *)(head + 1);
	put(area, &head->kind, kind);
	put(area, &owner[0], 1);	/* the others are nobody's */
	put(area, &owner[1], 1);
	while (input.size > 0) {
		uint64_t command = take(&input, 1);

		if (command != 'r' && (command != 'e' || kind != COUNTS_SITES)) {
			poke(&input, area);
		} else if (command == 'e') {
			put_entry(&input, area, (struct counts_block *)(owner + SLOTS));
		} else {
			if (!counts && counts_new(area->memory, area->bytes, &counts))
				counts = NULL;
			read_all(counts);
		}
	}
	counts_free(counts);
	area_end(area);
	return 0;
}
