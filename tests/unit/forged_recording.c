/* SPDX-License-Identifier: MIT */
/* forged_recording.c - see forged_recording.h. */
#include "tests/unit/forged_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/forged_use.h"
#include "tests/unit/sample_figures.h"
#include "tests/unit/sample_memory.h"
#include "tests/unit/sample_recording.h"

#define MOST_COLUMNS 600u
#define COPIES 100

struct column {
	char *table, *name, *both;
	int64_t rows;
};
static struct column columns[MOST_COLUMNS];
static size_t column_count;
static uint8_t *image;
static size_t image_bytes;
static sqlite3 *opened;

/* ---- the good one ---- */

static void put_lives(struct recording *recording, const struct sample *sample)
{
	struct site_lives *lives = NULL;
	struct block_list *blocks = NULL;

	sample_must(site_lives_take(sample->sites, sample->live, &sample->ticks, 0, sample->now,
				    &lives));
	sample_must(recording_add_lives(recording, lives));
	site_lives_free(lives);
	sample_must(block_list_take(sample->live, &sample->ticks, &blocks));
	sample_must(recording_add_blocks(recording, blocks));
	block_list_free(blocks);
}

static void put_leaks(struct recording *recording)
{
	struct leak_report *leaks = NULL;
	struct leak_group lost = {
		.verdict = LEAK_DEFINITELY_LOST, .site = 1, .count = 3, .bytes = 300, .size = 100,
		.type = strdup("T"), .variable = strdup("v"), .held_by = strdup("h"),
		.last_held_by = strdup("l"), .address_count = 2, .address = { 0x1000, 0x2000 },
		.likely_site = 2,
	}, other = { .verdict = LEAK_POSSIBLY_LOST, .count = 1, .bytes = 10, .size_class = 16 };

	sample_must(leak_report_new(&leaks));
	sample_must(leak_report_add(leaks, &lost));
	sample_must(leak_report_add(leaks, &other));
	sample_must(leak_report_add_early(leaks, &(struct leak_early){ 2, 3, 300, 1, 9 }));
	leaks->heap_count = 1;
	strcpy(leaks->heap[0].allocator, "glibc");
	sample_must(recording_add_leaks(recording, leaks));
	leak_report_free(leaks);
}

static void put_end(struct recording *recording, struct sample *sample)
{
	struct snapshot *snapshot = sample_take(sample, true, SNAPSHOT_PRISTINE);

	sample_resizes(&snapshot->site[0].resizes, &snapshot->site[1].resizes);
	sample_must(recording_add(recording, snapshot, sample->stacks, NULL));
	snapshot_free(snapshot);
}

/* Rows that the sample's session has not. */
static const char more_rows[] =
	"INSERT INTO modules VALUES(1, '/usr/bin/demo', 'c0ffee', 0, 4194304, 4259840, 4194304, 0,"
	" 0, 65536), (2, '/lib/b.so', '', 2, NULL, NULL, 0, 0, 0, 0);"
	"INSERT INTO reallocs(site, grown, failed, stack) VALUES(77, 1, 2, 1);"
	"INSERT INTO leak_contents VALUES(0, 0, 4096, 100, '6162630a', 1, 'abc', 1),"
	" (0, 1, 8192, 100, '00ff', 0, NULL, 0);"
	"CREATE TABLE IF NOT EXISTS wrong_frees(id INTEGER PRIMARY KEY, reason INTEGER,"
	" call TEXT, realloc INTEGER, count INTEGER, address INTEGER, block_address INTEGER,"
	" block_size INTEGER, left_out INTEGER, freed_stack INTEGER, freed_skip INTEGER,"
	" freed_thread INTEGER, freed_time REAL, first_stack INTEGER, first_skip INTEGER,"
	" first_thread INTEGER, first_time REAL, allocated_stack INTEGER,"
	" allocated_skip INTEGER, allocated_thread INTEGER, allocated_time REAL);"
	"INSERT INTO wrong_frees VALUES(0, 1, 'free', 0, 2, 4096, 4096, 100, 1, 1, 0, 1, 2.5, 2, 0,"
	" 1, 2, 3, 1, 2, 1), (1, 3, 'realloc', 1, 1, 8193, 8192, 0, 1, 2, 0, 1, 3, 0, 0, 0, 0, 0,"
	" 0, 0, 0);"
	"CREATE TABLE older_blocks(id INTEGER PRIMARY KEY, judged INTEGER, why TEXT,"
	" count INTEGER, bytes INTEGER, memory_bytes INTEGER, pause_us INTEGER);"
	"INSERT INTO older_blocks VALUES(1, 1, '', 5, 500, 4096, 70)";

