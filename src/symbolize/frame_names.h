/* SPDX-License-Identifier: MIT */
/* frame_names.h - functions during which a thread must not be made to call dlopen. */
#ifndef MEMATTACH_FRAME_NAMES_H
#define MEMATTACH_FRAME_NAMES_H

#include "src/symbolize/modules.h"

/*
 * Why a frame at virtual address offset of module forbids it ("a frame is in
 * fork"), or NULL. Goes by the module's exported symbols. The text is a constant.
 */
const char *frame_names_forbidden(const struct module *module, uint64_t offset);

#endif
