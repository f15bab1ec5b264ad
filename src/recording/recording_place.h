/* SPDX-License-Identifier: MIT */
/* recording_place.h - where a recording goes, and what is there already. */
#ifndef MEMATTACH_RECORDING_PLACE_H
#define MEMATTACH_RECORDING_PLACE_H

#include "src/base/cleanup.h"

/*
 * Removes an older recording at path, with its log. *ret: the file's own name (links are followed
 * and stay), as SQLite is to be given it; the caller's. 0; -EEXIST there is something else, or our
 * own output goes there; -EBUSY somebody writes or reads that recording; -ENOENT, -errno.
 */
int recording_place_clear(const char *path, char **ret) _must_check_;

#endif
