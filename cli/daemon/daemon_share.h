/* SPDX-License-Identifier: MIT */
/* daemon_share.h - what all sessions together spend, kept within max-overhead. */
#ifndef MEMATTACH_CLI_DAEMON_SHARE_H
#define MEMATTACH_CLI_DAEMON_SHARE_H

#include "cli/daemon/daemon_watch.h"

/* When to look again: roster_now(); INFINITY: there is nobody to look at. */
double daemon_share_next(const struct daemon_watch *watch, size_t count, double looked);
/*
 * How much each process works, and so what its session may spend; those that are to spend more
 * than before, or less, are told.
 */
void daemon_share_turn(struct daemon_watch *watch, size_t count, double max_overhead);

#endif
