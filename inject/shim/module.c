/* SPDX-License-Identifier: MIT */
/*
 * module.c - the dynamic loader says that its list changes or has changed.
 *
 * The reader should read the maps before a library goes whose frames it will
 * have to name. Only with RING_OVERFLOW_BLOCK is that enforced: the notifying
 * thread (it holds the loader's lock) waits for the reader's word, for about
 * 50 ms at the most.
 */
#include "inject/shim/place.h"

#define WAIT_CYCLES (1ull << 27)	/* 45 ms at 3 GHz */

/*
 * Ends when: the reader has acknowledged (acquire; its release comes after it
 * read the maps); recording is off or its epoch has lapsed; the time is up; this
 * has become a fork child.
 */
static void wait_acknowledged(struct ring_control *control, uint64_t generation)
{
	uint32_t cpu;
	uint64_t begin = arch_clock(control, &cpu);

	for (uint32_t turn = 0; shim_control() == control; turn++) {
		uint32_t seen = shim_load_acquire(&control->wake);
		uint64_t now = arch_clock(control, &cpu);

		if (shim_load_acquire(&control->module_ack) >= generation ||
		    shim_load(&control->mode) == RING_MODE_OFF || now - begin > WAIT_CYCLES ||
		    !shim_epoch_open(control, now))
			return;
		shim_wake_reader(control);
		shim_wait(control, seen, turn);
	}
}

bool shim_module_begin(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();
	struct shim_event event = { .kind = RING_MODULE };

	(void)shape;
	if (!control)
		return false;
	shim_call_open(control, call);
	event.address = shim_add(&control->module_generation, 1);
	if (shim_load(&control->mode) == RING_MODE_OFF)
		return false;
	if (!shim_record(control, call, &event))
		return call->span;
	shim_wake_reader(control);	/* it looks rarely while little happens */
	if (shim_load(&control->overflow) == RING_OVERFLOW_BLOCK)
		wait_acknowledged(control, event.address);
	return call->span;
}

void shim_module_end(struct shim_call *call, enum ring_shape shape)
{
	(void)call;
	(void)shape;
}
