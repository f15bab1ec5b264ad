/* SPDX-License-Identifier: MIT */
/*
 * forged_recording.h - a small recording with rows in every table, changes to any column of it,
 * and everything that reads recordings: for a test of all columns, and for the fuzzer.
 */
#ifndef MEMATTACH_TESTS_FORGED_RECORDING_H
#define MEMATTACH_TESTS_FORGED_RECORDING_H

#include <stddef.h>
#include <stdint.h>

/* Makes the good one, in a folder that is removed at exit. */
void forged_begin(void);
/* "table.column"; SIZE: how many there are. Those of tables to come are among them. */
size_t forged_columns(void);
const char *forged_column(size_t column);

enum forged_way {
	FORGED_SET = 0,		/* one row's value */
	FORGED_SET_ALL,
	FORGED_COPY,		/* one more row like that, but for this value */
	FORGED_COPY_MANY,	/* a hundred, the value counted up */
	FORGED_TAKE,		/* another row's value */
	FORGED_DELETE,		/* the row */
	FORGED_DELETE_ALL,
	FORGED_DROP_COLUMN,
	FORGED_DROP_TABLE,
	FORGED_WAYS
};
struct forged_change {
	size_t column;
	enum forged_way way;
	uint32_t row;			/* or the one with the nearest lower number */
	size_t value;			/* of forged_values(); beyond: the number itself */
};
size_t forged_values(void);

/* A good one again; changes to its cells follow, then forged_close. */
void forged_open(void);
void forged_apply(const struct forged_change *change);
void forged_close(void);
/* The same with bytes of the file changed: three of place, one to put there, and so on. */
void forged_bytes(const uint8_t *data, size_t size);

enum forged_use {
	FORGED_REPORTS = 1, FORGED_VIEWS = 2, FORGED_COMPARED = 4, FORGED_EXPORTS = 8,
	FORGED_HEAPTRACK = 16,		/* which may write a hundred megabytes */
	FORGED_ALL = 31
};
/*
 * Its end and the moment ("@5s") are read, and judged, printed and compared as wanted. Aborts where
 * text holds what a terminal obeys, a document is none, or anything is longer than the file
 * explains. 0, or what recording_read said.
 */
int forged_use(const char *moment, unsigned int what);
const char *forged_path(void);

#endif
