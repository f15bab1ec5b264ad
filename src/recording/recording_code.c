/* SPDX-License-Identifier: MIT */
/* recording_code.c - modules, frames and stacks: each is written once, when it is new. */
#include <elf.h>
#include <errno.h>

#include "src/recording/recording_private.h"

/* Where its code begins: in the file's addresses, in the file. 0, 0: it has none. */
static struct module_segment text_of(const struct module *module)
{
	for (uint32_t i = 0; i < module->segment_count; i++)
		if (module->segment[i].flags & PF_X)
			return module->segment[i];
	return (struct module_segment){ 0 };
}

static int put_module(struct recording *recording, const struct module *module)
{
	const struct module_segment text = text_of(module);

	return PUT(recording, TABLE_MODULES, CELL_I(module->id), CELL_T(module->path),
		   CELL_T(module->build_id), CELL_I(module->kind), CELL_I(module->low),
		   CELL_I(module->high), CELL_I(module->bias), CELL_I(text.address),
		   CELL_I(text.offset), CELL_I(text.memory_bytes));
}

int recording_put_modules(struct recording *recording, const struct modules *modules,
			  uint32_t *ret_count)
{
	uint32_t count = modules ? modules_count(modules) : 0;
	int err = 0;

	for (uint32_t id = recording->module_count + 1; err == 0 && id <= count; id++) {
		const struct module *module = modules_get(modules, id);

		if (module)
			err = put_module(recording, module);
	}
	*ret_count = count > recording->module_count ? count : recording->module_count;
	return err;
}

/* The id of frame, which is written when it is new. */
static int put_frame(struct recording *recording, const struct frame *frame, uint32_t *ret_id)
{
	struct known_frame *known;
	struct frame key = { .module = frame->module, .flags = frame->flags,
			     .offset = frame->offset };

	HASH_FIND(hh, recording->frames, &key, sizeof(key), known);
	if (known) {
		*ret_id = known->id;
		return 0;
	}
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->frame = key;
	known->id = *ret_id = ++recording->frame_count;
	HASH_ADD(hh, recording->frames, frame, sizeof(key), known);
	return PUT(recording, TABLE_FRAMES, CELL_I(known->id), CELL_I(frame->module),
		   CELL_I(frame->offset), CELL_I(frame->flags));
}

static int put_stack(struct recording *recording, uint32_t id, struct stack stack)
{
	int err = PUT(recording, TABLE_STACKS, CELL_I(id), CELL_I(stack.flags));

	for (uint32_t depth = 0; err == 0 && depth < stack.frame_count; depth++) {
		uint32_t frame = 0;

		err = put_frame(recording, &stack.frame[depth], &frame);
		if (err == 0)
			err = PUT(recording, TABLE_STACK_FRAMES, CELL_I(id), CELL_I(depth),
				  CELL_I(frame));
	}
	return err;
}

int recording_put_stacks(struct recording *recording, const struct stacks *stacks, uint32_t count)
{
	int err = 0;

	for (uint32_t id = recording->stack_count + 1; err == 0 && id <= count; id++)
		if (!stacks_is_dropped(stacks, id))
			err = put_stack(recording, id, stacks_get(stacks, id));
	return err;
}
