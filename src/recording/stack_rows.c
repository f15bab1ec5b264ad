/* SPDX-License-Identifier: MIT */
/*
 * stack_rows.c - see stack_rows.h.
 *
 * A program can have 300,000 stacks of 40 frames, all in one interval: twelve million rows. So
 * rows of stack_frames are written 32 at once, which spares SQLite most of its work between two,
 * and who waits for the end is told now and then that it is under way.
 */
#include "src/recording/stack_rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PULSE_STACKS	256u

static int prepare_many(struct stack_rows *rows, sqlite3 *db)
{
	char sql[64 + STACK_ROWS_AT_ONCE * 8] = "INSERT OR REPLACE INTO stack_frames VALUES";
	size_t length = strlen(sql);

	for (unsigned int i = 0; i < STACK_ROWS_AT_ONCE; i++)
		length += (size_t)snprintf(sql + length, sizeof(sql) - length, "%s(?,?,?)",
					   i ? "," : "");
	return recording_db_errno(db, sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT,
							 &rows->many, NULL));
}

int stack_rows_open(struct stack_rows *rows, sqlite3 *db)
{
	int err = recording_db_prepare(db, "frames", 4, &rows->frame);

	if (err == 0)
		err = recording_db_prepare(db, "stacks", 2, &rows->stack);
	if (err == 0)
		err = recording_db_prepare(db, "stack_frames", STACK_ROWS_COLUMNS, &rows->one);
	return err ? err : prepare_many(rows, db);
}

/* The id of frame, which is written when it is new. */
static int put_frame(struct stack_rows *rows, const struct frame *frame, uint32_t *ret_id)
{
	struct frame key = { .module = frame->module, .flags = frame->flags,
			     .offset = frame->offset };
	struct known_frame *known;

	HASH_FIND(hh, rows->frames, &key, sizeof(key), known);
	if (known) {
		*ret_id = known->id;
		return 0;
	}
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->frame = key;
	known->id = *ret_id = ++rows->frame_count;
	HASH_ADD(hh, rows->frames, frame, sizeof(key), known);
	return recording_db_put(rows->frame,
				(const struct cell[]){ CELL_I(known->id), CELL_I(frame->module),
						       CELL_I(frame->offset),
						       CELL_I(frame->flags) }, 4);
}

/* Those that are too few for all at once. */
static int flush(struct stack_rows *rows)
{
	int err = 0;

	for (unsigned int i = 0; err == 0 && i < rows->waiting; i++)
		err = recording_db_put(rows->one, &rows->cell[i * STACK_ROWS_COLUMNS],
				       STACK_ROWS_COLUMNS);
	rows->waiting = 0;
	return err;
}

static int put_row(struct stack_rows *rows, uint32_t stack, uint32_t depth, uint32_t frame)
{
	struct cell *cell = &rows->cell[rows->waiting * STACK_ROWS_COLUMNS];

	cell[0] = (struct cell)CELL_I(stack);
	cell[1] = (struct cell)CELL_I(depth);
	cell[2] = (struct cell)CELL_I(frame);
	if (++rows->waiting < STACK_ROWS_AT_ONCE)
		return 0;
	rows->waiting = 0;
	return recording_db_put(rows->many, rows->cell, ARRAY_SIZE(rows->cell));
}

static int put_stack(struct stack_rows *rows, uint32_t id, struct stack stack)
{
	int err = recording_db_put(rows->stack, (const struct cell[]){
		CELL_I(id), CELL_I(stack.flags) }, 2);

	for (uint32_t depth = 0; err == 0 && depth < stack.frame_count; depth++) {
		uint32_t frame = 0;

		err = put_frame(rows, &stack.frame[depth], &frame);
		if (err == 0)
			err = put_row(rows, id, depth, frame);
	}
	return err;
}

int stack_rows_put(struct stack_rows *rows, const struct stacks *stacks, uint32_t first,
		   uint32_t last)
{
	int err = 0;

	rows->waiting = 0;
	for (uint32_t id = first; err == 0 && id <= last; id++) {
		if (!stacks_is_dropped(stacks, id))
			err = put_stack(rows, id, stacks_get(stacks, id));
		if (rows->pulse && id % PULSE_STACKS == 0)
			rows->pulse(rows->context);
	}
	return err ? err : flush(rows);
}

void stack_rows_undo(struct stack_rows *rows, uint32_t frame_count)
{
	struct known_frame *frame, *next;

	HASH_ITER(hh, rows->frames, frame, next) {
		if (frame->id <= frame_count)
			continue;
		HASH_DEL(rows->frames, frame);
		free(frame);
	}
	rows->frame_count = frame_count;
	rows->next_to_name = NULL;
}

void stack_rows_end(struct stack_rows *rows)
{
	recording_db_done(&rows->frame);
	recording_db_done(&rows->stack);
	recording_db_done(&rows->one);
	recording_db_done(&rows->many);
}

void stack_rows_done(struct stack_rows *rows)
{
	struct known_frame *frame, *next;

	HASH_ITER(hh, rows->frames, frame, next) {
		HASH_DEL(rows->frames, frame);
		free(frame);
	}
}