static void read_image(void)
{
	struct stat file;
	int fd = open(sample_path, O_RDONLY);

	sample_must(fd < 0 ? -1 : fstat(fd, &file));
	image_bytes = (size_t)file.st_size;
	image = malloc(image_bytes);
	if (!image || read(fd, image, image_bytes) != (ssize_t)image_bytes)
		abort();
	close(fd);
}

static int list_column(void *context, int count, char **value, char **name)
{
	struct column *c = &columns[column_count++];

	(void)context;
	(void)count;
	(void)name;
	if (column_count == MOST_COLUMNS)
		abort();
	c->table = strdup(value[0]);
	c->name = strdup(value[1]);
	return c->table && c->name && asprintf(&c->both, "%s.%s", value[0], value[1]) > 0 ? 0 : 1;
}

/* A table without a row would have columns that nothing tries. */
static void list_columns(void)
{
	sample_must(sqlite3_open(sample_path, &opened));
	sample_must(sqlite3_exec(opened, "SELECT m.name, t.name FROM sqlite_master AS m JOIN "
				 "pragma_table_info(m.name) AS t WHERE m.type = 'table' "
				 "ORDER BY 1, 2", list_column, NULL, NULL));
	sqlite3_close(opened);
	for (size_t i = 0; i < column_count; i++) {
		char sql[100];

		snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", columns[i].table);
		columns[i].rows = sample_ask(sql);
		if (columns[i].rows == 0) {
			fprintf(stderr, "%s is empty\n", columns[i].table);
			abort();
		}
	}
}

static void tidy_up(void)
{
	(void)sample_recording_end(NULL);
	free(image);
}

void forged_begin(void)
{
	static const struct report_names names = { .frame = sample_frame };
	static struct memory_sample memory;
	static struct threads_sample threads;
	struct recording *recording;
	struct sample sample;

	sample_must(sample_recording_begin(NULL));
	recording = sample_recording(&sample, 12, SAMPLE_LEAK | SAMPLE_REQUESTS);
	put_lives(recording, &sample);
	put_end(recording, &sample);
	put_leaks(recording);
	threads_sample_begin(&threads);
	sample_must(recording_add_threads(recording, &threads.table));
	sample_must(recording_symbolize(recording, &names));
	memory_begin(&memory);
	sample_must(recording_add_memory(recording, &memory.regions, &memory.heaps));
	sample_must(recording_close(recording));
	sample_done(&sample);
	sample_change(more_rows);
	read_image();
	list_columns();
	(void)atexit(tidy_up);
}

size_t forged_columns(void)
{
	return column_count;
}

const char *forged_column(size_t column)
{
	return columns[column].both;
}

const char *forged_path(void)
{
	return sample_path;
}

/* ---- values ---- */

static const int64_t whole[] = {
	0, -1, 1, 2, 3, 5, 255, 1024, 1025, 65535, 65536, 1 << 28, UINT32_MAX, 1ll << 32, 1ll << 53,
	INT64_MAX, INT64_MIN,
};
static const double real[] = {
	0.5, -1, 5.5, 1e10, 1e19, 1e300, -1e300, 1e-300, INFINITY, -INFINITY,
};
static const char *const text[] = {
	"", "\033[2J\033]0;title\007", "\xff\xfe\xc0\x80", "a\nb\tc\rd", "%s%n%d",
	"\"};</script><b>&amp;'", "\xe2\x80\xae" "txt.exe", "\xc2\x9b" "31m", "\x9b" "31m",
	"operator<<<<(a<b<c<d(*)(e)>>>)", "definitely-lost", "glibc",
	"{\"1\":1,\"99999\":1e300,\"-4\":2,\"x\":{}}", "[1,2", "/dev/zero", "../../../etc/passwd",
};
enum { LONG_TEXT = ARRAY_SIZE(text), DEEP_TEXT, NULL_VALUE, BLOB_VALUE, OTHERS };
#define OTHER_VALUES (OTHERS - ARRAY_SIZE(text))

size_t forged_values(void)
{
	return ARRAY_SIZE(whole) + ARRAY_SIZE(real) + OTHERS;
}

static const char *long_text(char fill)
{
	static char bytes[6001];

	memset(bytes, fill, sizeof(bytes) - 1);
	return bytes;
}

static void bind(sqlite3_stmt *statement, size_t value)
{
	size_t at = value;

	if (at < ARRAY_SIZE(whole)) {
		sqlite3_bind_int64(statement, 1, whole[at]);
		return;
	}
	at -= ARRAY_SIZE(whole);
	if (at < ARRAY_SIZE(real)) {
		sqlite3_bind_double(statement, 1, real[at]);
		return;
	}
	at -= ARRAY_SIZE(real);
	if (at < ARRAY_SIZE(text))
		sqlite3_bind_text(statement, 1, text[at], -1, SQLITE_STATIC);
	else if (at == LONG_TEXT || at == DEEP_TEXT)
		sqlite3_bind_text(statement, 1, long_text(at == LONG_TEXT ? 'x' : '<'), -1,
				  SQLITE_TRANSIENT);
	else if (at == NULL_VALUE)
		sqlite3_bind_null(statement, 1);
	else if (at == BLOB_VALUE)
		sqlite3_bind_blob(statement, 1, "\0\1\2\xff", 4, SQLITE_STATIC);
	else
		sqlite3_bind_int64(statement, 1, (int64_t)value);
}

