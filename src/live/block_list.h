/* SPDX-License-Identifier: MIT */
/* block_list.h - the largest blocks that live, one by one: as many as are worth keeping. */
#ifndef MEMATTACH_BLOCK_LIST_H
#define MEMATTACH_BLOCK_LIST_H

#include "src/base/ticks.h"
#include "src/live/live.h"

#define BLOCK_LIST_MAX 20000u	/* in a recording, half a megabyte */

struct listed_block {
	uint64_t address, size;		/* size: requested */
	double born;			/* seconds since the session began */
	double weight;			/* blocks that it stands for; 1: itself */
	uint32_t site;			/* id */
	uint32_t thread;		/* that allocated it: 1, 2, ... as they were first seen */
};
struct block_list {
	size_t count;
	struct listed_block *block;	/* by size, descending; then by age */
};

/* The BLOCK_LIST_MAX largest that live, of those allocated since the attach. 0 or -ENOMEM. */
int block_list_take(const struct live *live, const struct ticks *ticks,
		    struct block_list **ret) _must_check_;
/* NULL is ignored. */
void block_list_free(struct block_list *list);

#endif
