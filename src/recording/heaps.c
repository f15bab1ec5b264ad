/* SPDX-License-Identifier: MIT */
/*
 * heaps.c - see heaps.h.
 *
 * A row an allocator, an arena, a bin, a thread; the parts of an arena are columns, so that sqlite3
 * adds them up. Reading takes no more rows than are ever written, and refuses those that refer to
 * nothing. A figure that is not known is the largest number there is, -1 as a signed one.
 */
#include "src/recording/heaps.h"

#include <errno.h>
#include <string.h>

#include "src/recording/damage.h"

#define PART_COLUMNS(part) \
	part "_count INTEGER, " part "_bytes INTEGER, " part "_resident_bytes INTEGER"
#define TABLES \
	"DROP TABLE IF EXISTS heap_facts; DROP TABLE IF EXISTS heaps;" \
	"DROP TABLE IF EXISTS heap_arenas; DROP TABLE IF EXISTS heap_bins;" \
	"DROP TABLE IF EXISTS heap_threads;" \
	"CREATE TABLE heap_facts(pause_us INTEGER, resident_known INTEGER," \
	" bins_left_out INTEGER, books_known INTEGER, estimated INTEGER, count INTEGER," \
	" asked_bytes INTEGER, usable_bytes INTEGER, other_count INTEGER, other_bytes INTEGER);" \
	"CREATE TABLE heaps(id INTEGER PRIMARY KEY, allocator TEXT, version TEXT," \
	" covered INTEGER, why TEXT, has_arenas INTEGER, arena_count INTEGER," \
	" live_count INTEGER, live_bytes INTEGER, free_count INTEGER, free_bytes INTEGER, " \
	PART_COLUMNS("mapped") ", " PART_COLUMNS("memory") ");" \
	"CREATE TABLE heap_arenas(id INTEGER PRIMARY KEY, heap INTEGER, address INTEGER," \
	" system_bytes INTEGER, max_system_bytes INTEGER, stretches INTEGER," \
	" attached_threads INTEGER, resident_bytes INTEGER, trimmable_bytes INTEGER, " \
	PART_COLUMNS("used") ", " PART_COLUMNS("tcache") ", " PART_COLUMNS("fast") ", " \
	PART_COLUMNS("unsorted") ", " PART_COLUMNS("small") ", " PART_COLUMNS("large") ", " \
	PART_COLUMNS("top") ", " PART_COLUMNS("own") ");" \
	"CREATE TABLE heap_bins(id INTEGER PRIMARY KEY, arena INTEGER, part INTEGER," \
	" size_low INTEGER, size_high INTEGER, count INTEGER, bytes INTEGER," \
	" resident_bytes INTEGER);" \
	"CREATE TABLE heap_threads(id INTEGER PRIMARY KEY, heap INTEGER, thread INTEGER," \
	" arena INTEGER, tcache INTEGER, cached_count INTEGER, cached_bytes INTEGER);"
#define SUM(sum) CELL_I((sum).count), CELL_I((sum).bytes), CELL_I((sum).resident)

