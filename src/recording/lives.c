/* SPDX-License-Identifier: MIT */
/*
 * lives.c - see lives.h.
 *
 * A row a site, whose histograms are JSON objects: {"step": blocks, ...}. sqlite3 takes them
 * apart by json_each, for users as for us: there is no parser here. A row for each step was
 * rejected: thousands of sites have some thirty steps each, and rows are what writing costs.
 * The row of site 0 says until when all others are right: sites without events since their
 * own time are as they were.
 * Reading believes nothing: steps and parts that there are not are left out, as are numbers
 * that are none of blocks; rows out of order, or the same site twice, end it.
 */
#include "src/recording/lives.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/recording/damage.h"

#define MAX_SITE	(1u << 28)
#define MAX_SECONDS	1e10
#define MAX_BLOCKS	1e15
#define COLUMNS		6u
/* "\"495\":1.23456e+10," for each step, braces. */
#define STEP_BYTES	32u
#define TEXT_BYTES	(LIFETIMES_STEPS * STEP_BYTES + 3u)

/* --- writing ------------------------------------------------------------------- */

struct text {
	char bytes[TEXT_BYTES];
	size_t length;
};

static void text_begin(struct text *text)
{
	text->bytes[0] = '{';
	text->length = 1;
}

static void text_add(struct text *text, unsigned int key, double value)
{
	text->length += (size_t)snprintf(text->bytes + text->length, STEP_BYTES, "%s\"%u\":%.17g",
					 text->length > 1 ? "," : "", key, value);
}

static const char *text_end(struct text *text)
{
	text->bytes[text->length] = '}';
	text->bytes[text->length + 1] = '\0';
	return text->bytes;
}

static int put_life(sqlite3_stmt *statement, const struct site_life *life)
{
	struct text freed, living;

	text_begin(&freed);
	for (unsigned int i = 0; i < life->freed.count; i++)
		if (life->freed.bucket[i] > 0)
			text_add(&freed, life->freed.first + i, life->freed.bucket[i]);
	text_begin(&living);
	for (unsigned int i = 0; i < SITE_LIVES_PARTS; i++)
		if (life->born[i])
			text_add(&living, i, life->born[i]);
	const struct cell cell[COLUMNS] = {
		CELL_I(life->site), CELL_R(life->seconds), CELL_T(text_end(&freed)),
		CELL_R((double)life->freed.max / 1e9), CELL_T(text_end(&living)),
		CELL_R(life->oldest),
	};

	return recording_db_put(statement, cell, COLUMNS);
}

int recording_lives_put(sqlite3 *db, const struct site_lives *lives)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	const struct site_life all = { .seconds = lives->seconds, .oldest = NAN };
	int err = recording_db_prepare(db, "site_lives", COLUMNS, &statement);

	if (err == 0)
		err = put_life(statement, &all);
	for (size_t i = 0; err == 0 && i < lives->count; i++)
		err = put_life(statement, &lives->life[i]);
	return err;
}

/* --- reading ------------------------------------------------------------------- */

struct reading {
	struct site_lives *lives;
	size_t at;		/* of the site whose histogram comes */
};

static bool is_time(double seconds)
{
	return seconds >= 0 && seconds <= MAX_SECONDS;
}

static int add_life(struct site_lives *lives, const struct site_life *life)
{
	size_t count = lives->count;
	struct site_life *grown = lives->life;

	if ((count & (count - 1)) == 0)	/* full at every power of two */
		grown = reallocarray(grown, count ? count * 2 : 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	lives->life = grown;
	lives->life[lives->count++] = *life;
	return 0;
}

/* By site, ascending; the first is that of all. */
static int read_life(struct reading *r, struct row *row)
{
	struct site_lives *lives = r->lives;
	struct site_life life = { .site = row_uint32(row, MAX_SITE) };
	double longest;
	bool none;

	life.seconds = row_real(row);
	longest = row_real(row);
	none = sqlite3_column_type(row->statement, row->next) == SQLITE_NULL;
	life.oldest = none ? NAN : row_real(row);
	if (!is_time(life.seconds) || !is_time(longest))
		return recording_damage("site_lives", "columns time, longest: no times");
	if (life.site == MAX_SITE)
		return recording_damage("site_lives", "column site: no id");
	if (life.site == 0) {
		lives->seconds = life.seconds;
		return 0;
	}
	if (life.seconds > lives->seconds)
		return recording_damage("site_lives", "column time: later than that of site 0");
	if (lives->count && lives->life[lives->count - 1].site >= life.site)
		return recording_damage("site_lives", "column site: one twice");
	life.freed.max = (uint64_t)(longest * 1e9);
	return add_life(lives, &life);
}

/* The site of the histogram's next number; NULL: there is none such. */
static struct site_life *life_of(struct reading *r, struct row *row)
{
	struct site_lives *lives = r->lives;
	uint64_t site = row_uint(row);

	while (r->at < lives->count && lives->life[r->at].site < site)
		r->at++;
	return r->at < lives->count && lives->life[r->at].site == site ? &lives->life[r->at] :
									   NULL;
}

static int read_freed(struct reading *r, struct row *row)
{
	struct site_life *life = life_of(r, row);
	uint64_t step = row_uint(row);
	double blocks = row_real(row);

	if (life && step < LIFETIMES_STEPS && blocks > 0 && blocks <= MAX_BLOCKS)
		lifetimes_add_step(&life->freed, (unsigned int)step, blocks);
	return 0;
}

static int read_living(struct reading *r, struct row *row)
{
	struct site_life *life = life_of(r, row);
	uint64_t part = row_uint(row);
	uint32_t blocks = row_uint32(row, UINT32_MAX);

	if (life && part < SITE_LIVES_PARTS)
		life->born[part] = blocks;
	return 0;
}

/* Calls each() for every row of sql; its first error ends it. 0 or -errno. */
static int query(sqlite3 *db, const char *sql, struct reading *r,
		 int (*each)(struct reading *r, struct row *row))
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int err = 0, result = recording_db_select(db, sql, &statement);

	r->at = 0;
	while (err == 0 && (result == SQLITE_OK || result == SQLITE_ROW)) {
		result = sqlite3_step(statement);
		if (result == SQLITE_ROW)
			err = each(r, &(struct row){ .statement = statement });
	}
	return err < 0 ? err : recording_db_errno(db, result);
}

static const struct {
	const char *sql;
	int (*each)(struct reading *r, struct row *row);
} queries[] = {
	{ "SELECT site, time, longest, oldest FROM site_lives ORDER BY site", read_life },
	{ "SELECT site, key, value FROM site_lives, json_each(freed) ORDER BY site", read_freed },
	{ "SELECT site, key, value FROM site_lives, json_each(living) ORDER BY site",
	  read_living },
};

int recording_lives_read(sqlite3 *db, struct site_lives **ret)
{
	struct reading r = { .lives = NULL };
	int err = recording_db_has_table(db, "site_lives");

	if (err == 0)
		*ret = NULL;
	if (err <= 0)
		return err;
	r.lives = calloc(1, sizeof(*r.lives));
	err = r.lives ? 0 : -ENOMEM;
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(queries); i++)
		err = query(db, queries[i].sql, &r, queries[i].each);
	if (err < 0)
		site_lives_free(r.lives);
	else
		*ret = r.lives;
	return err;
}
