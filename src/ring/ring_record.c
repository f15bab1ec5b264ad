/* SPDX-License-Identifier: MIT */
/* ring_record.c - see ring_record.h. */
#include "src/ring/ring_record.h"

/* No user address or size is as large, on any x86-64: sums of two can't overflow. */
#define USER_LIMIT	RING_SIZE_LIMIT

/* Where a mapping lies, or is said to: the shim records no call that names memory beyond. */
static bool range_valid(const struct ring_record *record)
{
	if (record->kind != RING_MAP && record->kind != RING_UNMAP)
		return true;
	return record->size <= USER_LIMIT - record->address;
}

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
	    record->size >= USER_LIMIT || !range_valid(record))
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

/*
 * Field by field: a structure that is built and copied would be read back before it has
 * arrived. ret does not lie in shared memory, record is a copy.
 */
void record_event(const struct ring_record *restrict record, struct event *restrict ret)
{
	bool is_path = record->kind == RING_PATH, by_path = record->flags & RING_F_PATH;

	ret->kind = (enum ring_kind)record->kind;
	ret->flags = record->flags;
	ret->entry = record->entry;
	ret->time = record->time;
	ret->address = is_path ? 0 : record->address;
	ret->size = record->size;
	ret->old_address = record->old_address;
	ret->thread = record->thread;
	ret->caller = by_path && !is_path ? 0 : record->caller;
	ret->path = is_path ? record->address : by_path ? record->caller : 0;
	ret->alignment = alignment_of(record->align_log2);
	ret->interval = by_path && !is_path && !(record->flags & RING_F_STACK) ?
				ring_interval_unpack(record->stack_bytes) : 0;
	ret->registers = (struct unwind_registers){ .rip = ret->caller };
	ret->stack_address = 0;
	ret->stack_bytes = 0;
	ret->stack = NULL;
	ret->ring = 0;
	ret->call = NULL;
}
