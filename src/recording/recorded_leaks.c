/* SPDX-License-Identifier: MIT */
/*
 * recorded_leaks.c - see recorded_leaks.h.
 *
 * A row a group, so that sqlite3 can ask for the largest; unknown figures are NULL. Contents of
 * blocks stand in a table of their own, which is empty unless somebody asked for them.
 * Chains of --trace-to are not kept: they answer one question.
 * Reading believes nothing: rows that refer to no group are left out, examples are as many as
 * a report has, bytes as many as may be shown; a verdict that nobody knows ends it.
 * Rejected: the JSON document as one text. To print it again for people, it would have to be
 * parsed, and nobody could query it by column.
 */
#include "src/recording/recorded_leaks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/leak/holders/contents.h"
#include "src/recording/damage.h"

#define MAX_SITE (1u << 28)
#define TABLES \
	"DROP TABLE IF EXISTS leak_search;" \
	"DROP TABLE IF EXISTS leak_heaps;" \
	"DROP TABLE IF EXISTS leak_groups;" \
	"DROP TABLE IF EXISTS leak_group_addresses;" \
	"DROP TABLE IF EXISTS leak_contents;" \
	"DROP TABLE IF EXISTS leak_early;" \
	"CREATE TABLE leak_search(covers_older_blocks INTEGER, pause_us INTEGER," \
	" scanned_bytes INTEGER, unread_shared_bytes INTEGER, seconds REAL," \
	" definitely_lost_count INTEGER, definitely_lost_bytes INTEGER," \
	" indirectly_lost_count INTEGER, indirectly_lost_bytes INTEGER," \
	" possibly_lost_count INTEGER, possibly_lost_bytes INTEGER," \
	" still_reachable_count INTEGER, still_reachable_bytes INTEGER," \
	" suppressed_count INTEGER, suppressed_bytes INTEGER, watched_seconds REAL," \
	" history_seconds REAL, history_sites INTEGER);" \
	"CREATE TABLE leak_heaps(id INTEGER PRIMARY KEY, allocator TEXT, version TEXT," \
	" covered INTEGER, why TEXT, live_count INTEGER, live_bytes INTEGER);" \
	"CREATE TABLE leak_groups(id INTEGER PRIMARY KEY, verdict TEXT, site INTEGER," \
	" count INTEGER, bytes INTEGER, indirect_count INTEGER, indirect_bytes INTEGER," \
	" size INTEGER, size_class INTEGER, growth_per_hour REAL, oldest_seconds REAL," \
	" type TEXT, variable TEXT, held_by TEXT, last_held_by TEXT, last_held_count INTEGER," \
	" likely_site INTEGER, by_history INTEGER);" \
	"CREATE TABLE leak_group_addresses(leak_group INTEGER, number INTEGER, address INTEGER," \
	" PRIMARY KEY(leak_group, number)) WITHOUT ROWID;" \
	"CREATE TABLE leak_contents(leak_group INTEGER, number INTEGER, address INTEGER," \
	" size INTEGER, bytes TEXT, kind INTEGER, text TEXT, text_cut INTEGER," \
	" PRIMARY KEY(leak_group, number)) WITHOUT ROWID;" \
	"CREATE TABLE leak_early(id INTEGER PRIMARY KEY, site INTEGER, count INTEGER," \
	" bytes INTEGER, longest_lifetime_seconds REAL, needs_seconds REAL);"

enum table { SEARCH, HEAPS, GROUPS, ADDRESSES, CONTENTS, EARLY, TABLE_COUNT };
static const struct {
	const char *name;
	unsigned int columns;
} table[TABLE_COUNT] = {
	[SEARCH] = { "leak_search", 18 }, [HEAPS] = { "leak_heaps", 7 },
	[GROUPS] = { "leak_groups", 18 }, [ADDRESSES] = { "leak_group_addresses", 3 },
	[CONTENTS] = { "leak_contents", 8 }, [EARLY] = { "leak_early", 6 },
};
/* The order of the kinds' sums in a row of leak_search. */
static const enum block_kind kinds[] = {
	BLOCK_DEFINITELY_LOST, BLOCK_INDIRECTLY_LOST, BLOCK_POSSIBLY_LOST, BLOCK_REACHABLE,
};

/* --- writing ------------------------------------------------------------------- */

struct writing {
	sqlite3_stmt *statement[TABLE_COUNT];
};

