/* SPDX-License-Identifier: MIT */
/*
 * exact.c - RING_MODE_ALL: what nearly every call needs, in one function from what happened to the
 * record that is handed over.
 *
 * That is a record of one line, for which there is room at once. All else goes the long way
 * (record.c), before which no event was recorded. The event is made where it is needed: as a
 * structure that functions hand on it costs more than all that is done with it.
 */
#include "inject/shim/exact.h"
#include "inject/shim/place.h"

/* The time comes after a path was told: what names it is later than that record. */
static inline __attribute__((always_inline)) bool
record_line(struct ring_control *control, const struct shim_call *call,
	    const struct shim_event *event, enum shim_path known, uint64_t path)
{
	struct place place;
	uint32_t cpu;
	uint64_t now = arch_clock(control, &cpu);

	if (!place_still_on(control, now))
		return false;
	place = place_for(control, cpu, 1);
	place.time = now;
	return place_line(control, call, event, &place, known, path);
}

static struct shim_event alloc_event(const struct shim_made *made)
{
	return (struct shim_event){
		.kind = RING_ALLOC, .address = made->address, .size = made->size,
		.align_log2 = made->align_log2,
	};
}

static __attribute__((noinline)) bool alloc_slowly(struct ring_control *control,
						   const struct shim_call *call,
						   const struct shim_made *made)
{
	struct shim_event event = alloc_event(made);
	bool recorded = shim_record(control, call, &event);

	shim_wipe();
	return recorded;
}

static __attribute__((noinline)) bool alloc_known(struct ring_control *control,
						  const struct shim_call *call,
						  const struct shim_made *made,
						  enum shim_path known, uint64_t path)
{
	struct shim_event event = alloc_event(made);
	bool recorded = shim_record_known(control, call, &event, known, path);

	shim_wipe();
	return recorded;
}

bool shim_exact_alloc(struct ring_control *control, const struct shim_call *call,
		      const struct shim_made *made)
{
	const struct shim_event event = alloc_event(made);
	enum shim_path known = SHIM_PATH_NONE;
	uint64_t path = 0;

	if ((shim_load(&control->pressed) & RING_PRESSED) ||
	    place_is_timed(control, made->address))
		return alloc_slowly(control, call, made);
	if (shim_load(&control->recognise))
		known = shim_path_find(control, call, &path);
	if (known == SHIM_PATH && record_line(control, call, &event, known, path))
		return true;
	return alloc_known(control, call, made, known, path);
}

static __attribute__((noinline)) bool free_slowly(struct ring_control *control,
						  const struct shim_call *call,
						  uint64_t address, bool with_stack)
{
	const struct shim_event event = {
		.kind = RING_FREE, .address = address, .with_stack = with_stack,
	};

	bool recorded = false;

	/* Else this is a fork child by now, out of a signal handler, without such memory. */
	if (shim_control() == control)
		recorded = shim_record(control, call, &event);
	shim_wipe();
	return recorded;
}

bool shim_exact_free(struct ring_control *control, const struct shim_call *call,
		     uint64_t address, bool with_stack)
{
	const struct shim_event event = { .kind = RING_FREE, .address = address };

	if (!with_stack && !place_is_timed(control, address) &&
	    record_line(control, call, &event, SHIM_PATH_NONE, 0))
		return true;
	return free_slowly(control, call, address, with_stack);
}