/* ---- changes ---- */

static void write_file(const uint8_t *bytes)
{
	int fd = open(sample_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, bytes, image_bytes) != (ssize_t)image_bytes)
		abort();
	close(fd);
}

void forged_bytes(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(image_bytes);

	if (!bytes)
		abort();
	memcpy(bytes, image, image_bytes);
	for (; size >= 4; data += 4, size -= 4)
		bytes[((size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) %
		      image_bytes] = data[3];
	write_file(bytes);
	free(bytes);
}

void forged_open(void)
{
	write_file(image);
	if (sqlite3_open(sample_path, &opened) != SQLITE_OK)
		abort();
	(void)sqlite3_exec(opened, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; BEGIN",
			   NULL, NULL, NULL);
}

void forged_close(void)
{
	(void)sqlite3_exec(opened, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(opened);
}

/* Fails where the change before took the table, or the column, away. */
static void run(const char *sql, size_t value)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(opened, sql, -1, &statement, NULL) == SQLITE_OK) {
		if (sqlite3_bind_parameter_count(statement))
			bind(statement, value);
		(void)sqlite3_step(statement);
	}
	sqlite3_finalize(statement);
}

/* All columns of the table in order, but for this one, instead of which there is what. */
static void list_others(const struct column *changed, const char *what, char *to, size_t room)
{
	size_t length = 0;

	to[0] = '\0';
	for (size_t i = 0; i < column_count && length < room; i++)
		if (strcmp(columns[i].table, changed->table) == 0)
			length += (size_t)snprintf(to + length, room - length, "%s%s",
						   length ? ", " : "", &columns[i] == changed ?
						   what : columns[i].name);
}

static void copy_row(const struct column *c, const char *where, const char *what, size_t value)
{
	char names[2000], values[2000], sql[4500];

	list_others(c, c->name, names, sizeof(names));
	list_others(c, what, values, sizeof(values));
	snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO %s(%s) SELECT %s FROM %s WHERE %s "
		 "LIMIT 1", c->table, names, values, c->table, where);
	run(sql, value);
}

void forged_apply(const struct forged_change *change)
{
	const struct column *c = &columns[change->column % column_count];
	long long row = change->row % c->rows;
	char where[200], sql[400], what[200];

	snprintf(where, sizeof(where), "%s IS (SELECT %s FROM %s LIMIT 1 OFFSET %lld)", c->name,
		 c->name, c->table, row);
	switch (change->way) {
	case FORGED_SET:
		snprintf(sql, sizeof(sql), "UPDATE OR IGNORE %s SET %s = ?1 WHERE %s", c->table,
			 c->name, where);
		break;
	case FORGED_SET_ALL:
		snprintf(sql, sizeof(sql), "UPDATE OR IGNORE %s SET %s = ?1", c->table, c->name);
		break;
	case FORGED_COPY:
		copy_row(c, where, "?1", change->value);
		return;
	case FORGED_COPY_MANY:
		for (int i = 0; i < COPIES; i++) {
			snprintf(what, sizeof(what), "%s + ?1 + %d", c->name, i);
			copy_row(c, where, what, change->value);
		}
		return;
	case FORGED_TAKE:
		snprintf(sql, sizeof(sql), "UPDATE OR IGNORE %s SET %s = (SELECT %s FROM %s "
			 "LIMIT 1 OFFSET %zu) WHERE %s", c->table, c->name, c->name, c->table,
			 change->value % (size_t)c->rows, where);
		break;
	case FORGED_DELETE:
		snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE %s", c->table, where);
		break;
	case FORGED_DELETE_ALL:
		snprintf(sql, sizeof(sql), "DELETE FROM %s", c->table);
		break;
	case FORGED_DROP_COLUMN:
		snprintf(sql, sizeof(sql), "ALTER TABLE %s DROP COLUMN %s", c->table, c->name);
		break;
	default:
		snprintf(sql, sizeof(sql), "DROP TABLE %s", c->table);
	}
	run(sql, change->value);
}

int forged_use(const char *moment, unsigned int what)
{
	char name[128];

	snprintf(name, sizeof(name), "%s%s", sample_path, moment);
	return forged_use_all(sample_path, name, what);
}
