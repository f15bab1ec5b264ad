/* SPDX-License-Identifier: MIT */
/*
 * thread_table.h - what the threads of a session did, as a value: a row a thread, its part in each
 * site, and who freed whose blocks. Scaled; bytes, blocks, seconds since the session began.
 *
 * Threads are told apart by their thread pointer: one that got the place of an ended one counts
 * as that one (ids: how many kernel threads were seen there).
 */
#ifndef MEMATTACH_LIVE_THREAD_TABLE_H
#define MEMATTACH_LIVE_THREAD_TABLE_H

#include "src/base/ticks.h"
#include "src/live/live.h"

#define THREAD_TABLE_ROWS	4096u	/* those that allocated most; also in recordings */
#define THREAD_TABLE_PARTS	32768u
#define THREAD_TABLE_HANDOVERS	4096u
#define THREAD_NAME_BYTES	16u

/* Which kernel thread has a thread pointer; zeroed: not known. */
struct thread_id {
	uint32_t tid;			/* in its own pid namespace; the last one seen */
	uint32_t ids;			/* how many were seen there, one after the other */
	uint32_t asked;			/* whose name was asked for last: thread_ids.c's own */
	char name[THREAD_NAME_BYTES];	/* comm; any bytes */
};
struct thread_row {
	uint32_t number;		/* 1, 2, ... as they were first seen */
	struct thread_id id;
	uint64_t alloc_count, alloc_bytes, free_count, free_bytes;
	uint64_t freed_others, freed_others_bytes;	/* frees of what another allocated */
	uint64_t live_count, live_bytes;	/* of what it allocated */
	double first, last;		/* events */
};
/* Of the blocks that thread allocated at site. */
struct thread_part {
	uint32_t site, thread;		/* thread 0: threads that are not told apart there */
	uint64_t alloc_count, alloc_bytes, free_count, live_count, live_bytes;
	uint64_t temporary_count;
};
struct thread_handover {
	uint32_t owner, freer;		/* both 0: the pairs that are not told apart */
	uint64_t count, bytes;
};
struct thread_table {
	uint32_t total;			/* threads seen, also those without a row */
	size_t row_count, part_count, handover_count;
	struct thread_row *row;		/* by allocated bytes, descending; then by number */
	struct thread_part *part;	/* by site, then by thread */
	struct thread_handover *handover;	/* by bytes, descending */
};

/* id[number - 1], id_count of them; the rest is not known. 0 or -ENOMEM. */
int thread_table_take(const struct live *live, const struct ticks *ticks,
		      const struct thread_id *id, uint32_t id_count,
		      struct thread_table **ret) _must_check_;
/* NULL is ignored. */
void thread_table_free(struct thread_table *table);
/* By number, or NULL. */
const struct thread_row *thread_table_find(const struct thread_table *table, uint32_t number);

#endif