static void writing_done(struct writing *w)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		recording_db_done(&w->statement[i]);
}

#define PUT(w, which, ...) \
	recording_db_put((w)->statement[which], (const struct cell[]){ __VA_ARGS__ }, \
			 ARRAY_SIZE(((const struct cell[]){ __VA_ARGS__ })))
#define SUM(sum) CELL_I((sum).count), CELL_I((sum).bytes)

static int put_search(struct writing *w, const struct leak_report *leaks)
{
	return PUT(w, SEARCH, CELL_I(leaks->covers_older_blocks), CELL_I(leaks->pause_us),
		   CELL_I(leaks->scanned_bytes), CELL_I(leaks->unread_shared_bytes),
		   CELL_R(leaks->seconds), SUM(leaks->kind[kinds[0]]), SUM(leaks->kind[kinds[1]]),
		   SUM(leaks->kind[kinds[2]]), SUM(leaks->kind[kinds[3]]),
		   SUM(leaks->suppressed), CELL_R(leaks->watched), CELL_R(leaks->history),
		   CELL_I(leaks->history_sites));
}

static int put_early(struct writing *w, const struct leak_report *leaks)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < leaks->early_count; i++) {
		const struct leak_early *early = &leaks->early[i];

		err = PUT(w, EARLY, CELL_I(i), CELL_I(early->site), CELL_I(early->count),
			  CELL_I(early->bytes), CELL_R(early->longest), CELL_R(early->needs));
	}
	return err;
}

static int put_heaps(struct writing *w, const struct leak_report *leaks)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < leaks->heap_count && i < LEAK_MAX_HEAPS; i++) {
		const struct leak_heap *heap = &leaks->heap[i];

		err = PUT(w, HEAPS, CELL_I(i), CELL_T(heap->allocator), CELL_T(heap->version),
			  CELL_I(heap->covered), CELL_T(heap->why), CELL_I(heap->live_count),
			  CELL_I(heap->live_bytes));
	}
	return err;
}

static int put_content(struct writing *w, size_t id, uint32_t number,
		       const struct leak_content *content)
{
	char hex[2 * CONTENTS_MAX_BYTES + 1] = "";

	for (uint32_t i = 0; i < content->count && i < CONTENTS_MAX_BYTES; i++)
		(void)snprintf(hex + (size_t)i * 2, 3, "%02x", (unsigned int)content->byte[i]);
	return PUT(w, CONTENTS, CELL_I(id), CELL_I(number), CELL_I(content->address),
		   CELL_I(content->size), CELL_T(hex), CELL_I(content->kind),
		   CELL_T(content->text), CELL_I(content->text_cut));
}

static int put_group(struct writing *w, size_t id, const struct leak_group *g)
{
	int err = PUT(w, GROUPS, CELL_I(id), CELL_T(leak_verdict_name(g->verdict)),
		      CELL_I(g->site), CELL_I(g->count), CELL_I(g->bytes),
		      CELL_I(g->indirect_count), CELL_I(g->indirect_bytes), CELL_I(g->size),
		      CELL_I(g->size_class), CELL_R(g->growth), CELL_R(g->oldest),
		      CELL_T(g->type), CELL_T(g->variable), CELL_T(g->held_by),
		      CELL_T(g->last_held_by), CELL_I(g->last_held_count),
		      CELL_I(g->likely_site), CELL_I(g->by_history));

	for (uint32_t i = 0; err == 0 && i < g->address_count; i++)
		err = PUT(w, ADDRESSES, CELL_I(id), CELL_I(i), CELL_I(g->address[i]));
	for (uint32_t i = 0; err == 0 && i < g->content_count; i++)
		err = put_content(w, id, i, &g->content[i]);
	return err;
}

int recording_leaks_put(sqlite3 *db, const struct leak_report *leaks)
{
	_cleanup_(writing_done) struct writing w = { { NULL } };
	int err = recording_db_run(db, TABLES);

	for (unsigned int i = 0; err == 0 && i < TABLE_COUNT; i++)
		err = recording_db_prepare(db, table[i].name, table[i].columns, &w.statement[i]);
	if (err == 0)
		err = put_search(&w, leaks);
	if (err == 0)
		err = put_heaps(&w, leaks);
	for (size_t i = 0; err == 0 && i < leaks->group_count; i++)
		err = put_group(&w, i, &leaks->group[i]);
	if (err == 0)
		err = put_early(&w, leaks);
	return err;
}

