/* SPDX-License-Identifier: MIT */
/*
 * loss.c - what was lost is counted, all of it.
 *
 * What finds no room is counted beside its ring, by locked additions. Under pressure most is
 * lost, at once, and there two or three of those would be most of what it costs: each thread
 * has a lane of its own for that. A lane is not given back: whoever has the same thread pointer
 * later goes on in it, and who finds none locks.
 */
#include "inject/shim/shim.h"

#define PROBES 4u

void shim_loss_count(struct ring_head *head, const struct shim_event *event)
{
	switch (event->kind) {
	case RING_ALLOC:
		if (event->address == 0)	/* counted elsewhere: shim_record_audit() */
			break;
		shim_add(&head->lost_alloc_bytes, event->size);
		shim_add(&head->lost_alloc, 1);
		break;
	case RING_UNDO:		/* a block that lives on is lost */
		shim_add(&head->lost_alloc, 1);
		break;
	case RING_FREE:
		shim_add(&head->lost_free, 1);
		break;
	case RING_CALL:
		shim_add(&head->lost_call, 1);
		break;
	case RING_MODULE:	/* module_generation says it too */
	case RING_PATH:		/* the stack is copied instead */
		break;
	default:
		shim_add(&head->lost_map, 1);
		break;
	}
}

/* NULL: none is this thread's. */
static struct ring_lane *lane_of(struct ring_control *control, uint64_t thread)
{
	uint64_t first = shim_hash(thread);

	for (uint64_t i = first; thread && i < first + PROBES; i++) {
		struct ring_lane *lane = &control->lane[i % RING_LANES];
		uint64_t owner = shim_load(&lane->owner);

		if (owner == thread || (owner == 0 && shim_exchange_if(&lane->owner, 0, thread)))
			return lane;
	}
	return NULL;
}

/* pre: RING_ALLOC or RING_FREE. One instruction each: this thread's signal handlers add, too. */
void shim_loss_at_once(struct ring_control *control, const struct shim_call *call,
		       const struct shim_event *event)
{
	struct ring_lane *lane = lane_of(control, call->thread);

	if (!lane) {
		shim_loss_count(&control->ring[shim_hash(call->thread) % control->ring_count],
				event);
	} else if (event->kind == RING_FREE) {
		arch_add(&lane->lost_free, 1);
	} else if (event->address != 0) {	/* else it is counted elsewhere, as above */
		arch_add(&lane->lost_alloc_bytes, event->size);
		arch_add(&lane->lost_alloc, 1);
	}
}
