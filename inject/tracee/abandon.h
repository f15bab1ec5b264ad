/* SPDX-License-Identifier: MIT */
/*
 * abandon.h - tracees that did not stop in time.
 *
 * A running tracee can't be detached; it must be let go when it does stop (the
 * wait of a vfork parent, uninterruptible sleep). Until then it runs freely.
 */
#ifndef MEMATTACH_ABANDON_H
#define MEMATTACH_ABANDON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

/* Before count threads are stopped: room to take note of each. 0 or -ENOMEM. */
int abandon_prepare(size_t count) _must_check_;
/* Takes note of tid: seized, asked to stop, running. */
void abandon_tracee(pid_t tid);
/* True if tid was noted: it is still seized, and is the caller's again to wait for. */
bool abandon_take(pid_t tid);
/* Lets go of every noted tracee that has stopped meanwhile; the number that is left. */
unsigned int abandon_release(void);
/* The same, and waits for them, for seconds at most: a thread without a processor can't stop. */
void abandon_await(void);

#endif
