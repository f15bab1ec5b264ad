/* SPDX-License-Identifier: MIT */
/* writer.c - see writer.h. What record.c asks of the rest of the shim, as simple as can be. */
#include "tests/race/writer.h"

#include "inject/shim/paths.h"

struct shim_root shim_root_page;

void race_arm(struct ring_control *control)
{
	shim_root_page.control = (uint64_t)control;
}

bool race_write(struct ring_control *control, enum ring_kind kind, struct race_record record)
{
	struct shim_call call = { .caller = record.caller, .thread = record.thread };
	struct shim_event event = { .kind = kind, .address = record.address, .size = record.size };

	return shim_record(control, &call, &event);
}

/* Until the reader has made room, or a millisecond later. */
void shim_wait(struct ring_control *control, uint32_t seen, uint32_t turn)
{
	(void)control;
	(void)seen;
	(void)turn;
	race_await(race_written());
}

void shim_wake_reader(struct ring_control *control)
{
	(void)control;
}

/* A stack of no bytes: two lines in all. */
struct shim_stack_plan shim_stack_plan(struct ring_control *control, const struct shim_call *call)
{
	(void)control;
	(void)call;
	return (struct shim_stack_plan){ .flags = RING_F_STACK | RING_F_CALLER_ONLY };
}

void shim_stack_copy(struct ring_control *control, const struct shim_call *call,
		     struct shim_stack_plan *plan, uint8_t *to)
{
	(void)control;
	(void)call;
	(void)plan;
	(void)to;
}

enum shim_path shim_path_find(struct ring_control *control, const struct shim_call *call,
			      uint64_t *ret_path)
{
	(void)control;
	(void)call;
	*ret_path = 0;
	return SHIM_PATH_NONE;
}
