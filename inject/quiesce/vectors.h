/* SPDX-License-Identifier: MIT */
/*
 * vectors.h - pointers that only vector registers hold.
 *
 * Compilers build pairs of pointers there, and memmove has the last words of an array nowhere
 * else for some instructions. Calls may change all of these registers: what they hold counts
 * where a thread was caught between two instructions of its own, and is dead in a system call.
 */
#ifndef MEMATTACH_VECTORS_H
#define MEMATTACH_VECTORS_H

#include "inject/quiesce/stop.h"

/* A word of a vector register that may be an address. */
struct vector_word {
	int32_t tid;
	uint32_t reserved;
	uint64_t value;
};
struct vectors {
	struct vector_word *word;	/* owned */
	size_t count;
};

/* Adds what a thread's registers hold; xstate: bytes as NT_X86_XSTATE gives them. 0, -ENOMEM. */
int vectors_add(struct vectors *vectors, pid_t tid, const void *xstate, size_t bytes)
	_must_check_;
/*
 * Adds those of all threads (as stop_all_threads tells them, standing still) that are in no
 * system call, but for `without`. 0, -ENOMEM.
 */
int vectors_add_all(struct vectors *vectors, const struct stop_thread *thread, size_t count,
		    pid_t without) _must_check_;
/* Frees; accepts a zeroed one. */
void vectors_done(struct vectors *vectors);

#endif
