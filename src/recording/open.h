/* SPDX-License-Identifier: MIT */
/* open.h - a new recording's file: its tables, its log. For recording.c. */
#ifndef MEMATTACH_RECORDING_OPEN_H
#define MEMATTACH_RECORDING_OPEN_H

#include <sqlite3.h>

#include "src/recording/unnamed.h"

/*
 * Makes a recording at place (by recording_place_clear), shared with readers if that can be had.
 * 0 or -errno; *ret is to be closed in any case (NULL: there was no memory for it).
 */
int recording_open_new(const char *place, sqlite3 **ret) _must_check_;
/* Once more, where the disk was full (-ENOSPC) then. 0 or -errno. */
int recording_open_again(sqlite3 *db) _must_check_;
/* The same in unnamed files; what was in them goes. */
int recording_open_new_unnamed(const struct recording_unnamed *unnamed, sqlite3 **ret)
	_must_check_;

#endif
