/* SPDX-License-Identifier: MIT */
/* orphan.h - the journal of a forked process, from the files that it maps. */
#ifndef MEMATTACH_ORPHAN_H
#define MEMATTACH_ORPHAN_H

#include "inject/attach/attachment.h"

/*
 * For a process that has our shim but no ring, and so no journal: one that the
 * target forked, whose keeper is gone. Fills a->journal with the islands, the
 * loader, and every word of the text that differs from its file by a jump of ours.
 * 0; -EBADMSG the shim is another version's; -ENOSPC more jumps than we make; -ETXTBSY one
 * of them lies where there is no file to compare with; -errno (a file can't be opened).
 */
int orphan_rebuild(struct attachment *a, const struct procmaps *maps) _must_check_;

#endif
