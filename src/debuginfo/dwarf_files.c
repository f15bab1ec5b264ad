/* SPDX-License-Identifier: MIT */
/*
 * dwarf_files.c - the dwarf_file of each module, opened by the first question about it.
 *
 * By module id, which are small and never used again.
 */
#include "src/debuginfo/dwarf_files.h"

#include <errno.h>
#include <string.h>

struct slot {
	bool opened;
	struct dwarf_file *file;	/* NULL: none could be had */
};

struct dwarf_files {
	struct slot *slot;	/* [module id - 1] */
	uint32_t count;
};

int dwarf_files_new(struct dwarf_files **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void dwarf_files_free(struct dwarf_files *files)
{
	if (!files)
		return;
	for (uint32_t i = 0; i < files->count; i++)
		dwarf_file_close(files->slot[i].file);
	free(files->slot);
	free(files);
}

static struct slot *get_slot(struct dwarf_files *files, uint32_t id)
{
	uint32_t count = id + 63;
	struct slot *grown;

	if (id > files->count) {
		grown = reallocarray(files->slot, count, sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + files->count, 0, (count - files->count) * sizeof(*grown));
		files->slot = grown;
		files->count = count;
	}
	return &files->slot[id - 1];
}

struct dwarf_file *dwarf_files_get(struct dwarf_files *files, const struct module *module)
{
	struct slot *slot = get_slot(files, module->id);

	(void)module_read_names(module);
	if (!slot)
		return NULL;
	if (!slot->opened && module->kind != MODULE_JIT &&
	    dwarf_file_open(module, &slot->file) < 0)
		slot->file = NULL;
	slot->opened = true;
	return slot->file;
}
