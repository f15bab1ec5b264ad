/* SPDX-License-Identifier: MIT */
/* recording_private.h - the writer's state, and the tables whose rows it writes. */
#ifndef MEMATTACH_RECORDING_PRIVATE_H
#define MEMATTACH_RECORDING_PRIVATE_H

#include "src/recording/db.h"
#include "src/recording/limit.h"
#include "src/recording/recording.h"
#include "src/recording/stack_rows.h"

enum table {
	TABLE_TARGET, TABLE_ALLOCATORS, TABLE_ENTRY_POINTS, TABLE_SESSION, TABLE_SNAPSHOTS,
	TABLE_TIMELINE, TABLE_HISTOGRAM, TABLE_MODULES, TABLE_SYMBOLS, TABLE_SITES,
	TABLE_LEAKS, TABLE_LEAK_ADDRESSES, TABLE_COUNT
};
struct recording {
	sqlite3 *db;
	sqlite3_stmt *statement[TABLE_COUNT];
	struct recording_series *series;
	struct recording_limit limit;
	char *path;
	int error;
	bool made;			/* it has its tables */
	bool may_wait;			/* for them, while there is no room */
	bool ended;			/* the target was left */
	bool full;			/* there was no room for the last interval; */
	double retry_at, pause;		/* tried again then; so much later than before */
	char message[512];
	double until;			/* seconds: everything to here is safe */
	struct stack_rows rows;
	uint32_t stack_count, module_count;
	uint64_t snapshot_count;
	size_t timeline_count, hooked_count;
};

/* One row; cells in the order of the table's columns. 0 or -errno. */
int recording_put(struct recording *recording, enum table table, const struct cell *cell,
		  size_t count) _must_check_;
#define PUT(recording, table, ...) \
	recording_put(recording, table, (const struct cell[]){ __VA_ARGS__ }, \
	    ARRAY_SIZE(((const struct cell[]){ __VA_ARGS__ })))

#define COURSE_PART	160u	/* of 256 of the limit: the rest is for what the end adds */

/* Up to which stacks and modules an interval has. */
struct recording_reach {
	uint32_t stack_count, module_count;
};

/* All that an interval adds, within a transaction. 0 or -errno. */
int recording_put_interval(struct recording *recording, const struct snapshot *snapshot,
			   const struct stacks *stacks, const struct modules *modules,
			   struct recording_reach *ret) _must_check_;
/* Allocators and their entry points: whether there are more than were written. */
size_t recording_hooked_count(const struct snapshot_target *target);
/* Modules that are not there yet; *ret_count: up to which there are. 0 or -errno. */
int recording_put_modules(struct recording *recording, const struct modules *modules,
			  uint32_t *ret_count) _must_check_;

#endif
