/* SPDX-License-Identifier: MIT */
/* recording_modules.c - modules: each is written once, when it is new. */
#include <elf.h>

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
