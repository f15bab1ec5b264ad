/* SPDX-License-Identifier: MIT */
/*
 * unnamed.h - a recording in files that have no name: what it took of the disk goes with the last
 * process that has them open, whatever ended it.
 */
#ifndef MEMATTACH_RECORDING_UNNAMED_H
#define MEMATTACH_RECORDING_UNNAMED_H

#include <sqlite3.h>

#include "src/base/cleanup.h"

struct recording;
struct recording_content;

/* Two descriptors, inherited by who writes it, then used by who reads it. */
struct recording_unnamed {
	int file, journal;
};
#define RECORDING_UNNAMED_NONE ((struct recording_unnamed){ -1, -1 })

/* Makes both in folder, empty. 0; -ENOENT, -ENOSPC, -EACCES, -EMFILE, -errno. */
int recording_unnamed_new(const char *folder, struct recording_unnamed *ret) _must_check_;
/* Closes them; none is fine. */
void recording_unnamed_done(struct recording_unnamed *unnamed);

/*
 * As recording_open and recording_read; name is what messages call it. pre: unnamed stays open
 * meanwhile. -EBUSY somebody writes it, who has it alone; -ENODATA nobody ever has.
 */
int recording_open_unnamed(const struct recording_unnamed *unnamed, const char *name,
			   struct recording **ret) _must_check_;
int recording_read_unnamed(const struct recording_unnamed *unnamed, const char *name,
			   struct recording_content *ret) _must_check_;

/* What an earlier writer left in them goes. 0, -EBUSY somebody writes, -errno. */
int recording_unnamed_clear(const struct recording_unnamed *unnamed) _must_check_;
/*
 * SQLite's handle for both: with a journal from which a transaction is undone whose writer was
 * killed. 0 or -errno; *ret is to be closed in any case (NULL: there was no memory for it).
 */
int recording_unnamed_open(const struct recording_unnamed *unnamed, sqlite3 **ret) _must_check_;

#endif