enum table { FACTS, HEAPS, ARENAS, BINS, THREADS, TABLE_COUNT };
static const struct {
	const char *name;
	unsigned int columns;
} table[TABLE_COUNT] = {
	[FACTS] = { "heap_facts", 10 }, [HEAPS] = { "heaps", 17 }, [ARENAS] = { "heap_arenas", 33 },
	[BINS] = { "heap_bins", 8 }, [THREADS] = { "heap_threads", 7 },
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

static int put_facts(struct writing *w, const struct heap_figures *f)
{
	const struct heap_books *b = &f->books;

	return PUT(w, FACTS, CELL_I(f->pause_us), CELL_I(f->resident_known),
		   CELL_I(f->bins_left_out), CELL_I(b->known), CELL_I(b->estimated),
		   CELL_I(b->count), CELL_I(b->asked_bytes), CELL_I(b->usable_bytes),
		   CELL_I(b->other_count), CELL_I(b->other_bytes));
}

static int put_heap(struct writing *w, size_t id, const struct heap_total *h)
{
	return PUT(w, HEAPS, CELL_I(id), CELL_T(h->allocator), CELL_T(h->version),
		   CELL_I(h->covered), CELL_T(h->why), CELL_I(h->has_arenas),
		   CELL_I(h->arena_count), CELL_I(h->live.count), CELL_I(h->live.bytes),
		   CELL_I(h->free.count), CELL_I(h->free.bytes), SUM(h->mapped), SUM(h->memory));
}

static int put_arena(struct writing *w, size_t id, const struct heap_arena *a)
{
	const struct heap_sum *part = a->part;

	return PUT(w, ARENAS, CELL_I(id), CELL_I(a->heap), CELL_I(a->address),
		   CELL_I(a->system_bytes), CELL_I(a->max_system_bytes), CELL_I(a->stretches),
		   CELL_I(a->attached), CELL_I(a->resident), CELL_I(a->trimmable),
		   SUM(part[HEAP_USED]), SUM(part[HEAP_TCACHE]), SUM(part[HEAP_FAST]),
		   SUM(part[HEAP_UNSORTED]), SUM(part[HEAP_SMALL]), SUM(part[HEAP_LARGE]),
		   SUM(part[HEAP_TOP]), SUM(part[HEAP_OWN]));
}

static int put_rows(struct writing *w, const struct heap_figures *f)
{
	int err = put_facts(w, f);

	for (size_t i = 0; err == 0 && i < f->heap_count; i++)
		err = put_heap(w, i, &f->heap[i]);
	for (size_t i = 0; err == 0 && i < f->arena_count; i++)
		err = put_arena(w, i, &f->arena[i]);
	for (size_t i = 0; err == 0 && i < f->bin_count; i++) {
		const struct heap_bin *b = &f->bin[i];

		err = PUT(w, BINS, CELL_I(i), CELL_I(b->arena), CELL_I(b->part), CELL_I(b->low),
			  CELL_I(b->high), SUM(b->sum));
	}
	for (size_t i = 0; err == 0 && i < f->thread_count; i++) {
		const struct heap_thread *t = &f->thread[i];

		err = PUT(w, THREADS, CELL_I(i), CELL_I(t->heap), CELL_I(t->tid), CELL_I(t->arena),
			  CELL_I(t->tcache), CELL_I(t->cached.count), CELL_I(t->cached.bytes));
	}
	return err;
}

int recording_heaps_put(sqlite3 *db, const struct heap_figures *figures)
{
	_cleanup_(writing_done) struct writing w = { .statement = { NULL } };
	int err = recording_db_run(db, TABLES);

	for (unsigned int i = 0; err == 0 && i < TABLE_COUNT; i++)
		err = recording_db_prepare(db, table[i].name, table[i].columns, &w.statement[i]);
	return err ? err : put_rows(&w, figures);
}

/* --- reading --------------------------------------------------------------------- */

static int read_facts(void *context, struct row *row)
{
	struct heap_figures *f = context;

	f->pause_us = row_uint(row);
	f->resident_known = row_bool(row);
	f->bins_left_out = row_uint(row);
	f->books.known = row_bool(row);
	f->books.estimated = row_bool(row);
	f->books.count = row_uint(row);
	f->books.asked_bytes = row_uint(row);
	f->books.usable_bytes = row_uint(row);
	f->books.other_count = row_uint(row);
	f->books.other_bytes = row_uint(row);
	return 0;
}

static struct heap_sum read_sum(struct row *row)
{
	struct heap_sum sum = { .count = row_uint(row) };

	sum.bytes = row_uint(row);
	sum.resident = row_uint(row);
	return sum;
}

/* Cut at room. 0 or -ENOMEM. */
static int read_text(struct row *row, char *to, size_t room)
{
	_cleanup_free_ char *text = row_text_or_empty(row);

	if (!text)
		return -ENOMEM;
	(void)snprintf(to, room, "%s", text);
	return 0;
}

static int read_heap(void *context, struct row *row)
{
	struct heap_figures *f = context;
	struct heap_total *h = &f->heap[f->heap_count];

	if (f->heap_count == HEAP_FIGURES_HEAPS)
		return 0;
	if (read_text(row, h->allocator, sizeof(h->allocator)) ||
	    read_text(row, h->version, sizeof(h->version)))
		return -ENOMEM;
	h->covered = row_bool(row);
	if (read_text(row, h->why, sizeof(h->why)))
		return -ENOMEM;
	h->has_arenas = row_bool(row);
	h->arena_count = row_uint(row);
	h->live.count = row_uint(row);
	h->live.bytes = row_uint(row);
	h->free.count = row_uint(row);
	h->free.bytes = row_uint(row);
	h->mapped = read_sum(row);
	h->memory = read_sum(row);
	f->heap_count++;
	return 0;
}

static int read_arena(void *context, struct row *row)
{
	struct heap_figures *f = context;
	struct heap_arena *a;

	if (f->arena_count > HEAP_FIGURES_ARENAS)
		return 0;
	a = heap_figures_add_arena(f);
	if (!a)
		return -ENOMEM;
	a->heap = row_uint32(row, UINT32_MAX);
	a->address = row_uint(row);
	a->system_bytes = row_uint(row);
	a->max_system_bytes = row_uint(row);
	a->stretches = row_uint(row);
	a->attached = row_uint(row);
	a->resident = row_uint(row);
	a->trimmable = row_uint(row);
	for (int part = 0; part < HEAP_PARTS; part++)
		a->part[part] = read_sum(row);
	return a->heap < f->heap_count ? 0 :
	       recording_damage("heap_arenas", "column heap: there is none such");
}

static int read_bin(void *context, struct row *row)
{
	struct heap_figures *f = context;
	struct heap_bin b = { .arena = row_uint32(row, UINT32_MAX) };

	b.part = (enum heap_part)row_uint32(row, HEAP_PARTS);
	b.low = row_uint(row);
	b.high = row_uint(row);
	b.sum = read_sum(row);
	if (f->bin_count == HEAP_FIGURES_BINS)
		return 0;
	if (b.arena >= f->arena_count)
		return recording_damage("heap_bins", "column arena: there is none such");
	if (b.part >= HEAP_PARTS)
		return recording_damage("heap_bins", "column part: there is none such");
	return heap_figures_add_bin(f, &b);
}

static int read_thread(void *context, struct row *row)
{
	struct heap_figures *f = context;
	struct heap_thread *t;

	if (f->thread_count == HEAP_FIGURES_THREADS)
		return 0;
	t = heap_figures_add_thread(f);
	if (!t)
		return -ENOMEM;
	t->heap = row_uint32(row, UINT32_MAX);
	t->tid = (int32_t)row_uint32(row, INT32_MAX);
	t->arena = row_uint(row);
	t->tcache = row_uint(row);
	t->cached.count = row_uint(row);
	t->cached.bytes = row_uint(row);
	return t->heap < f->heap_count ? 0 :
	       recording_damage("heap_threads", "column heap: there is none such");
}

static const struct {
	const char *sql;
	int (*each)(void *context, struct row *row);
} queries[] = {
	{ "SELECT * FROM heap_facts LIMIT 1", read_facts },
	{ "SELECT allocator, version, covered, why, has_arenas, arena_count, live_count,"
	  " live_bytes, free_count, free_bytes, mapped_count, mapped_bytes, mapped_resident_bytes,"
	  " memory_count, memory_bytes, memory_resident_bytes FROM heaps ORDER BY id LIMIT 8",
	  read_heap },
	{ "SELECT heap, address, system_bytes, max_system_bytes, stretches, attached_threads,"
	  " resident_bytes, trimmable_bytes, used_count, used_bytes, used_resident_bytes,"
	  " tcache_count, tcache_bytes, tcache_resident_bytes, fast_count, fast_bytes,"
	  " fast_resident_bytes, unsorted_count, unsorted_bytes, unsorted_resident_bytes,"
	  " small_count, small_bytes, small_resident_bytes, large_count, large_bytes,"
	  " large_resident_bytes, top_count, top_bytes, top_resident_bytes, own_count, own_bytes,"
	  " own_resident_bytes FROM heap_arenas ORDER BY id", read_arena },
	{ "SELECT arena, part, size_low, size_high, count, bytes, resident_bytes FROM heap_bins "
	  "ORDER BY arena, id", read_bin },
	{ "SELECT heap, thread, arena, tcache, cached_count, cached_bytes FROM heap_threads "
	  "ORDER BY id", read_thread },
};

int recording_heaps_read(sqlite3 *db, struct heap_figures **ret)
{
	struct heap_figures *figures;
	int err = recording_db_has_table(db, "heap_facts");

	*ret = NULL;
	if (err <= 0)
		return err;
	err = heap_figures_new(&figures);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(queries); i++)
		err = recording_db_query(db, queries[i].sql, 0, queries[i].each, figures);
	if (err < 0)
		heap_figures_free(figures);
	else
		*ret = figures;
	return err;
}
