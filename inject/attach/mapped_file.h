/* SPDX-License-Identifier: MIT */
/* mapped_file.h - the very file that a target has mapped, deleted or hidden ones too. */
#ifndef MEMATTACH_MAPPED_FILE_H
#define MEMATTACH_MAPPED_FILE_H

#include "inject/tracee/target.h"

/*
 * Opens the regular file mapped at exactly [start, end), read only. A
 * descriptor, -ENOENT no such mapping, -ESTALE only another file is to be had
 * under its name, -EINVAL not a regular file, -errno.
 */
int mapped_file_open(const struct target *target, uint64_t start, uint64_t end) _must_check_;

#endif
