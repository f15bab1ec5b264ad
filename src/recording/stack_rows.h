/* SPDX-License-Identifier: MIT */
/*
 * stack_rows.h - stacks and their frames, written to a recording: the tables frames, stacks and
 * stack_frames, which are nine tenths of its rows.
 */
#ifndef MEMATTACH_RECORDING_STACK_ROWS_H
#define MEMATTACH_RECORDING_STACK_ROWS_H

#include <sqlite3.h>
#include <uthash.h>

#include "src/modules/stacks.h"
#include "src/recording/db.h"

#define STACK_ROWS_AT_ONCE	32u
#define STACK_ROWS_COLUMNS	3u	/* of stack_frames */

/* A frame that is written. */
struct known_frame {
	struct frame frame;
	uint32_t id;
	bool named;			/* it has its rows in symbols, for good */
	UT_hash_handle hh;
};

struct stack_rows {
	sqlite3_stmt *frame, *stack, *one, *many;
	struct known_frame *frames;	/* a uthash; in the order of their ids */
	struct known_frame *next_to_name;	/* NULL: the first */
	uint32_t frame_count;
	struct cell cell[STACK_ROWS_AT_ONCE * STACK_ROWS_COLUMNS];
	unsigned int waiting;		/* rows of cell, yet to be written */
	/* Called now and then, as there may be a million rows. NULL: nobody wants to know. */
	void (*pulse)(void *context);
	void *context;
};

/* pre: zeroed. 0 or -errno. */
int stack_rows_open(struct stack_rows *rows, sqlite3 *db) _must_check_;
/* Writes the stacks first to last (ids), and frames that are new. 0 or -errno. */
int stack_rows_put(struct stack_rows *rows, const struct stacks *stacks, uint32_t first,
		   uint32_t last) _must_check_;
/* The transaction in which frames beyond the first so many were written was undone. */
void stack_rows_undo(struct stack_rows *rows, uint32_t frame_count);
/* Before the database is closed. What was written stays known. */
void stack_rows_end(struct stack_rows *rows);
void stack_rows_done(struct stack_rows *rows);

#endif
