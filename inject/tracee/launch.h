/* SPDX-License-Identifier: MIT */
/* launch.h - a program that is watched from its very first allocation. */
#ifndef MEMATTACH_LAUNCH_H
#define MEMATTACH_LAUNCH_H

#include "inject/tracee/target.h"

/*
 * pid is a child that waits for a byte on gate before it calls exec. Lets it go
 * and holds it where the new program is in place and nothing of it has run. The
 * target is opened with target.held set. 0, -ESRCH it could not exec, -errno.
 */
int launch_hold(pid_t pid, int gate, struct target *ret) _must_check_;
/* Runs the held thread up to address. 0, -ESRCH it ended before, -ETIME, -errno. */
int launch_run_to(struct target *target, uint64_t address) _must_check_;
/*
 * A signal that was taken from the held thread, for launch_release to give back. As in the
 * kernel, one that continues takes back those that stop, and the other way round.
 */
void launch_owe(const struct target *target, int signal);
/* Lets the held thread run, and goes on tracing it. 0 or -ESRCH. */
int launch_go_on(struct target *target) _must_check_;
/* Lets the held thread run for good. 0 (also when nothing is held) or -ESRCH. */
int launch_release(struct target *target);

#endif
