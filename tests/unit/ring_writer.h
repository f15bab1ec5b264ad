/* SPDX-License-Identifier: MIT */
/* ring_writer.h - the shim's side of the rings, played by a test. */
#ifndef MEMATTACH_TESTS_RING_WRITER_H
#define MEMATTACH_TESTS_RING_WRITER_H

#include <stdlib.h>
#include <string.h>

#include "inject/abi/ring_abi.h"

struct ring_writer {
	struct ring_control *control;
	uint8_t *mapping;
	size_t bytes;
};

/* A zeroed area with count rings of lines lines (a power of two). */
static inline void ring_writer_init(struct ring_writer *writer, uint32_t count, uint64_t lines)
{
	writer->bytes = RING_CONTROL_BYTES + count * lines * RING_LINE;
	writer->mapping = aligned_alloc(4096, (writer->bytes + 4095) & ~4095ul);
	memset(writer->mapping, 0, writer->bytes);
	writer->control = (struct ring_control *)(void *)writer->mapping;
	writer->control->magic = RING_MAGIC;
	writer->control->version = RING_VERSION;
	writer->control->control_bytes = RING_CONTROL_BYTES;
	writer->control->total_bytes = writer->bytes;
	writer->control->rings_offset = RING_CONTROL_BYTES;
	writer->control->ring_bytes = lines * RING_LINE;
	writer->control->ring_lines = lines;
	writer->control->ring_count = count;
}

static inline void ring_writer_done(struct ring_writer *writer)
{
	free(writer->mapping);
}

static inline struct ring_record *ring_writer_at(struct ring_writer *writer, uint32_t ring,
						 uint64_t position)
{
	uint64_t lines = writer->control->ring_lines;
	size_t line = ring * lines + (position & (lines - 1));

	return (struct ring_record *)(void *)(writer->mapping + RING_CONTROL_BYTES +
					      line * RING_LINE);
}

/* Lines a record with this many stack bytes takes; -1: without a stack line. */
static inline uint32_t ring_writer_lines(int stack_bytes)
{
	return stack_bytes < 0 ? 1 : 2 + ((uint32_t)stack_bytes + RING_LINE - 1) / RING_LINE;
}

/* Reserves lines (padding where they would wrap); UINT64_MAX: no room. */
static inline uint64_t ring_writer_reserve(struct ring_writer *writer, uint32_t ring,
					   uint32_t lines)
{
	struct ring_head *head = &writer->control->ring[ring];
	uint64_t size = writer->control->ring_lines, at = head->head;
	uint64_t left = size - (at & (size - 1)), pad = left < lines ? left : 0;

	if (at + pad + lines - head->tail > size)
		return UINT64_MAX;
	head->head = at + pad + lines;
	if (pad) {
		ring_writer_at(writer, ring, at)->kind = RING_PAD;
		ring_writer_at(writer, ring, at)->commit =
			ring_commit_word(at, (uint32_t)pad, RING_DONE);
	}
	return at + pad;
}

static inline void ring_writer_busy(struct ring_writer *writer, uint32_t ring, uint64_t position,
				    uint32_t lines)
{
	ring_writer_at(writer, ring, position)->commit =
		ring_commit_word(position, lines, RING_BUSY);
}

/* Fills everything but the commit word, and commits. stack: NULL none. */
static inline void ring_writer_commit(struct ring_writer *writer, uint32_t ring, uint64_t position,
				      const struct ring_record *record,
				      const struct ring_stack *stack, const void *bytes)
{
	struct ring_record *at = ring_writer_at(writer, ring, position);
	uint32_t lines = ring_writer_lines(stack ? record->stack_bytes * 8 : -1);

	memcpy((char *)at + 8, (const char *)record + 8, sizeof(*at) - 8);
	if (stack)
		memcpy(at + 1, stack, sizeof(*stack));
	if (stack && bytes)
		memcpy(at + 2, bytes, record->stack_bytes * 8u);
	__atomic_store_n(&at->commit, ring_commit_word(position, lines, RING_DONE),
			 __ATOMIC_RELEASE);
}

/* One whole record without a stack; its position or UINT64_MAX. */
static inline uint64_t ring_writer_put(struct ring_writer *writer, uint32_t ring,
				       const struct ring_record *record)
{
	uint64_t position = ring_writer_reserve(writer, ring, 1);

	if (position != UINT64_MAX)
		ring_writer_commit(writer, ring, position, record, NULL, NULL);
	return position;
}

#endif
