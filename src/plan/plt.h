/* SPDX-License-Identifier: MIT */
/* plt.h - where a stub of a module's procedure linkage table leads. */
#ifndef MEMATTACH_PLT_H
#define MEMATTACH_PLT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/elf/elf_image.h"

#define PLT_NAME_BYTES 64u

/*
 * Decodes the stub at address of image. ret_target gets what its GOT slot holds
 * now: the function, or, before the first call of a lazily bound one, code of the
 * linkage table itself. ret_name gets the symbol it is for, "" when unknown.
 * 0, -ENOENT no such stub, -errno.
 */
int plt_resolve(const struct elf_image *image, uint64_t address, uint64_t *ret_target,
		char ret_name[PLT_NAME_BYTES]) _must_check_;

#endif
