/* SPDX-License-Identifier: MIT */
/*
 * paths.c - call paths that the reader has been told.
 *
 * A path is named by a hash of its return addresses. The table of names is shared by all threads:
 * who finds its path missing records the return addresses first and puts the name in
 * afterwards, so that whoever finds it there records later than that. Two threads may tell the
 * same path: no harm. A bucket that is full tells its newcomers each time.
 */
#include "inject/shim/shadow.h"

#define BUCKET 8u	/* names in a cache line */

static uint64_t *bucket_of(const struct ring_control *control, uint64_t path)
{
	uint64_t *seen = (uint64_t *)((uint8_t *)(uintptr_t)control + control->seen_offset);

	return seen + (path & (control->seen_slots - 1) & ~(uint64_t)(BUCKET - 1));
}

static bool is_told(const struct ring_control *control, uint64_t path)
{
	const uint64_t *bucket = bucket_of(control, path);

	/* Acquire: its partner is remember(), after the record was committed. */
	for (uint32_t i = 0; i < BUCKET; i++)
		if (shim_load_acquire(&bucket[i]) == path)
			return true;
	return false;
}

static void remember(struct ring_control *control, uint64_t path)
{
	uint64_t *bucket = bucket_of(control, path);

	for (uint32_t i = 0; i < BUCKET; i++) {
		uint64_t there = shim_load(&bucket[i]);

		if (there == path || (there == 0 && shim_exchange_if(&bucket[i], 0, path)))
			return;
	}
}

enum shim_tell shim_path_tell(struct ring_control *control, const struct shim_call *call,
			      struct shadow *shadow, uint64_t path, bool truncated)
{
	const struct shim_path_record record = {
		.name = path, .frame = shadow->frame, .count = shadow->frames,
		.truncated = truncated,
	};
	uint64_t *known = &shadow->known[(path >> 32) % SHADOW_KNOWN];

	if (*known == path)
		return SHIM_TOLD_BEFORE;
	if (is_told(control, path)) {
		*known = path;
		return SHIM_TOLD_BEFORE;
	}
	if (!shim_record_path(control, call, &record) || shim_control() != control)
		return SHIM_NOT_TOLD;
	remember(control, path);
	*known = path;
	return SHIM_TOLD_NOW;
}
