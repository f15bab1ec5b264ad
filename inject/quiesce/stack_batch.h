/* SPDX-License-Identifier: MIT */
/* stack_batch.h - the tops of many stopped threads' stacks by one system call. */
#ifndef MEMATTACH_STACK_BATCH_H
#define MEMATTACH_STACK_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { STACK_BATCH_THREADS = 64, STACK_BATCH_WORDS = 1024 };

struct stack_top {
	uint64_t sp, end;	/* the stack from sp, a multiple of 8, to its mapping's end */
	const uint64_t *word;	/* what was read of it, until the next batch */
	size_t count;		/* words; may be 0 */
};

/*
 * Touches the buffer, half a MiB, so that the first batch need not while threads stand still.
 * may_wait: a read may wait for one of them (userfault.h); then all batches have count 0.
 */
void stack_batch_prepare(bool may_wait);
/* Gives its memory back: there may be hundreds of keepers. */
void stack_batch_done(void);
/*
 * Reads up to STACK_BATCH_WORDS of each of count (at most STACK_BATCH_THREADS) stacks. tid: a
 * thread that is stopped, so that its number is its own and its memory stays. What can't be read
 * at once, from the first such stack on, has count 0.
 */
void stack_batch_read(pid_t tid, struct stack_top *top, size_t count);

#endif
