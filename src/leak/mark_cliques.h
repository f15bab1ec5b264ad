/* SPDX-License-Identifier: MIT */
/*
 * mark_cliques.h - which lost blocks were claimed from which leader, in a few bytes each.
 *
 * A log: leaders come in ascending order, and all that a leader claims comes between its
 * begin and its end. Memory: some 2 to 6 bytes a claimed block, nothing for leaders alone.
 */
#ifndef MEMATTACH_LEAK_MARK_CLIQUES_H
#define MEMATTACH_LEAK_MARK_CLIQUES_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

struct cliques;
int cliques_new(struct cliques **ret) _must_check_;
void cliques_free(struct cliques *cliques);
/* leader: its address, ascending from call to call; index: its granule. */
void cliques_begin(struct cliques *cliques, uint64_t leader, uint64_t index);
/* index: the granule of a block that was claimed, not the leader's own. 0 or -ENOMEM. */
int cliques_claim(struct cliques *cliques, uint64_t index) _must_check_;
/* 0 or -ENOMEM. */
int cliques_end(struct cliques *cliques) _must_check_;
/*
 * Calls each for every index claimed from leader itself, until it returns not 0, which is then
 * the result. 0 as well if it claimed none. index: the leader's granule.
 */
int cliques_each(const struct cliques *cliques, uint64_t leader, uint64_t index,
		 int (*each)(void *context, uint64_t index), void *context);
size_t cliques_memory(const struct cliques *cliques);

#endif
