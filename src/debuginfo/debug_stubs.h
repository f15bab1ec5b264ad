/* SPDX-License-Identifier: MIT */
/* debug_stubs.h - which function a stub of a module's linkage table leads to. */
#ifndef MEMATTACH_LEAK_DEBUG_STUBS_H
#define MEMATTACH_LEAK_DEBUG_STUBS_H

#include "src/modules/modules.h"
#include "src/plan/plt.h"

/* Zeroed: not read yet. */
struct debug_stubs {
	bool opened, has_image;
	struct elf_image image;	/* over the module's bytes */
};
/* The name of the function that the stub at address (virtual, of the file) is for; "" none. */
void debug_stubs_name(struct debug_stubs *stubs, const struct module *module, uint64_t address,
		      char name[PLT_NAME_BYTES]);

#endif
