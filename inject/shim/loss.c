/* SPDX-License-Identifier: MIT */
/*
 * loss.c - what was lost is counted, all of it.
 *
 * What finds no room is counted beside its ring, by locked additions. Under pressure most is
 * lost, at once, and there two or three of those would be most of what it costs: each thread
 * has a lane of its own for that. A lane is not given back: whoever has the same thread pointer
 * later goes on in it, and who finds none locks. (LOST_FREE and LOST_ALLOC in shim_quick.S add to
 * lanes, too.)
 */
#include "inject/arch/x86_64/shim_offsets.h"
#include "inject/shim/loss.h"
#include "inject/shim/place.h"

#define PROBES 4u

/*
 * A block of x bytes that was drawn with mean interval I stands for 1 / (1 - exp(-x / I)) blocks:
 * for less than 1 + I / x.
 */
static void hide(struct ring_head *head, const struct shim_event *event)
{
	uint64_t interval = event->interval > 1 ? event->interval : 0;

	shim_add(&head->hidden_alloc, 1 + interval / (event->size ? event->size : 1));
	shim_add(&head->hidden_bytes, event->size + interval);
}

void shim_loss_count(struct ring_head *head, const struct shim_event *event)
{
	switch (event->kind) {
	case RING_ALLOC:
		if (event->address == 0)	/* counted elsewhere: shim_record_audit() */
			break;
		shim_add(&head->lost_alloc_bytes, event->size);
		shim_add(&head->lost_alloc, 1);
		hide(head, event);
		break;
	case RING_UNDO:		/* a block that lives on is lost; its size is not known here */
		shim_add(&head->lost_alloc, 1);
		shim_add(&head->hidden_alloc, 1);
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

static struct ring_head *ring_of(struct ring_control *control, uint64_t thread)
{
	return &control->ring[shim_hash(thread) % control->ring_count];
}

/* What is lost at once has no time. Is this one that is to find out that the epoch has lapsed? */
static void look_at_clock(struct ring_control *control, uint64_t losses)
{
	uint32_t cpu;

	if (losses % LOSSES_A_LOOK == 0)
		(void)shim_epoch_open(control, arch_clock(control, &cpu));
}

/* Into the lane by one instruction each: this thread's signal handlers add, too. */
void shim_loss_alloc(struct ring_control *control, uint64_t thread, uint64_t size)
{
	struct ring_lane *lane = lane_of(control, thread);

	if (lane) {
		arch_add(&lane->lost_alloc_bytes, size);
		arch_add(&lane->lost_alloc, 1);
		look_at_clock(control, shim_load(&lane->lost_alloc));
	} else {
		shim_add(&ring_of(control, thread)->lost_alloc_bytes, size);
		shim_add(&ring_of(control, thread)->lost_alloc, 1);
		look_at_clock(control, shim_load(&ring_of(control, thread)->lost_alloc));
	}
}

void shim_loss_free(struct ring_control *control, uint64_t thread)
{
	struct ring_lane *lane = lane_of(control, thread);

	if (lane)
		arch_add(&lane->lost_free, 1);
	else
		shim_add(&ring_of(control, thread)->lost_free, 1);
}
