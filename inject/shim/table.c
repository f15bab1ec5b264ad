/* SPDX-License-Identifier: MIT */
/*
 * table.c - the addresses of the live sampled blocks.
 *
 * free asks here whether its block was sampled, unless nothing there is marked (marks_abi.h): one
 * cache line, no false answers. A bucket is a line of eight addresses; every change is one
 * compare-exchange by the shim, memattach only empties the table as a whole when
 * nothing is recorded. An address is in at most one slot: it is put in by the
 * call that returns the block and taken out before it is given back, and in
 * between nobody else can have it.
 *
 * Rejected: probing on into other buckets. A free of an unsampled block, the
 * common case, would pay for it; a full bucket costs one block its free record,
 * counted and flagged.
 */
#include "inject/abi/marks_abi.h"
#include "inject/shim/shim.h"

#define BUCKET_SLOTS 8u

/* NULL: there is no table. */
static uint64_t *bucket_of(struct ring_control *control, uint64_t address)
{
	uint64_t buckets = control->table_slots / BUCKET_SLOTS;
	uint64_t *table = (uint64_t *)((uint8_t *)control + control->table_offset);

	if (buckets == 0)
		return NULL;
	return &table[(shim_hash(address) & (buckets - 1)) * BUCKET_SLOTS];
}

enum shim_table_result shim_table_insert(struct ring_control *control, uint64_t address)
{
	uint64_t *bucket = bucket_of(control, address);

	if (!bucket)
		return SHIM_TABLE_FULL;
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		if (shim_load(&bucket[i]) == address)
			return SHIM_TABLE_PRESENT;
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		if (shim_load(&bucket[i]) == 0 && shim_exchange_if(&bucket[i], 0, address)) {
			marks_add(control, address);
			return SHIM_TABLE_INSERTED;
		}
	return SHIM_TABLE_FULL;
}

bool shim_table_remove(struct ring_control *control, uint64_t address)
{
	uint64_t *bucket = bucket_of(control, address);

	if (!bucket || address == 0 || !marks_may_have(control, address))
		return false;
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		if (shim_load(&bucket[i]) == address && shim_exchange_if(&bucket[i], address, 0)) {
			marks_remove(control, address);
			return true;
		}
	return false;
}
