/* SPDX-License-Identifier: MIT */
/*
 * ring_publish.c - see ring_publish.h; the shim's halves are nested.c,
 * stack_copy.c and mapping.c.
 *
 * A published range must be mapped as long as it is published. The target clears
 * what it unmaps, but a range that was read from maps before an unmap and
 * written after its clearing would stay. So every unmap counts itself before it
 * clears, and we count again after writing: entries are in place (and are
 * cleared by whoever comes from now on), and nobody came in between.
 */
#include "inject/attach/ring_publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_low(const void *a, const void *b)
{
	const struct ring_range *left = a, *right = b;

	return left->low < right->low ? -1 : left->low > right->low;
}

uint32_t ring_ranges_merge(struct ring_range *range, uint32_t count)
{
	uint32_t kept = 0;

	qsort(range, count, sizeof(*range), by_low);
	for (uint32_t i = 0; i < count; i++) {
		if (kept > 0 && range[i].low <= range[kept - 1].high) {
			if (range[i].high > range[kept - 1].high)
				range[kept - 1].high = range[i].high;
		} else {
			range[kept++] = range[i];
		}
	}
	return kept;
}

/* Sorted in memory of our own: the target can write to control at any time. */
static void publish(struct ring_control *control, enum ring_class class, struct ring_range *range,
		    uint32_t count)
{
	uint32_t kept = ring_ranges_merge(range, count);

	memcpy(control->caller[class], range, kept * sizeof(*range));
	control->caller_count[class] = kept;
	control->callers[class] = (struct ring_range){ 0 };
	if (kept > 0)
		control->callers[class] = (struct ring_range){ range[0].low, range[kept - 1].high };
}

void ring_publish_callers(struct ring_control *control)
{
	struct ring_range range[RING_CLASS_COUNT][RING_MAX_ENTRIES];
	uint32_t entries = control->entry_count, count[RING_CLASS_COUNT] = { 0 };

	for (uint32_t i = 0; i < entries && i < RING_MAX_ENTRIES; i++) {
		struct ring_entry entry = control->entry[i];
		enum ring_class class = ring_shape_class(entry.shape);

		if (entry.shape == RING_SHAPE_DL_STATE || ring_shape_confines(entry.shape) ||
		    entry.low >= entry.high)
			continue;
		range[class][count[class]++] = (struct ring_range){ entry.low, entry.high };
	}
	for (uint32_t class = 0; class < RING_CLASS_COUNT; class++)
		publish(control, class, range[class], count[class]);
}

int ring_publish_helpers(struct ring_control *control, const struct ring_range *range,
			 uint32_t count)
{
	struct ring_range all[RING_MAX_ENTRIES];
	uint32_t before = control->caller_count[RING_CLASS_HEAP];

	if (before > RING_MAX_ENTRIES || count > RING_MAX_ENTRIES - before)
		return -E2BIG;
	memcpy(all, control->caller[RING_CLASS_HEAP], before * sizeof(*all));
	memcpy(all + before, range, count * sizeof(*all));
	publish(control, RING_CLASS_HEAP, all, before + count);
	return 0;
}

int ring_publish_stacks_begin(const struct ring_control *control, uint64_t *ret_ticket)
{
	uint64_t ended = __atomic_load_n(&control->unmaps_ended, __ATOMIC_ACQUIRE);
	uint64_t begun = __atomic_load_n(&control->unmaps_begun, __ATOMIC_SEQ_CST);

	if (begun != ended)
		return -EAGAIN;
	*ret_ticket = begun;
	return 0;
}

/* The count goes first and comes last; the generation tells a search in between. */
int ring_publish_stacks(struct ring_control *control, const struct ring_stacks *stacks,
			uint64_t ticket)
{
	const struct ring_range *range = stacks->range;
	uint32_t count = stacks->count;

	if (count > RING_MAX_STACKS)
		return -E2BIG;
	__atomic_store_n(&control->stack_count, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&control->stack_generation, 1, __ATOMIC_SEQ_CST);
	/* who sees a word of what follows sees that generation when it looks again */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&control->stack_word, stacks->word, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < count; i++) {
		__atomic_store_n(&control->stack[i].low, range[i].low, __ATOMIC_RELAXED);
		__atomic_store_n(&control->stack[i].high, range[i].high, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&control->stack_proposed, count, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* partner: shim_add(unmaps_begun) */
	if (__atomic_load_n(&control->unmaps_begun, __ATOMIC_SEQ_CST) != ticket)
		return -EAGAIN;
	__atomic_store_n(&control->stack_count, count, __ATOMIC_RELEASE);
	return 0;
}
