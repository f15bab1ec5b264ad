/* SPDX-License-Identifier: MIT */
/* make_way.h - where a new recording is to be made, an older one goes. For recording.c. */
#ifndef MEMATTACH_RECORDING_MAKE_WAY_H
#define MEMATTACH_RECORDING_MAKE_WAY_H

#include "src/base/cleanup.h"

/* Removes an older recording at path, with its log. 0; -EEXIST it is another file; -errno. */
int recording_make_way(const char *path) _must_check_;

#endif
