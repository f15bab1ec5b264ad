/* SPDX-License-Identifier: MIT */
/*
 * thread_data.h - what libc keeps for each thread: its control block, its stack's
 * bounds, thread-local storage, and the lists of threads that ended.
 *
 * No symbols and no table of versions: beyond the head of the control block, list and tid
 * (x86-64; seen in glibc 2.36, static too, and musl 1.2.3) all is found by its shape. All of it
 * is the target's word and hostile: a lie changes what is scanned, never how long or where
 * outside the picture.
 */
#ifndef MEMATTACH_LEAK_THREAD_DATA_H
#define MEMATTACH_LEAK_THREAD_DATA_H

#include "src/memory/picture.h"

enum thread_libc { THREAD_GLIBC = 1, THREAD_MUSL };

struct thread_data {
	enum thread_libc libc;
	uint64_t tcb;			/* address of struct pthread, the value of fs_base */
	/*
	 * The stack area as libc knows it; both 0: main thread. glibc: with the guard, and the
	 * data lie in its upper end. musl: without either.
	 */
	uint64_t stack_low, stack_high;
	uint64_t stack_first;		/* end of the guard */
	uint64_t data_low, data_high;	/* static thread-local storage and control block */
	uint64_t dtv_low, dtv_high;	/* the vector of TLS blocks; both 0: none that is sane */
};
/* Whose thread has its fs_base at tcb; 0: neither's. */
enum thread_libc thread_data_libc(const struct picture *picture, uint64_t tcb);
/* The thread whose fs_base is tcb. 0; -ENOENT: no control block of glibc or musl there. */
int thread_data_read(const struct picture *picture, uint64_t tcb,
		     struct thread_data *ret) _must_check_;

/* A thread that ended, whose stack glibc keeps. */
struct thread_ended {
	struct thread_data data;
	/*
	 * Neither joined nor detached: its control block still holds its result. Also a
	 * thread that is being made, whose argument only the control block holds.
	 */
	bool waited_for;
};
/*
 * Walks glibc's lists of stacks from the control blocks of the live threads (tcb,
 * ascending): all stacks on them that belong to none of these. *ret is the caller's to
 * free; NULL when there is none. At most 65,536. 0 or -ENOMEM.
 */
int thread_data_ended(const struct picture *picture, const uint64_t *tcb, size_t count,
		      struct thread_ended **ret, size_t *ret_count) _must_check_;

#endif
