/* SPDX-License-Identifier: MIT */
/*
 * several_stacks.c - see several_private.h.
 *
 * Ids of modules are each recording's own. In the stacks put together a module has another id, by
 * which its recording is found again when a name is asked for. A frame that is in no module keeps
 * its 0, which says that its offset is an address: the first recording that knows it names it.
 */
#include "src/several/several_private.h"

#include <errno.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct module_key {
	uint32_t process, module;	/* index; id in its recording, not 0 */
};
struct several_module {
	struct module_key key;
	uint32_t id;			/* in the stacks put together, from 1 */
	UT_hash_handle hh;
};

static int add_module(struct several_tables *t, const struct module_key *key, uint32_t *ret)
{
	struct several_module *module = calloc(1, sizeof(*module));
	uint32_t room = t->module_room ? t->module_room * 2 : 64;

	if (module && t->module_count == t->module_room) {
		void *grown = reallocarray(t->module, room, sizeof(*t->module));

		if (grown) {
			t->module = grown;
			t->module_room = room;
		}
	}
	if (!module || t->module_count == t->module_room) {
		free(module);
		return -ENOMEM;
	}
	module->key = *key;
	module->id = t->module_count + 1;
	HASH_ADD(hh, t->modules, key, sizeof(module->key), module);
	if (!module->hh.tbl) {
		free(module);
		return -ENOMEM;
	}
	t->module[t->module_count++] = module;
	*ret = module->id;
	return 0;
}

static int module_id(struct several_tables *t, uint32_t process, uint32_t module, uint32_t *ret)
{
	const struct module_key key = { process, module };
	struct several_module *known;

	*ret = 0;
	if (!module)
		return 0;
	HASH_FIND(hh, t->modules, &key, sizeof(key), known);
	if (!known)
		return add_module(t, &key, ret);
	*ret = known->id;
	return 0;
}

int several_stacks_add(struct several *several, uint32_t process, uint32_t id, uint32_t *ret)
{
	struct stack stack = stacks_get(several->process[process].content->stacks, id);
	_cleanup_free_ struct frame *frame = calloc(stack.frame_count + 1, sizeof(*frame));
	int err = frame ? 0 : -ENOMEM;

	*ret = 0;
	if (stack.frame_count == 0)
		return err;
	for (uint32_t i = 0; err == 0 && i < stack.frame_count; i++) {
		frame[i] = stack.frame[i];
		err = module_id(several->tables, process, stack.frame[i].module, &frame[i].module);
	}
	return err ? err : stacks_intern(several->stacks, frame, stack.frame_count, stack.flags,
					 ret);
}

static const struct symbol_frame *several_stacks_ask(const struct several_process *process,
						     const struct frame *frame, size_t *ret_count)
{
	const struct report_names *names = &process->content->names;

	return names->frame(names->context, frame, ret_count);
}

/* What no recording knows, the first one calls unknown. */
static const struct symbol_frame *ask_all(const struct several *several, const struct frame *frame,
					  size_t *ret_count)
{
	for (size_t i = 0; i < several->watched; i++) {
		const struct symbol_frame *symbol =
			several_stacks_ask(&several->process[i], frame, ret_count);

		if (symbol->function || symbol->offset)
			return symbol;
	}
	return several_stacks_ask(&several->process[0], frame, ret_count);
}

static const struct symbol_frame *name_frame(void *context, const struct frame *frame,
					     size_t *ret_count)
{
	const struct several *several = context;
	const struct several_module *module;
	struct frame theirs = *frame;

	if (!frame->module || frame->module > several->tables->module_count)
		return ask_all(several, frame, ret_count);
	module = several->tables->module[frame->module - 1];
	theirs.module = module->key.module;
	return several_stacks_ask(&several->process[module->key.process], &theirs, ret_count);
}

struct report_names several_stacks_names(struct several *several)
{
	return (struct report_names){ .frame = name_frame, .context = several };
}

void several_stacks_done(struct several *several)
{
	struct several_module *module, *next;

	HASH_ITER(hh, several->tables->modules, module, next) {
		HASH_DEL(several->tables->modules, module);
		free(module);
	}
	free(several->tables->module);
	stacks_free(several->stacks);
}
