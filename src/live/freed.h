/* SPDX-License-Identifier: MIT */
/*
 * freed.h - the last blocks that were freed and whose addresses were not used again:
 * what a second free of one is compared with.
 *
 * Bounded: FREED_MAX blocks, or fewer; the oldest makes room. It does not look addresses up:
 * live.c has their indexes in its own table.
 */
#ifndef MEMATTACH_FREED_H
#define MEMATTACH_FREED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

#define FREED_MAX	262144u
#define FREED_NONE	UINT32_MAX
#define FREED_NO_THREAD	UINT32_MAX	/* it is not known which */

/* Who did something to a block, and when. */
struct freed_event {
	uint64_t time;		/* TSC */
	uint32_t stack;		/* in struct stacks; 0: unknown */
	uint32_t thread;	/* small number */
};
struct freed_block {
	uint64_t address, size;	/* size: bytes asked for; not seen allocated: usable ones, or 0 */
	uint64_t born;		/* TSC of the allocation */
	uint32_t site;		/* of the allocation; 0: it was not seen */
	uint32_t thread;	/* that allocated it */
	struct freed_event freed;
};

struct freed;
int freed_new(struct freed **ret) _must_check_;
void freed_free(struct freed *freed);
/*
 * Remembers block. Returns its index; *ret_evicted is the address that was forgotten
 * for it, 0: none. FREED_NONE: out of memory, nothing changed.
 */
uint32_t freed_add(struct freed *freed, const struct freed_block *block, uint64_t *ret_evicted);
/* The address that is forgotten next; 0: none is there. */
uint64_t freed_oldest(const struct freed *freed);
/* The block at index. pre: it is there. Valid until the next freed_add. */
const struct freed_block *freed_get(const struct freed *freed, uint32_t index);
/* Its address is in use again. pre: it is there. */
void freed_remove(struct freed *freed, uint32_t index);
/*
 * freed_remove(index) will come soon: first index itself is fetched, then, once it is there, what
 * it is linked with. Any index.
 */
void freed_foresee(const struct freed *freed, uint32_t index, bool links);
/* Forgets everything. */
void freed_clear(struct freed *freed);
/* At most so many from now on. pre: none is there. */
void freed_set_most(struct freed *freed, uint32_t most);
/* Calls each() for every one, in no particular order; it may change .site and .freed.stack. */
void freed_each(struct freed *freed, void (*each)(void *context, struct freed_block *block),
		void *context);
/* Memory that they take. */
size_t freed_bytes(const struct freed *freed);
uint32_t freed_count(const struct freed *freed);

#endif
