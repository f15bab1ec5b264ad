/* SPDX-License-Identifier: MIT */
/*
 * mark_cliques.h - how much each lost leader has claimed, in a few bytes a leader.
 *
 * A log: leaders come in ascending order, each with the sums of what it claimed, which
 * include those of former leaders that it claimed. Memory: some 4 to 10 bytes a leader that
 * claimed any, nothing for leaders alone and for what is claimed.
 */
#ifndef MEMATTACH_LEAK_MARK_CLIQUES_H
#define MEMATTACH_LEAK_MARK_CLIQUES_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

/* Blocks and their bytes, without the leader itself. */
struct clique {
	uint64_t count, bytes;
};

struct cliques;
int cliques_new(struct cliques **ret) _must_check_;
void cliques_free(struct cliques *cliques);
/* leader: its address, ascending from call to call. */
void cliques_begin(struct cliques *cliques, uint64_t leader);
/*
 * The leader claims the block at address, which is not its own. pre: a block below the leader
 * was a leader itself.
 */
void cliques_claim(struct cliques *cliques, uint64_t address, uint64_t bytes);
/* 0 or -ENOMEM. */
int cliques_end(struct cliques *cliques) _must_check_;
/* All zeros: no leader is at that address, or it claimed none. */
struct clique cliques_of(const struct cliques *cliques, uint64_t leader);
size_t cliques_memory(const struct cliques *cliques);

#endif
