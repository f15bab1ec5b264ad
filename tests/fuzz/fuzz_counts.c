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

#include "inject/counts_setup.h"
#include "src/counts/counts.h"

#define SLOTS	8u

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

static void poke(struct input *input, uint8_t *memory, size_t bytes)
{
	size_t at = take(input, 3) % (bytes / 8) * 8;
	uint64_t value = take(input, 8);

	memcpy(memory + at, &value, 8);
}

static void put_entry(struct input *input, struct counts_block *block)
{
	uint64_t place = take(input, 2) % COUNTS_PATHS;

	block->path_map[0] |= 1ull << (place * sizeof(struct counts_path) / COUNTS_PAGE);
	block->path[place].key = take(input, 8);
	block->path[place].detail = take(input, 2);
	block->path[place].count = take(input, 1);
}

static void look(void *context, uint64_t size, uint64_t count)
{
	uint64_t *sum = context;

	*sum += size ^ count;
}

static void read_all(struct counts *counts)
{
	uint64_t sum = 0;

	if (!counts || counts_read(counts))
		return;
	if (counts_sizes(counts, look, &sum) != counts_sizes(counts, NULL, NULL))
		abort();
	if (counts_rows(counts) > SLOTS * COUNTS_PATHS + COUNTS_SHARED_PATHS)
		abort();
	for (size_t i = 0; i < counts_rows(counts); i++)
		if (counts_row(counts, i)->step >= COUNTS_STEPS)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	uint32_t kind = (uint32_t)take(&input, 1) % COUNTS_KINDS;
	size_t bytes = RING_CONTROL_BYTES + counts_setup_bytes(kind, SLOTS);
	uint8_t *memory = aligned_alloc(RING_LINE, bytes);
	struct ring_control *control = (void *)memory;
	struct counts_head *head = (void *)(memory + RING_CONTROL_BYTES);
	uint64_t *owner = (uint64_t *)(head + 1);
	struct counts *counts = NULL;

	if (!memory)
		return 0;
	memset(memory, 0, bytes);
	control->counts_offset = RING_CONTROL_BYTES;
	control->counts_slots = SLOTS;
	control->counts_block = counts_block_bytes(kind);
	head->kind = kind;
	owner[0] = owner[1] = 1;	/* the others are nobody's */
	while (input.size > 0) {
		uint64_t command = take(&input, 1);

		if (command != 'r' && (command != 'e' || kind != COUNTS_SITES)) {
			poke(&input, memory, bytes);
		} else if (command == 'e') {
			put_entry(&input, (struct counts_block *)(owner + SLOTS));
		} else {
			if (!counts && counts_new(memory, bytes, &counts))
				counts = NULL;
			read_all(counts);
		}
	}
	counts_free(counts);
	free(memory);
	return 0;
}
