/* SPDX-License-Identifier: MIT */
/*
 * fuzz_reader.c - a target that writes whatever it likes into rings and control
 * block, between drains and during them. Each drain must end after no more events
 * than there are lines, each event must be possible, and its stack must be readable.
 *
 * Input: 2 bytes (rings, lines), then commands: 'd' drain, 'f' finish, 'h' head,
 * 't' time, 'r' a plausible record, anything else pokes 8 bytes somewhere.
 */
#include <string.h>

#include "src/ring/reader.h"

#define MAX_RINGS	4u
#define MAX_LINES	64u
#define AREA_BYTES	(RING_CONTROL_BYTES + MAX_RINGS * MAX_LINES * RING_LINE)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t now;

static uint64_t fuzz_clock(void)
{
	return now;
}

struct input {
	const uint8_t *data;
	size_t size;
};

struct area {
	uint8_t *bytes;
	struct ring_control *control;
	uint32_t rings, lines;
	struct input *input;
	int events;
	unsigned int sum;
};

static uint64_t input_take(struct input *input, size_t bytes)
{
	uint64_t value = 0;

	bytes = bytes < input->size ? bytes : input->size;
	memcpy(&value, input->data, bytes);
	input->data += bytes;
	input->size -= bytes;
	return value;
}

static void poke(struct area *area)
{
	size_t at = input_take(area->input, 3) % (AREA_BYTES / 8) * 8;
	uint64_t value = input_take(area->input, 8);

	memcpy(area->bytes + at, &value, 8);
}

/* A record at the head of a ring, right but for what the input changes. */
static void put_record(struct area *area)
{
	uint32_t ring = (uint32_t)input_take(area->input, 1) % area->rings;
	struct ring_head *head = &area->control->ring[ring];
	uint32_t lines = (uint32_t)input_take(area->input, 1) % 6;
	uint64_t line = head->head & (area->lines - 1);
	struct ring_record *record = (struct ring_record *)(void *)
		(area->bytes + RING_CONTROL_BYTES + (ring * area->lines + line) * RING_LINE);

	record->kind = (uint8_t)input_take(area->input, 1);
	record->flags = (uint8_t)input_take(area->input, 1);
	record->stack_bytes = (uint16_t)input_take(area->input, 2);
	record->time = input_take(area->input, 2);
	record->commit = ring_commit_word(head->head, lines,
					  (enum ring_state)(input_take(area->input, 1) % 4));
	head->head += lines;
}

static void on_event(void *context, const struct event *event)
{
	struct area *area = context;

	area->events++;
	if (event->kind == RING_PAD || event->kind >= RING_KIND_COUNT ||
	    event->entry >= RING_MAX_ENTRIES || event->stack_bytes > RING_MAX_STACK_BYTES)
		abort();
	for (uint32_t i = 0; i < event->stack_bytes; i++)
		area->sum += event->stack[i];
	if ((event->kind == RING_CALL) != (event->call != NULL))
		abort();
	area->sum += event->call ? event->call->argument[5] : 0;
	/* The target does not wait for us to finish. */
	if (area->sum % 3 == 0)
		poke(area);
}

static void drain(struct area *area, struct reader *reader, bool finish)
{
	struct reader_losses losses;

	area->events = 0;
	if (finish)
		reader_finish(reader, on_event, area);
	else
		reader_drain(reader, on_event, area);
	if (area->events > (int)(area->rings * area->lines))
		abort();
	reader_losses(reader, &losses);
	if (reader_backlog(reader) > 1.0)
		abort();
}

static void command(struct area *area, struct reader *reader)
{
	switch (input_take(area->input, 1)) {
	case 'd':
		drain(area, reader, false);
		break;
	case 'f':
		drain(area, reader, true);
		break;
	case 'h':
		area->control->ring[input_take(area->input, 1) % MAX_RINGS].head +=
			input_take(area->input, 1) % 32;
		break;
	case 't':
		now += input_take(area->input, 2);
		break;
	case 'r':
		put_record(area);
		break;
	default:
		poke(area);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	struct area area = { .input = &input };
	struct reader_source source = { .bytes = AREA_BYTES, .clock = fuzz_clock };
	struct reader *reader = NULL;

	area.bytes = aligned_alloc(64, AREA_BYTES);
	memset(area.bytes, 0, AREA_BYTES);
	area.control = (struct ring_control *)(void *)area.bytes;
	area.rings = 1 + (uint32_t)input_take(&input, 1) % MAX_RINGS;
	area.lines = 4u << (input_take(&input, 1) % 5);
	area.control->magic = RING_MAGIC;
	area.control->version = RING_VERSION;
	area.control->rings_offset = RING_CONTROL_BYTES;
	area.control->ring_bytes = area.lines * RING_LINE;
	area.control->ring_lines = area.lines;
	area.control->ring_count = area.rings;
	source.mapping = area.bytes;
	now = 1;
	if (reader_new(&source, &reader) < 0)
		abort();
	while (input.size > 0)
		command(&area, reader);
	drain(&area, reader, true);
	reader_free(reader);
	free(area.bytes);
	return 0;
}
