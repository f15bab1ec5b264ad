/* SPDX-License-Identifier: MIT */
/* extent.h - how much reports would print of a recording's stacks. */
#ifndef MEMATTACH_RECORDING_EXTENT_H
#define MEMATTACH_RECORDING_EXTENT_H

#include "src/recording/recording.h"

/*
 * 0; -EBADMSG more than its file can account for (recording_bounds_print), as recording_damage
 * says; -ENOMEM.
 */
int recording_extent_check(const struct recording_content *content) _must_check_;

#endif
