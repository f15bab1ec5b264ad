/* SPDX-License-Identifier: MIT */
/* start.h - programs that begin: to where they can be watched. */
#ifndef MEMATTACH_SESSION_START_H
#define MEMATTACH_SESSION_START_H

#include "src/target/target_view.h"

/*
 * The keeper holds the program at its first instruction. Runs it until the
 * dynamic loader says that all libraries are in place (a static one: to its
 * entry point), before any constructor; view is up to date then. 0, -ESRCH it
 * ended before, -ENOEXEC no way to find that moment, -errno.
 */
int session_start_to_libraries(struct target_view *view) _must_check_;
/*
 * A process that was started, or has called exec, a moment ago: waits, some seconds at most,
 * until its dynamic loader has all libraries in place, so that what allocates is found there.
 * It runs on meanwhile. 0 also if they can't be told; -ETIME it still has none, -ESRCH it ended,
 * -ESTALE it called exec (view is of the old program), -EPIPE, -errno.
 */
int session_await_libraries(struct target_view *view) _must_check_;

#endif
