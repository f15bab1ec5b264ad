/* SPDX-License-Identifier: MIT */
/*
 * access_watch.h - which code reads or writes a few words of the target, for a moment.
 *
 * Hardware breakpoints by perf_event_open on each of its threads: no thread is stopped, no code
 * is changed, and the kernel itself ends each after a few hits, so that the hottest word costs
 * the target next to nothing. What the kernel writes about the hits is handed on unread.
 */
#ifndef MEMATTACH_ACCESS_WATCH_H
#define MEMATTACH_ACCESS_WATCH_H

#include <stdbool.h>

#include "inject/tracee/target.h"

#define ACCESS_SLOTS		4u	/* debug registers for data that a processor has */
#define ACCESS_WORD_BYTES	8u
#define ACCESS_MAX_THREADS	256u	/* at a time; of more, as many by chance */
#define ACCESS_MAX_HITS		8u	/* of one word by one thread, */
#define ACCESS_WORD_HITS	64u	/* of one word by all, one each at least */
#define ACCESS_STACK_BYTES	2048u	/* of the stack that come with a hit */

/* One word to watch, aligned. */
struct access_slot {
	uint64_t address;
	uint32_t writes_only;	/* 0: reads and writes */
	uint32_t reserved;
};
/* Request: what to watch from now on. */
struct access_begin {
	uint32_t count;
	uint32_t first;		/* 1: of a new series, which the user has not asked to stop yet */
	struct access_slot slot[ACCESS_SLOTS];
};
enum access_limit {
	ACCESS_NO_KERNEL = 1u << 0,	/* accesses by system calls on its behalf are not seen */
	ACCESS_NO_MEMORY = 1u << 1,	/* fewer threads than asked: locked memory, descriptors */
	ACCESS_NO_SLOT = 1u << 2,	/* on some thread a debug register was taken */
};
/* Reply. */
struct access_began {
	uint32_t threads;	/* that are watched */
	uint32_t threads_there;
	uint32_t slots;		/* bit i: slot[i] is watched on at least one */
	uint32_t limits;	/* enum access_limit */
	uint32_t hits;		/* of one slot by one thread, after which it is not watched */
	uint32_t reserved;
};
/* Reply at the end, one for each thread: bytes of records lie in the file, in this order. */
struct access_thread {
	int32_t tid;
	uint32_t bytes;
	uint64_t id[ACCESS_SLOTS];	/* PERF_SAMPLE_IDENTIFIER of each slot's hits; 0: none */
};

/* In the keeper. Zeroed: nothing is watched. */
struct access_watch {
	struct access_ring *ring;	/* owned */
	size_t count;
	size_t ring_bytes;
	bool tested, without_kernel;
	struct access_thread thread[ACCESS_MAX_THREADS];	/* after access_watch_end */
};

/*
 * Watches what request names in the threads that the target has now. 0, *ret filled; -EINVAL no
 * such words; -ENXIO breakpoints are granted here and never fire; -errno of the first refusal,
 * with nothing watched: see access_watch_explain.
 */
int access_watch_begin(const struct target *target, const struct access_begin *request,
		       struct access_watch *watch, struct access_began *ret) _must_check_;
/*
 * Ends it. A sealed file with all records of all threads (watch->thread says whose), or -errno.
 * Without anything watched: an empty file.
 */
int access_watch_end(struct access_watch *watch) _must_check_;
/* Ends it, forgetting what was seen. */
void access_watch_done(struct access_watch *watch);
/* Why access_watch_begin could not (its -errno), in words of one line, and what can be done. */
void access_watch_explain(int error, char *reason, size_t room);

#endif
