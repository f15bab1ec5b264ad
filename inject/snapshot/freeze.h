/* SPDX-License-Identifier: MIT */
/*
 * freeze.h - a picture of the target's whole memory at one moment, without keeping it stopped.
 *
 * A child of the target is made by a remote clone() while all threads stand still. It
 * shares every page until somebody writes to it, and never runs: it is read through
 * /proc, killed, and waited for in the target's name.
 */
#ifndef MEMATTACH_FREEZE_H
#define MEMATTACH_FREEZE_H

#include "inject/quiesce/stop.h"
#include "inject/quiesce/vectors.h"
#include "inject/tracee/target.h"

enum freeze_way {
	FREEZE_COPY = 0,	/* the child; the target runs on at once */
	FREEZE_STOP,		/* the target itself, which stands still until freeze_end */
	FREEZE_STANDING,	/* the target itself, which stands at its end (ending.h) */
};
/* Exit status of a child that ran after all, because we died between two steps. */
#define FREEZE_CHILD_STATUS 109

struct freeze_gadgets {
	uint64_t syscall_ret, restorer;	/* checked by the caller (load.h) */
};
/* Zeroed: none. */
struct freeze {
	enum freeze_way way;
	pid_t child, remote;	/* as we and as the target see it; 0: none */
	bool own_files;		/* it shares no descriptors with the target any more */
	bool dead;		/* killed and waited for by us: only the target's wait is left */
	struct stop_all *stop;	/* FREEZE_STOP */
	uint64_t data_kib;	/* private writable memory at the moment of the copy; 0: unknown */
	bool complete;		/* the copy has all of that; else some may be MADV_DONTFORK */
	int mem, maps;		/* of the picture, read only; -1 */
	int pagemap;		/* of it; -1 where it may not be opened */
	struct stop_thread *thread;	/* as they stood, without the call that was made on one */
	size_t thread_count;
	struct vectors vectors;		/* of them */
	uint64_t tsc;		/* while everything stood still */
	uint64_t pause_us;	/* the longest that a thread stood; FREEZE_STOP: 0 until they run */
	uint64_t reap_us;	/* as that, of the longest stop in which the child was waited for */
};

/*
 * May it be frozen? 0 yes; 1 no: reason (one line) says why and what to do; -errno.
 * A target with a userfaultfd, a pid namespace for its next child, too little memory or
 * room for a process is refused.
 */
int freeze_check(const struct target *target, char *reason, size_t room);
/*
 * Takes the picture, within deadline_ns. 0; -EAGAIN, -ETIME (its threads did not stop in
 * time), -EBUSY (stopped by job control), -EUSERS (no room for a process), -ENOMEM (for a
 * copy), -ESRCH, -errno. After an error, too, freeze_end must be called.
 */
int freeze_begin(const struct target *target, const struct freeze_gadgets *gadgets,
		 enum freeze_way way, uint64_t deadline_ns, struct freeze *ret) _must_check_;
/*
 * The picture of a process that stands still by somebody else's doing, at least until freeze_end:
 * count of its threads, at least one. Takes thread, from the heap. 0, -ENOMEM, -errno; freeze_end
 * must be called in any case.
 */
int freeze_standing(struct stop_thread *thread, size_t count, struct freeze *ret) _must_check_;
/*
 * True when the target has ended, or started another program, or has left the table of descriptors
 * that it shares with the picture: this holds what it closed then, and must be ended.
 */
bool freeze_is_stale(const struct target *target, const struct freeze_gadgets *gadgets,
		     const struct freeze *freeze);
/*
 * The half of freeze_end that waits for nobody: the child is dead and holds nothing, what
 * is stopped runs. Any number of times, before freeze_end.
 */
void freeze_kill(struct freeze *freeze);
/*
 * Removes every trace: the child is killed and reaped, what is stopped runs. 0, also when the
 * target has ended; -errno: a zombie child is left in the target, call again
 * (freeze->remote). -ESTALE: the gadgets are another program's.
 */
int freeze_end(const struct target *target, const struct freeze_gadgets *gadgets,
	       uint64_t deadline_ns, struct freeze *freeze);
/*
 * For a cleanup after our death: reaps zombie children of the target that can only be
 * such pictures (no exit signal, never ran). The number that were reaped, or -errno.
 */
int freeze_reap_left(const struct target *target, const struct freeze_gadgets *gadgets,
		     uint64_t deadline_ns);

#endif
