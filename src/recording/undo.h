/* SPDX-License-Identifier: MIT */
/* undo.h - a recording in the midst of a change, as somebody who was killed left it. */
#ifndef MEMATTACH_RECORDING_UNDO_H
#define MEMATTACH_RECORDING_UNDO_H

#include <stdbool.h>

#include "src/base/cleanup.h"

/*
 * Undoes the change by the journal beside the file (recording_db_open says -EUCLEAN where there is
 * one). 0; -EBADMSG the journal is none that memattach makes; -EACCES, -errno.
 */
int recording_undo(const char *path) _must_check_;
/*
 * Was only its making cut short? Then the file had nothing before, and nothing was recorded yet.
 */
bool recording_undo_leaves_nothing(const char *path);

#endif
