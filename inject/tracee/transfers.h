/* SPDX-License-Identifier: MIT */
/*
 * transfers.h - threads that a stop would cost a part of what they are moving.
 *
 * A thread that sleeps in a large write (or a recv with MSG_WAITALL, sendfile, io_getevents for
 * several, io_uring_enter that has submitted something) may have moved a part of it. A stop ends
 * such a call, which then returns that part: nothing hides this, and not every program goes on with
 * the rest. So who stops a thread for a purpose that can wait does wait, for a while.
 */
#ifndef MEMATTACH_TRANSFERS_H
#define MEMATTACH_TRANSFERS_H

#include "inject/tracee/proc_status.h"
#include "inject/tracee/target.h"

/* A call that has perhaps moved a part. */
bool transfer_is_one(const struct proc_thread_syscall *call);
/* The thread's state, in the order in which a stop may hurt. One that runs may be in anything. */
enum transfer_seen { TRANSFER_NONE, TRANSFER_UNKNOWN, TRANSFER_UNDER_WAY };
enum transfer_seen transfer_seen(pid_t pid, pid_t tid);
/* Is it worth waiting for one to end? Not for ever: some programs are always in one. */
bool transfers_have_patience(void);
/* Lets the target run for a moment. */
void transfers_pause(void);
/*
 * Before all threads are to be stopped: waits until none is in a transfer. Each look takes some
 * 10 us a thread; there is none when patience is at an end.
 */
void transfers_wait(const struct target *target);
/*
 * The same before one thread is stopped, or several one by one; none of them may stand meanwhile.
 * Some us where it is in no transfer.
 */
void transfers_wait_for(pid_t pid, pid_t tid);

#endif
