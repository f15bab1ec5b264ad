/* SPDX-License-Identifier: MIT */
/* record.c - see record.h. */
#include "src/record.h"

/* No user address or size is as large, on any x86-64: sums of two can't overflow. */
#define USER_LIMIT	RING_SIZE_LIMIT

bool record_valid(const struct ring_record *record, uint32_t lines)
{
	uint64_t stack_bytes = (uint64_t)record->stack_bytes * 8u;

	if (record->kind >= RING_KIND_COUNT || record->entry >= RING_MAX_ENTRIES)
		return false;
	if (record->kind == RING_CALL)	/* whatever was asked for and returned */
		return lines >= 2 && !(record->flags & RING_F_STACK);
	if (record->kind == RING_PATH)
		return stack_bytes > 0 && stack_bytes <= (uint64_t)(lines - 1u) * RING_LINE &&
		       stack_bytes <= RING_MAX_STACK_BYTES && !(record->flags & RING_F_STACK);
	/* Programs hand anything to free. */
	if ((record->address >= USER_LIMIT && record->kind != RING_FREE) ||
	    record->size >= USER_LIMIT)
		return false;
	if (!(record->flags & RING_F_STACK))
		return true;
	return lines >= 2 && stack_bytes <= (uint64_t)(lines - 2u) * RING_LINE &&
	       stack_bytes <= RING_MAX_STACK_BYTES;
}

/* 0 stands for "none was asked for". */
static uint32_t alignment_of(uint32_t log2)
{
	return log2 > 0 && log2 < 32 ? 1u << log2 : 0;
}

struct event record_event(const struct ring_record *record)
{
	struct event event = {
		.kind = (enum ring_kind)record->kind,
		.flags = record->flags,
		.entry = record->entry,
		.time = record->time,
		.address = record->address,
		.size = record->size,
		.old_address = record->old_address,
		.thread = record->thread,
		.caller = record->caller,
		.alignment = alignment_of(record->align_log2),
	};

	if (record->kind == RING_PATH) {
		event.path = event.address;
		event.address = 0;
	} else if (record->flags & RING_F_PATH) {
		event.path = event.caller;
		event.caller = 0;
	}
	event.registers.rip = event.caller;
	return event;
}
