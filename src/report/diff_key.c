/* SPDX-License-Identifier: MIT */
/*
 * diff_key.c - see diff_key.h.
 *
 * Ids of sites and addresses mean nothing in another session, so entries are found by stack.
 * Lines are part of it, offsets only where there is no function: a restarted or rebuilt program
 * still matches where its source did not change. Where both sides have the same file, its code is
 * compared: one of them may have no names yet. Verdicts of blocks that are still reachable
 * (growing, stuck, old) count as one: a group that ages is not a new one.
 * Rejected: to match by similarity of stacks; a wrong match hides a new leak in an old one.
 */
#include "src/report/diff_key.h"

#include <stdlib.h>
#include <string.h>

#include "src/debuginfo/types.h"
#include "src/leak/findings/leak_report.h"

/* Zeroed before it is filled: its padding is compared, too. */
struct key_head {
	const char *kind;	/* verdict or kind of site */
	const char *type;
	uint64_t size;
};
struct key_frame {
	const char *function, *module;
	uint64_t place;
};

const char *diff_key_verdict(const char *verdict)
{
	static const enum leak_verdict suspect[] = { LEAK_STUCK, LEAK_GROWING, LEAK_OLD };

	for (size_t i = 0; i < ARRAY_SIZE(suspect); i++)
		if (verdict && strcmp(verdict, leak_verdict_name(suspect[i])) == 0)
			return leak_verdict_name(LEAK_REACHABLE);
	return verdict;
}

/* Inlined frames are where the machine frame is that follows them. */
static bool is_keyed(const struct diff_frame *frame)
{
	return !frame->build_id || !frame->inlined;
}

static struct key_frame key_of(const struct diff_frame *frame)
{
	if (frame->build_id)
		return (struct key_frame){ NULL, frame->build_id, frame->code };
	if (frame->function)
		return (struct key_frame){ frame->function, frame->module, frame->line };
	/* where the call begins is known only where there are names */
	return (struct key_frame){ NULL, frame->module, frame->code ? frame->code : frame->offset };
}

void *diff_key_make(const struct diff_entry *like, const char *kind, size_t *ret_bytes)
{
	size_t bytes = sizeof(struct key_head) + like->frame_count * sizeof(struct key_frame);
	struct key_head *head = calloc(1, bytes);
	struct key_frame *frame = head ? (struct key_frame *)(head + 1) : NULL;

	if (!head)
		return NULL;
	head->kind = kind;
	if (like->frame_count == 0) {
		head->type = like->type;
		head->size = like->type ? 0 : types_size_class(like->size);
	}
	for (uint32_t i = 0; i < like->frame_count; i++)
		if (is_keyed(&like->frame[i]))
			*frame++ = key_of(&like->frame[i]);
	*ret_bytes = (size_t)((char *)frame - (char *)head);
	return head;
}

uint32_t diff_key_named_frames(const struct diff_entry *entry)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < entry->frame_count; i++)
		count += entry->frame[i].function != NULL;
	return count;
}
