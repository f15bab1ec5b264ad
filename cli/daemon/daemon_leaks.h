/* SPDX-License-Identifier: MIT */
/* daemon_leaks.h - has sessions search for leaks at the times that their rules say. */
#ifndef MEMATTACH_DAEMON_LEAKS_H
#define MEMATTACH_DAEMON_LEAKS_H

#include "cli/daemon/daemon_watch.h"

/* Says when the next search is due, if now were one. */
void daemon_leaks_put_off(struct daemon_watch *watch, double now);
/* Begins one that is due. */
void daemon_leaks_turn(struct daemon_watch *watch, double now);
/* It grows, which was told just now. */
void daemon_leaks_growth(struct daemon_watch *watch);
/* True, once: one has found something out. Why one has not is said. */
bool daemon_leaks_answered(struct daemon_watch *watch);

#endif
