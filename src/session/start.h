/* SPDX-License-Identifier: MIT */
/* start.h - brings a program that is being started to where it can be watched. */
#ifndef MEMATTACH_SESSION_START_H
#define MEMATTACH_SESSION_START_H

#include "src/session/target_view.h"

/*
 * The keeper holds the program at its first instruction. Runs it until the
 * dynamic loader says that all libraries are in place (a static one: to its
 * entry point), before any constructor; view is up to date then. 0, -ESRCH it
 * ended before, -ENOEXEC no way to find that moment, -errno.
 */
int session_start_to_libraries(struct target_view *view) _must_check_;

#endif
