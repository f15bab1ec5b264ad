/* SPDX-License-Identifier: MIT */
/*
 * damage.h - what is wrong with a recording, in words: the table, the column, what was expected.
 *
 * Kept as errno is, by thread, until the next recording is opened: an error is found below
 * callbacks of queries, and said where the whole is given up.
 */
#ifndef MEMATTACH_RECORDING_DAMAGE_H
#define MEMATTACH_RECORDING_DAMAGE_H

#include <sqlite3.h>

#include "src/base/cleanup.h"

/* Nothing is wrong so far. */
void recording_damage_forget(void);
/*
 * "frames", "column id: not 1, 2, 3"; table NULL: the file as a whole. The first that is said
 * stays. Returns -EBADMSG.
 */
int recording_damage(const char *table, const char *what) _must_check_;
/* The same by what SQLite says of sql, which it did not take; NULL: of the statement at work. */
void recording_damage_of(sqlite3 *db, const char *sql);
/* "table frames, column id: not 1, 2, 3", printable; "" when nothing was said. */
const char *recording_damage_cause(void);

#endif
