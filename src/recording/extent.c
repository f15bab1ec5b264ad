/* SPDX-License-Identifier: MIT */
/*
 * extent.c - see extent.h.
 *
 * The JSON document, folded stacks and the like name each frame of each site. In a session's
 * recording that is some two times what the file has. A forged one of a hundred kilobytes can have
 * a long name in a frame that thousands of stacks of thousands of frames consist of, and would be
 * printed as gigabytes. To cut names, or to leave sites out, was rejected: a recording that is
 * genuine must lose nothing, and of one that is not nothing is worth to be shown.
 */
#include "src/recording/extent.h"

#include <errno.h>

#include "src/recording/bounds.h"
#include "src/recording/damage.h"
#include "src/recording/recorded_names.h"

#define FRAME_BYTES	160u	/* of a frame in a document, but for its texts */
#define ESCAPE_BYTES	6u	/* \u0001 */

static uint64_t text_bytes(const char *text)
{
	uint64_t bytes = 0;

	for (; text && *text; text++)
		bytes += *text >= 0x20 && *text < 0x7f && *text != '"' && *text != '\\' ?
			 1 : ESCAPE_BYTES;
	return bytes;
}

static uint64_t frame_bytes(const struct named_frame *named)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < named->count; i++)
		bytes += FRAME_BYTES + text_bytes(named->symbol[i].function) +
			 text_bytes(named->symbol[i].file) + text_bytes(named->symbol[i].module) +
			 text_bytes(named->symbol[i].build_id);
	return bytes;
}

/* Of each frame: what it is printed as is counted once. */
static void measure_frames(struct recording_names *names)
{
	for (uint32_t i = 0; i < names->frame_count; i++)
		names->by_id[i]->printed_bytes = frame_bytes(names->by_id[i]);
}

static uint64_t stack_bytes(const struct recording_content *content, uint32_t id)
{
	struct stack stack = stacks_get(content->stacks, id);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < stack.frame_count; i++) {
		const struct named_frame *named = recording_names_find(content->own,
								       &stack.frame[i]);

		bytes += named ? named->printed_bytes : 0;
	}
	return bytes;
}

/* By id of a stack. NULL: out of memory. */
static uint64_t *measure_stacks(const struct recording_content *content)
{
	uint32_t count = stacks_count(content->stacks);
	uint64_t *bytes = calloc(count + 1ul, sizeof(*bytes));

	for (uint32_t id = 1; bytes && id <= count; id++)
		bytes[id] = stack_bytes(content, id);
	return bytes;
}

int recording_extent_check(const struct recording_content *content)
{
	const struct snapshot *snapshot = content->snapshot;
	_cleanup_free_ uint64_t *bytes = NULL;
	bool fits = true;

	measure_frames(content->own);
	bytes = measure_stacks(content);
	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; fits && i < snapshot->site_count + snapshot->tried_count; i++)
		fits = recording_bounds_print(bytes[snapshot->site[i].stack]);
	for (size_t i = 0; fits && i < snapshot->wrong_free_count; i++)
		fits = recording_bounds_print(bytes[snapshot->wrong_free[i].freed.stack]) &&
		       recording_bounds_print(bytes[snapshot->wrong_free[i].freed_first.stack]) &&
		       recording_bounds_print(bytes[snapshot->wrong_free[i].allocated.stack]);
	return fits ? 0 : recording_damage("sites", "column stack: with their names, stacks are "
						    "many times what the file can hold");
}
