/* SPDX-License-Identifier: MIT */
/* roots_threads.h - what of the memory belongs to threads; for roots.c alone. */
#ifndef MEMATTACH_LEAK_ROOTS_THREADS_H
#define MEMATTACH_LEAK_ROOTS_THREADS_H

#include "src/leak/roots/roots.h"

/* In order of precedence where two claims meet. */
enum claim_kind {
	CLAIM_DATA = 0,		/* TLS, control blocks, dtv */
	CLAIM_STACK,		/* live part of a stack whose bounds are known */
	CLAIM_DEAD,		/* below a stack pointer, or of an ended thread: no root */
	CLAIM_GUESS,		/* from a stack pointer to the end of its mapping */
	CLAIM_KINDS
};
struct claim {
	uint64_t low, high;
	enum claim_kind kind;
	int32_t tid;		/* 0: of no live thread */
};
struct claims {
	size_t count, room;
	struct claim *claim;		/* sorted by (kind, low) */
	size_t word_count, word_room;
	struct root_word *word;		/* registers are not among them */
	size_t ended_threads;
};
/* All claims of all threads, live and ended. 0 or -ENOMEM; free with claims_done either way. */
int claims_collect(const struct roots_input *input, struct claims *ret) _must_check_;
void claims_done(struct claims *claims);

#endif