/* --- reading ------------------------------------------------------------------- */

/* Calls each() for every row of sql; its first error ends it. 0 or -errno. */
static int query(sqlite3 *db, const char *sql, struct leak_report *leaks,
		 int (*each)(struct leak_report *leaks, struct row *row))
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int err = 0, result = recording_db_select(db, sql, &statement);

	while (err == 0 && (result == SQLITE_OK || result == SQLITE_ROW)) {
		result = sqlite3_step(statement);
		if (result == SQLITE_ROW)
			err = each(leaks, &(struct row){ .statement = statement });
	}
	return err < 0 ? err : recording_db_errno(db, result);
}

static double row_real_or_nan(struct row *row)
{
	bool null = sqlite3_column_type(row->statement, row->next) == SQLITE_NULL;
	double value = row_real(row);

	return null ? (double)NAN : value;
}

static struct leak_sum row_sum(struct row *row)
{
	uint64_t count = row_uint(row);

	return (struct leak_sum){ count, row_uint(row) };
}

static void row_words(struct row *row, char *to, size_t room)
{
	const unsigned char *text = sqlite3_column_text(row->statement, row->next++);

	(void)snprintf(to, room, "%s", text ? (const char *)text : "");
}

/* As row_text; false: out of memory. */
static bool take_text(struct row *row, char **ret)
{
	bool null = sqlite3_column_type(row->statement, row->next) == SQLITE_NULL;

	*ret = row_text(row);
	return null || *ret;
}

/* An older memattach wrote no more columns. */
static bool row_ends(const struct row *row)
{
	return row->next >= sqlite3_column_count(row->statement);
}

static int read_search(struct leak_report *leaks, struct row *row)
{
	leaks->covers_older_blocks = row_bool(row);
	leaks->pause_us = row_uint(row);
	leaks->scanned_bytes = row_uint(row);
	leaks->unread_shared_bytes = row_uint(row);
	leaks->seconds = row_real(row);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		leaks->kind[kinds[i]] = row_sum(row);
	leaks->suppressed = row_sum(row);
	if (row_ends(row))
		return 0;
	leaks->watched = row_real_or_nan(row);
	leaks->history = row_real(row);
	leaks->history_sites = row_uint32(row, MAX_SITE);
	return 0;
}

static int read_early(struct leak_report *leaks, struct row *row)
{
	struct leak_early early = { .site = row_uint32(row, MAX_SITE) };

	early.count = row_uint(row);
	early.bytes = row_uint(row);
	early.longest = row_real(row);
	early.needs = row_real(row);
	return leak_report_add_early(leaks, &early);
}

static int read_heap(struct leak_report *leaks, struct row *row)
{
	struct leak_heap *heap = &leaks->heap[leaks->heap_count];

	if (leaks->heap_count == LEAK_MAX_HEAPS)
		return 0;
	leaks->heap_count++;
	row->next++;	/* the id: rows come in its order */
	row_words(row, heap->allocator, sizeof(heap->allocator));
	row_words(row, heap->version, sizeof(heap->version));
	heap->covered = row_bool(row);
	row_words(row, heap->why, sizeof(heap->why));
	heap->live_count = row_uint(row);
	heap->live_bytes = row_uint(row);
	return 0;
}

static int row_verdict(struct row *row, enum leak_verdict *ret)
{
	const unsigned char *text = sqlite3_column_text(row->statement, row->next++);

	for (unsigned int i = 0; text && i < LEAK_VERDICTS; i++)
		if (strcmp((const char *)text, leak_verdict_name((enum leak_verdict)i)) == 0) {
			*ret = (enum leak_verdict)i;
			return 0;
		}
	return recording_damage("leak_groups", "column verdict: nobody knows it");
}

