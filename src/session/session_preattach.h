/* SPDX-License-Identifier: MIT */
/*
 * session_preattach.h - exact sessions with a leak report: which blocks are older than the attach,
 * from a picture at the beginning, so that frees of them can be told from wrong ones.
 */
#ifndef MEMATTACH_SESSION_OLDER_H
#define MEMATTACH_SESSION_OLDER_H

#include "src/session/session_leaks.h"

/*
 * pre: everything is recorded. like: initialized for the same session, only read. Does nothing
 * unless wrong frees are looked for and the options ask for leaks. Takes the picture, walks the
 * heaps, gives watch->live what they hold, and lets the picture go. *ret says how it went: that
 * it can't be had is no error. 0; -errno: something of the picture is left in the target.
 */
int session_older_take(const struct session_leaks *like, struct watch *watch,
		       struct snapshot_older *ret) _must_check_;

#endif
