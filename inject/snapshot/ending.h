/* SPDX-License-Identifier: MIT */
/*
 * ending.h - a program that we started, held at its end for a last look at its memory.
 *
 * Its threads are traced while it runs, and stop where the kernel ends them: after a fatal
 * signal's core dump, before the memory goes. None of them runs the program's code any more, so
 * its memory stays as it is, and the program's status is decided already.
 */
#ifndef MEMATTACH_ENDING_H
#define MEMATTACH_ENDING_H

#include <stdbool.h>

#include "inject/snapshot/freeze.h"
#include "inject/tracee/target.h"

struct ending;

/*
 * Lets target's held thread run, as launch_release does, but with an eye on its end, and on that
 * of the threads that it makes. *ret is the caller's to pass to ending_release. 0, -ESRCH,
 * -ENOMEM, -errno; after an error nothing was let go.
 */
int ending_guard(struct target *target, struct ending **ret) _must_check_;
/* A descriptor that is readable when ending_turn has something to do. */
int ending_events(const struct ending *ending);
/* Milliseconds until ending_turn must be called without that, too; -1: no need. */
int ending_left_ms(const struct ending *ending);
/* Lets threads that stopped on their way go on. Seldom late: they wait for it. */
void ending_turn(struct ending *ending);
/* Do all threads that there are stand at their end? Not any more if somebody kills them there. */
bool ending_is_held(const struct ending *ending);
/* pre: ending_is_held. A picture of its memory; freeze_end must follow. 0, -ENOMEM, -errno. */
int ending_picture(const struct ending *ending, struct freeze *ret) _must_check_;
/* Lets every thread go, wherever it is, and frees; accepts NULL. */
void ending_release(struct ending *ending);

#endif
