/* SPDX-License-Identifier: MIT */
/* thread_ids.h - which kernel threads are behind the thread pointers in the books. */
#ifndef MEMATTACH_THREAD_IDS_H
#define MEMATTACH_THREAD_IDS_H

#include "src/elf/elf_image.h"
#include "src/live/thread_table.h"
#include "src/target/keeper_link.h"

struct thread_ids {
	struct thread_id *id;		/* by small number */
	uint32_t count, capacity;
};

/* The id of the thread with this thread pointer, by its control block (glibc's). 0: not known. */
uint32_t thread_ids_read(const struct elf_reader *memory, uint64_t pointer);
/*
 * Looks at the threads that are new in the books since the last look, or (all) at every one: while
 * it lives a thread has an id. Without memory a thread stays unknown.
 */
void thread_ids_look(struct thread_ids *ids, const struct live *live,
		     const struct elf_reader *memory, bool all);
/*
 * Asks the keeper for the names of threads that it was not asked for yet; again: of all, since
 * names change. At most PROTO_MAX_NAMES at a time. Failing that, they have none.
 */
void thread_ids_name(struct thread_ids *ids, struct keeper_link *link, bool again);
void thread_ids_done(struct thread_ids *ids);

#endif