/* Groups come in the order of their ids, which are 0, 1, 2: anything else is not ours. */
static int read_group(struct leak_report *leaks, struct row *row)
{
	struct leak_group g = { .site = 0 };
	bool whole;

	if (row_uint(row) != leaks->group_count)
		return recording_damage("leak_groups", "column id: not 0, 1, 2");
	if (row_verdict(row, &g.verdict) < 0)
		return -EBADMSG;
	g.site = row_uint32(row, MAX_SITE);
	g.count = row_uint(row);
	g.bytes = row_uint(row);
	g.indirect_count = row_uint(row);
	g.indirect_bytes = row_uint(row);
	g.size = row_uint(row);
	g.size_class = row_uint(row);
	g.growth = row_real_or_nan(row);
	g.oldest = row_real_or_nan(row);
	whole = take_text(row, &g.type);
	whole &= take_text(row, &g.variable);
	whole &= take_text(row, &g.held_by);
	whole &= take_text(row, &g.last_held_by);
	g.last_held_count = row_uint(row);
	g.likely_site = row_uint32(row, MAX_SITE);
	g.by_history = !row_ends(row) && row_bool(row);
	if (whole)
		return leak_report_add(leaks, &g);
	leak_group_done(&g);
	return -ENOMEM;
}

static int read_address(struct leak_report *leaks, struct row *row)
{
	uint64_t id = row_uint(row);
	struct leak_group *group = id < leaks->group_count ? &leaks->group[id] : NULL;

	row->next++;	/* the number: rows come in its order */
	if (group && group->address_count < LEAK_MAX_ADDRESSES)
		group->address[group->address_count++] = row_uint(row);
	return 0;
}

static unsigned int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (unsigned int)(at - digits) : 16;
}

/* As many bytes as text has; what is not hexadecimal ends it. */
static int read_bytes(const char *text, struct leak_content *content)
{
	size_t room = strlen(text) / 2;

	room = room < CONTENTS_MAX_BYTES ? room : CONTENTS_MAX_BYTES;
	content->byte = malloc(room + 1);
	if (!content->byte)
		return -ENOMEM;
	for (; content->count < room; content->count++, text += 2) {
		unsigned int high = hex_digit(text[0]), low = hex_digit(text[1]);

		if (high > 15 || low > 15)
			break;
		content->byte[content->count] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

static int read_content(struct leak_report *leaks, struct row *row)
{
	uint64_t id = row_uint(row);
	struct leak_group *group = id < leaks->group_count ? &leaks->group[id] : NULL;
	struct leak_content content = { .kind = LEAK_TEXT_NONE };
	const unsigned char *hex;
	int err;

	if (!group || group->content_count == LEAK_MAX_ADDRESSES)
		return 0;
	if (!group->content)
		group->content = calloc(LEAK_MAX_ADDRESSES, sizeof(*group->content));
	if (!group->content)
		return -ENOMEM;
	row->next++;	/* the number */
	content.address = row_uint(row);
	content.size = row_uint(row);
	hex = sqlite3_column_text(row->statement, row->next++);
	err = read_bytes(hex ? (const char *)hex : "", &content);
	content.kind = (enum leak_text)row_uint32(row, LEAK_TEXT_STD);
	if (err == 0 && !take_text(row, &content.text))
		err = -ENOMEM;
	content.text_cut = row_bool(row);
	if (err < 0)
		leak_content_done(&content);
	else
		group->content[group->content_count++] = content;
	return err;
}

/* In the order in which later ones need earlier ones. */
static const struct {
	const char *sql;
	int (*each)(struct leak_report *leaks, struct row *row);
} queries[] = {
	{ "SELECT * FROM leak_search", read_search },
	{ "SELECT * FROM leak_heaps ORDER BY id", read_heap },
	{ "SELECT * FROM leak_groups ORDER BY id", read_group },
	{ "SELECT * FROM leak_group_addresses ORDER BY leak_group, number", read_address },
	{ "SELECT * FROM leak_contents ORDER BY leak_group, number", read_content },
};

int recording_leaks_read(sqlite3 *db, struct leak_report **ret)
{
	struct leak_report *leaks = NULL;
	int err = recording_db_has_table(db, "leak_search");

	if (err > 0)
		err = leak_report_new(&leaks);
	for (size_t i = 0; err == 0 && leaks && i < ARRAY_SIZE(queries); i++)
		err = query(db, queries[i].sql, leaks, queries[i].each);
	if (err == 0 && leaks)
		err = recording_db_has_table(db, "leak_early");
	if (err > 0)
		err = query(db, "SELECT site, count, bytes, longest_lifetime_seconds, needs_seconds"
				" FROM leak_early ORDER BY id", leaks, read_early);
	if (err < 0) {
		leak_report_free(leaks);
		return err;
	}
	*ret = leaks;
	return 0;
}
