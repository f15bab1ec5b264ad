/* SPDX-License-Identifier: MIT */
/*
 * bounds.h - what reading one recording may cost: a multiple of what its file holds. Of one that
 * is read by this thread; opening the next begins anew.
 */
#ifndef MEMATTACH_RECORDING_BOUNDS_H
#define MEMATTACH_RECORDING_BOUNDS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/cleanup.h"

/* Of what is read through db from now on. bytes: that the file and its log hold. */
void recording_bounds_begin(sqlite3 *db, uint64_t bytes);
/* db is to be written to: what comes is ours. */
void recording_bounds_end(sqlite3 *db);
/* It was closed. SQLite's memory is that of all databases. */
void recording_bounds_lift(void);
/* So much more text of it is to be kept. False: that is more than there can be. */
bool recording_bounds_take(uint64_t bytes);
/*
 * So much text would reports print of stacks, one site after the other; they name the same frames
 * again and again, but not without end. False: too much.
 */
bool recording_bounds_print(uint64_t bytes);
#define RECORDING_BOUNDS_WORDS \
	"it holds more than fits into the file: parts of it refer to each other"
/* Was it too much? Queries end with an error then. */
bool recording_bounds_exceeded(void);
/* SQLite has no memory: is that its limit, since it was to sort too much? Else there is none. */
bool recording_bounds_memory(void);

#endif
