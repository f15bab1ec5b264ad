/* SPDX-License-Identifier: MIT */
/*
 * bounds.c - see bounds.h.
 *
 * SQLite looks at one row at a time. It does not notice where a page is part of many tables or
 * rows, so that a file of some kilobytes has rows for years, each of megabytes, and sorting them
 * fills the disk. So everything that grows is counted: SQLite's steps (each row takes some), pages
 * that it fetches, its memory (where it sorts, too: nothing goes to temporary files), and text
 * that we keep.
 * Our own recordings (a small one, an hour of 5,000 sites, hundreds of moments) need a step for
 * three bytes, 22 fetches a page, as much memory as the file, a tenth of it as text, and print
 * twice as much; what is allowed is mostly a hundred times that.
 *
 * Rejected: PRAGMA quick_check before reading. It finds such pages, but reads all of the file once
 * more, and refuses a recording of which one table that nobody needs is damaged.
 */
#include "src/recording/bounds.h"

#define CHECK_STEPS	256	/* between two looks */
#define LEAST_STEPS	(1u << 20)
#define STEPS_A_BYTE	32u
#define LEAST_FETCHES	16384u
#define FETCHES_A_PAGE	512u
#define PAGE		4096u
#define LEAST_MEMORY	(64u << 20)
#define MEMORY_A_BYTE	8u
#define LEAST_TEXT	(1u << 20)
#define TEXT_A_BYTE	4u	/* UTF-16 grows; some tables are read twice */
#define LEAST_PRINT	(64u << 20)
#define PRINT_A_BYTE	256u

static _Thread_local struct {
	uint64_t steps, fetches, text, print;	/* that are left */
	sqlite3_int64 memory;			/* bytes; 0: no recording was opened */
	bool exceeded;
} bounds;

static uint64_t fetches_of(sqlite3 *db)
{
	int hits = 0, misses = 0, highest;

	(void)sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_HIT, &hits, &highest, 1);
	(void)sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &highest, 1);
	return (uint64_t)(unsigned int)hits + (unsigned int)misses;
}

static bool bounds_take(uint64_t *left, uint64_t count)
{
	bounds.exceeded |= count > *left;
	*left -= count < *left ? count : *left;
	return !bounds.exceeded;
}

/* SQLite calls it every CHECK_STEPS; other than 0 ends the query. */
static int look(void *context)
{
	(void)bounds_take(&bounds.steps, CHECK_STEPS);
	return !bounds_take(&bounds.fetches, fetches_of(context));
}

void recording_bounds_begin(sqlite3 *db, uint64_t bytes)
{
	bytes = bytes < 1ull << 40 ? bytes : 1ull << 40;
	bounds.steps = LEAST_STEPS + STEPS_A_BYTE * bytes;
	bounds.fetches = LEAST_FETCHES + FETCHES_A_PAGE * (bytes / PAGE);
	bounds.text = LEAST_TEXT + TEXT_A_BYTE * bytes;
	bounds.print = LEAST_PRINT + PRINT_A_BYTE * bytes;
	bounds.exceeded = false;
	bounds.memory = (sqlite3_int64)(LEAST_MEMORY + MEMORY_A_BYTE * bytes);
	(void)sqlite3_memory_highwater(1);
	(void)sqlite3_hard_heap_limit64(bounds.memory);
	sqlite3_progress_handler(db, CHECK_STEPS, look, db);
}

void recording_bounds_end(sqlite3 *db)
{
	sqlite3_progress_handler(db, 0, NULL, NULL);
	recording_bounds_lift();
}

void recording_bounds_lift(void)
{
	(void)sqlite3_hard_heap_limit64(0);
}

bool recording_bounds_take(uint64_t bytes)
{
	return bounds_take(&bounds.text, bytes);
}

bool recording_bounds_print(uint64_t bytes)
{
	return bounds_take(&bounds.print, bytes);
}

bool recording_bounds_exceeded(void)
{
	return bounds.exceeded;
}

bool recording_bounds_memory(void)
{
	bounds.exceeded |= bounds.memory && sqlite3_memory_highwater(0) > bounds.memory / 2;
	return bounds.exceeded;
}
