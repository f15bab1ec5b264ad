/* SPDX-License-Identifier: MIT */
/*
 * debug_modules.c - the debug_index of each module, made when it is asked for.
 *
 * By module id, which are small and never used again. Nothing is ever closed before the end: the
 * entries that callers keep are in libdw's memory.
 */
#include "src/debuginfo/debug_modules.h"

#include <errno.h>
#include <string.h>

struct debug_modules {
	struct dwarf_files *files;	/* own ones unless borrowed from somebody */
	bool is_own;
	struct debug_index **index;	/* [module id - 1] */
	uint32_t count;
};

int debug_modules_new(struct dwarf_files *files, struct debug_modules **ret)
{
	struct debug_modules *debug = calloc(1, sizeof(*debug));

	if (!debug)
		return -ENOMEM;
	debug->files = files;
	debug->is_own = !files;
	if (!files && dwarf_files_new(&debug->files) < 0) {
		free(debug);
		return -ENOMEM;
	}
	*ret = debug;
	return 0;
}

void debug_modules_free(struct debug_modules *debug)
{
	if (!debug)
		return;
	for (uint32_t i = 0; i < debug->count; i++)
		debug_index_free(debug->index[i]);
	free(debug->index);
	if (debug->is_own)
		dwarf_files_free(debug->files);
	free(debug);
}

bool debug_modules_has(const struct debug_modules *debug, uint32_t id)
{
	return id > 0 && id <= debug->count && debug->index[id - 1];
}

struct debug_index *debug_modules_get(struct debug_modules *debug, const struct module *module)
{
	struct debug_index **grown;
	uint32_t count = module->id + 31;

	(void)module_read_names(module);
	if (module->id > debug->count) {
		grown = reallocarray(debug->index, count, sizeof(struct debug_index *));
		if (!grown)
			return NULL;
		memset(grown + debug->count, 0,
		       (count - debug->count) * sizeof(struct debug_index *));
		debug->index = grown;
		debug->count = count;
	}
	if (!debug->index[module->id - 1] &&
	    debug_index_new(module, debug->files, &debug->index[module->id - 1]) < 0)
		return NULL;
	return debug->index[module->id - 1];
}
