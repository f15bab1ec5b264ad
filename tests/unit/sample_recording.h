/* SPDX-License-Identifier: MIT */
/*
 * sample_recording.h - a recording in a folder of its own, of a session of so many seconds: site 1
 * loses ten blocks a second, site 2 is a cache that is full, site 3 a table that grows in the
 * first 22 seconds. For tests of what is read from it.
 */
#ifndef MEMATTACH_TESTS_SAMPLE_RECORDING_H
#define MEMATTACH_TESTS_SAMPLE_RECORDING_H

#include <sqlite3.h>
#include <unistd.h>

#include "src/recording/recording.h"
#include "tests/unit/sample_session.h"

enum {
	SAMPLE_LEAK = 1,
	SAMPLE_REQUESTS = 2,	/* most of site 1's blocks are freed at once */
};
#define SAMPLE_CACHE	50u	/* blocks */
#define SAMPLE_TABLE	22u	/* seconds */
static char sample_folder[64], sample_path[96];

static inline int sample_recording_begin(void **state)
{
	(void)state;
	strcpy(sample_folder, "/tmp/memattach-recording.XXXXXX");
	if (!mkdtemp(sample_folder))
		return -1;
	snprintf(sample_path, sizeof(sample_path), "%s/r.db", sample_folder);
	return 0;
}

static inline void sample_recording_remove(void)
{
	static const char *const suffix[] = { "", "-wal", "-shm", "-journal" };
	char name[128];

	for (size_t i = 0; i < ARRAY_SIZE(suffix); i++) {
		snprintf(name, sizeof(name), "%s%s", sample_path, suffix[i]);
		(void)unlink(name);
	}
}

static inline int sample_recording_end(void **state)
{
	(void)state;
	sample_recording_remove();
	return rmdir(sample_folder);
}

static inline void sample_change(const char *sql)
{
	sqlite3 *db = NULL;

	sample_must(sqlite3_open(sample_path, &db) == SQLITE_OK ? 0 : -1);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
		abort();
	}
	sqlite3_close(db);
}

/* The first column of the first row, a number. */
static inline int64_t sample_ask(const char *sql)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;
	int64_t ret;

	sample_must(sqlite3_open(sample_path, &db) == SQLITE_OK ? 0 : -1);
	sample_must(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK ? 0 : -1);
	sample_must(sqlite3_step(statement) == SQLITE_ROW ? 0 : -1);
	ret = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return ret;
}

/* Ends an interval. */
static inline void sample_add(struct recording *recording, struct sample *sample)
{
	struct snapshot *snapshot;

	sample_tick(sample);
	snapshot = sample_take(sample, false, SNAPSHOT_ATTACHED);
	sample_must(recording_add(recording, snapshot, sample->stacks, NULL));
	snapshot_free(snapshot);
}

static inline void sample_second(struct sample *sample, uint64_t second, unsigned int what)
{
	uint64_t end = 1000 + (second + 1) * 1000000000ull;

	for (uint64_t i = 0; i < 10; i++) {
		uint64_t number = second * 10 + i, at = 0x40000000 + number * 256;

		sample_alloc(sample, 0x10000000 + number * 256, 100, 0, sample->stack[0]);
		if (what & SAMPLE_REQUESTS) {
			sample_alloc(sample, 0x80000000, 100, 0, sample->stack[0]);
			sample_free(sample, 0x80000000);
		}
		sample_alloc(sample, at, 100, 0, sample->stack[1]);
		if (number >= SAMPLE_CACHE)
			sample_free(sample, at - SAMPLE_CACHE * 256ull);
		if (second < SAMPLE_TABLE)
			sample_alloc(sample, 0xc0000000 + number * 256, 200, 0, sample->stack[2]);
	}
	sample->now = sample->now < end ? end : sample->now;
}

/* To be closed by the caller. */
static inline struct recording *sample_recording(struct sample *sample, uint64_t seconds,
						 unsigned int what)
{
	struct recording *recording = NULL;

	sample_init(sample, true);
	sample_must(recording_open(sample_path, &recording));
	for (uint64_t second = 0; second < seconds; second++) {
		sample_second(sample, second, what);
		sample_add(recording, sample);
	}
	return recording;
}

#endif
