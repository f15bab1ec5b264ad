/* SPDX-License-Identifier: MIT */
/* recording_private.h - the writer's state, and the tables whose rows it writes. */
#ifndef MEMATTACH_RECORDING_PRIVATE_H
#define MEMATTACH_RECORDING_PRIVATE_H

#include <uthash.h>

#include "src/recording/db.h"
#include "src/recording/limit.h"
#include "src/recording/recording.h"

enum table {
	TABLE_TARGET, TABLE_ALLOCATORS, TABLE_ENTRY_POINTS, TABLE_SESSION, TABLE_SNAPSHOTS,
	TABLE_TIMELINE, TABLE_HISTOGRAM, TABLE_MODULES, TABLE_FRAMES, TABLE_SYMBOLS, TABLE_STACKS,
	TABLE_STACK_FRAMES, TABLE_SITES, TABLE_LEAKS, TABLE_LEAK_ADDRESSES, TABLE_COUNT
};
struct known_frame {
	struct frame frame;
	uint32_t id;
	UT_hash_handle hh;
};

struct recording {
	sqlite3 *db;
	sqlite3_stmt *statement[TABLE_COUNT];
	struct recording_series *series;
	struct recording_limit limit;
	char *path;
	int error;
	bool ended;			/* the target was left */
	char message[512];
	double until;			/* seconds: everything to here is safe */
	struct known_frame *frames;	/* written; a uthash */
	uint32_t frame_count, stack_count, module_count;
	uint64_t snapshot_count;
	size_t timeline_count, hooked_count;
};

/* One row; cells in the order of the table's columns. 0 or -errno. */
int recording_put(struct recording *recording, enum table table, const struct cell *cell,
		  size_t count) _must_check_;
#define PUT(recording, table, ...) \
	recording_put(recording, table, (const struct cell[]){ __VA_ARGS__ }, \
	    ARRAY_SIZE(((const struct cell[]){ __VA_ARGS__ })))

/* Modules that are not there yet; *ret_count: up to which there are. 0 or -errno. */
int recording_put_modules(struct recording *recording, const struct modules *modules,
			  uint32_t *ret_count) _must_check_;
/* Stacks that are not there yet, up to id count, with their frames. 0 or -errno. */
int recording_put_stacks(struct recording *recording, const struct stacks *stacks,
			 uint32_t count) _must_check_;

#endif
