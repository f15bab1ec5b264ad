/* SPDX-License-Identifier: MIT */
/*
 * show_bytes.h - what blocks of suspect sites hold (--show-bytes).
 *
 * Which sites are suspect is known only when the picture is gone; so the oldest reachable blocks
 * of every site are read while it is there.
 */
#ifndef MEMATTACH_SESSION_CONTENTS_H
#define MEMATTACH_SESSION_CONTENTS_H

#include "src/session/session_leaks.h"

/* Reads them, 32 MiB at the most. pre: searched, show_bytes is set. 0 or -ENOMEM. */
int session_contents_keep(struct session_leaks *leaks) _must_check_;
/* Gives the report's groups that have none what was kept of their examples. 0 or -ENOMEM. */
int session_contents_put(struct session_leaks *leaks) _must_check_;
/* Frees what was kept. */
void session_contents_done(struct session_leaks *leaks);

#endif
