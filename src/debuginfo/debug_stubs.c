/* SPDX-License-Identifier: MIT */
/*
 * debug_stubs.c - which function a stub of a module's linkage table leads to.
 *
 * From the module's loaded bytes, as src/plan/plt.c does it for the process: symbol tables name no
 * stubs, and objdump's "malloc@plt" is made up the same way.
 */
#include "src/debuginfo/debug_stubs.h"

#include <errno.h>
#include <string.h>

static int read_module(void *context, uint64_t address, void *buffer, size_t bytes)
{
	const uint8_t *from = module_bytes(context, address, bytes, NULL);

	if (!from)
		return -EFAULT;
	memcpy(buffer, from, bytes);
	return 0;
}

void debug_stubs_name(struct debug_stubs *stubs, const struct module *module, uint64_t address,
		      char name[PLT_NAME_BYTES])
{
	struct elf_reader reader = { read_module, (void *)(uintptr_t)module };
	uint64_t first = module->segment_count ? module->segment[0].address : 0, slot;

	if (!stubs->opened) {
		stubs->opened = true;
		stubs->has_image = elf_image_open(&reader, first, &stubs->image) == 0;
	}
	name[0] = '\0';
	if (stubs->has_image && plt_resolve(&stubs->image, address, &slot, name) < 0)
		name[0] = '\0';
}
