/* SPDX-License-Identifier: MIT */
/*
 * fuzz_recording.c - a recording, damaged or forged: bytes of the file are changed, or cells of its
 * tables, since few of the former get past SQLite. Its end and moments of it are read, judged,
 * printed and compared.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "src/recording/diff.h"
#include "src/recording/suspects.h"
#include "src/report/diff_write.h"
#include "src/view/view.h"
#include "tests/unit/sample_memory.h"
#include "tests/unit/sample_recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *image;		/* of a good one */
static size_t image_bytes;

static void put_lives(struct recording *recording, const struct sample *sample)
{
	struct site_lives *lives = NULL;

	sample_must(site_lives_take(sample->sites, sample->live, &sample->ticks, 0, sample->now,
				    &lives));
	sample_must(recording_add_lives(recording, lives));
	site_lives_free(lives);
}

static void put_leaks(struct recording *recording)
{
	struct leak_report *leaks = NULL;
	struct leak_group group = {
		.verdict = LEAK_DEFINITELY_LOST, .site = 1, .count = 3, .bytes = 300, .size = 100,
		.type = strdup("T"), .address_count = 2, .address = { 0x1000, 0x2000 },
	};

	sample_must(leak_report_new(&leaks));
	sample_must(leak_report_add(leaks, &group));
	sample_must(leak_report_add_early(leaks, &(struct leak_early){ 2, 3, 300, 1, 9 }));
	sample_must(recording_add_leaks(recording, leaks));
	leak_report_free(leaks);
}

static void tidy_up(void)
{
	(void)sample_recording_end(NULL);
	free(image);
}

static void make_image(void)
{
	static const struct report_names names = { .frame = sample_frame };
	static struct memory_sample memory;
	struct recording *recording;
	struct sample sample;
	struct stat file;
	int fd;

	sample_must(sample_recording_begin(NULL));
	recording = sample_recording(&sample, 12, SAMPLE_LEAK);
	put_lives(recording, &sample);
	put_leaks(recording);
	sample_must(recording_symbolize(recording, &names));
	memory_begin(&memory);
	sample_must(recording_add_memory(recording, &memory.regions, &memory.heaps));
	sample_must(recording_close(recording));
	sample_done(&sample);
	sample_change("INSERT INTO modules(id, path, build_id, kind) VALUES"
		      "(1, '/usr/bin/demo', 'c0ffee', 0)");
	fd = open(sample_path, O_RDONLY);
	sample_must(fd < 0 ? -1 : fstat(fd, &file));
	image_bytes = (size_t)file.st_size;
	image = malloc(image_bytes);
	if (!image || read(fd, image, image_bytes) != (ssize_t)image_bytes)
		abort();
	close(fd);
	(void)atexit(tidy_up);
}

/* ---- damaged ---- */

/* Three bytes of place and one that goes there, again and again. */
static void change_bytes(uint8_t *bytes, const uint8_t *data, size_t size)
{
	for (; size >= 4; data += 4, size -= 4)
		bytes[((size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) %
		      image_bytes] = data[3];
}

static void write_file(const uint8_t *bytes)
{
	int fd = open(sample_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, bytes, image_bytes) != (ssize_t)image_bytes)
		abort();
	close(fd);
}

/* ---- forged ---- */

static const char *const cell[][2] = {
	{ "target", "exe" }, { "target", "pid" }, { "allocators", "id" },
	{ "entry_points", "allocator" }, { "session", "mode" }, { "session", "detached" },
	{ "session", "duration" }, { "session", "given_up" }, { "session", "version" },
	{ "snapshots", "id" }, { "snapshots", "time" }, { "snapshots", "live_bytes" },
	{ "snapshots", "alloc_count" }, { "snapshots", "reason" },
	{ "snapshot_sites", "snapshot" }, { "snapshot_sites", "site" },
	{ "snapshot_sites", "live_bytes" }, { "snapshot_sites", "below" },
	{ "snapshot_sites", "above" }, { "snapshot_sites", "alloc_count" },
	{ "timeline", "time" }, { "timeline", "rss_bytes" }, { "histogram", "size" },
	{ "modules", "id" }, { "modules", "build_id" }, { "modules", "kind" }, { "frames", "id" },
	{ "frames", "module" }, { "frames", "offset" }, { "frames", "flags" },
	{ "symbols", "frame" }, { "symbols", "depth" }, { "symbols", "function" },
	{ "symbols", "line" }, { "stacks", "id" }, { "stacks", "flags" },
	{ "stack_frames", "stack" }, { "stack_frames", "depth" }, { "stack_frames", "frame" },
	{ "sites", "id" }, { "sites", "stack" }, { "sites", "kind" }, { "sites", "skip_frames" },
	{ "sites", "verdict" }, { "sites", "live_count" }, { "sites", "live_bytes" },
	{ "sites", "samples" }, { "sites", "lifetime_p50" }, { "sites", "last_time" },
	{ "sites", "growth" }, { "site_lives", "site" }, { "site_lives", "time" },
	{ "site_lives", "freed" }, { "site_lives", "living" }, { "site_lives", "longest" },
	{ "site_lives", "oldest" }, { "leak_search", "pause_us" }, { "leak_groups", "site" },
	{ "leak_groups", "verdict" }, { "leak_groups", "bytes" }, { "leak_groups", "type" },
	{ "leak_group_addresses", "address" }, { "leak_early", "site" },
	{ "leak_early", "needs_seconds" }, { "region_facts", "left_out" },
	{ "region_facts", "pages_known" }, { "regions", "low" }, { "regions", "kind" },
	{ "regions", "thread" }, { "regions", "path" }, { "regions", "size" },
	{ "regions", "resident_bytes" }, { "heap_facts", "asked_bytes" },
	{ "heap_facts", "usable_bytes" }, { "heap_facts", "resident_known" },
	{ "heaps", "covered" }, { "heaps", "has_arenas" }, { "heaps", "live_bytes" },
	{ "heaps", "allocator" }, { "heaps", "memory_bytes" }, { "heap_arenas", "heap" },
	{ "heap_arenas", "attached_threads" }, { "heap_arenas", "used_bytes" },
	{ "heap_arenas", "top_resident_bytes" }, { "heap_bins", "arena" },
	{ "heap_bins", "part" }, { "heap_bins", "bytes" }, { "heap_threads", "heap" },
	{ "heap_threads", "thread" },
};

static void bind_value(sqlite3_stmt *statement, uint8_t kind, const uint8_t *data)
{
	static const int64_t odd[] = { 0, -1, 1, INT64_MAX, INT64_MIN, UINT32_MAX, 1 << 28, 1024 };
	static const double real[] = { 0, -1, 1e300, -1e300, 1e19, 1e-300, 0.5, 1e10 };
	int64_t whole;

	memcpy(&whole, data, sizeof(whole));
	switch (kind % 6) {
	case 0: (void)sqlite3_bind_int64(statement, 1, odd[data[0] % 8]); break;
	case 1: (void)sqlite3_bind_int64(statement, 1, data[0]); break;
	case 2: (void)sqlite3_bind_int64(statement, 1, whole); break;
	case 3: (void)sqlite3_bind_double(statement, 1, real[data[0] % 8]); break;
	case 4: (void)sqlite3_bind_text(statement, 1, (const char *)data, 8, SQLITE_STATIC); break;
	default: (void)sqlite3_bind_null(statement, 1); break;
	}
}

/* A value for one cell, by its place: short, so that few bytes of input do much. */
static void change_cell(sqlite3 *db, const uint8_t data[4])
{
	const uint64_t value = data[3] * 0x9e3779b97f4a7c15 >> data[2] % 64 | data[3];
	const char *const *at = cell[data[0] % ARRAY_SIZE(cell)];
	sqlite3_stmt *statement = NULL;
	char sql[200];

	snprintf(sql, sizeof(sql), "UPDATE OR IGNORE %s SET %s = ?1 WHERE %s IS "
		 "(SELECT %s FROM %s LIMIT 1 OFFSET %u)", at[0], at[1], at[1], at[1], at[0],
		 data[1] % 16u);
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		abort();	/* the table is another now */
	bind_value(statement, data[2], (const uint8_t *)&value);
	(void)sqlite3_step(statement);
	sqlite3_finalize(statement);
}

static void change_cells(const uint8_t *data, size_t size)
{
	sqlite3 *db = NULL;

	if (sqlite3_open(sample_path, &db) != SQLITE_OK)
		abort();
	(void)sqlite3_exec(db, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; BEGIN", NULL,
			   NULL, NULL);
	for (; size >= 4; data += 4, size -= 4)
		change_cell(db, data);
	(void)sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(db);
}

/* ---- what is done with it ---- */

static void print_memory(const struct recording_content *content,
			 const struct report_input *report, FILE *out)
{
	static const char *const view[] = { "regions", "arenas", "fragmentation" };
	const struct view_input input = { .report = *report, .regions = content->regions,
					  .heaps = content->heaps };

	for (size_t i = 0; i < 2 * ARRAY_SIZE(view); i++)
		if (!view_missing(view_find(view[i / 2]), &input))
			(void)view_write(view_find(view[i / 2]), out, &input, i % 2);
}

static void print(const struct recording_content *content, FILE *out)
{
	static const char *const report[] = { "text", "json", "live", "leaks" };
	struct leak_report *leaks = NULL;
	struct report_input input = {
		.snapshot = content->snapshot, .stacks = content->stacks,
		.names = content->names, .leaks = content->leaks,
	};

	if (content->lives && !content->leaks && recording_suspects(content, &leaks) == 0)
		input.leaks = leaks;
	for (size_t i = 0; i < ARRAY_SIZE(report); i++)
		if (input.leaks || strcmp(report[i], "leaks") != 0)
			(void)report_find(report[i])->write(out, &input);
	leak_report_free(leaks);
	print_memory(content, &input, out);
}

static void compare(const struct recording_content *old, const struct recording_content *new,
		    FILE *out)
{
	struct report_options options = { .top = 3 };
	struct diff *diff;

	if (diff_new(&diff))
		abort();
	if (recording_diff_add(diff, DIFF_OLD, old, new) ||
	    recording_diff_add(diff, DIFF_NEW, new, old) || diff_compare(diff) ||
	    diff_write_text(out, diff, &options) || diff_write_json(out, diff, &options))
		abort();
	diff_free(diff);
}

static void read_moment(const char *moment, const struct recording_content *end, FILE *out)
{
	struct recording_content content;
	char name[128];

	snprintf(name, sizeof(name), "%s%s", sample_path, moment);
	if (recording_read_at(name, &content))
		return;
	print(&content, out);
	compare(&content, end, out);
	recording_content_done(&content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const moment[] = { "@0s", "@5s", "@50%", "@peak", "@end" };
	_cleanup_file_ FILE *out = fopen("/dev/null", "w");
	struct recording_content end;
	uint8_t *bytes;

	if (!image)
		make_image();
	bytes = malloc(image_bytes);
	if (!out || !bytes)
		abort();
	memcpy(bytes, image, image_bytes);
	if (size && data[0] & 1)
		change_bytes(bytes, data + 1, size - 1);
	write_file(bytes);
	free(bytes);
	if (size && !(data[0] & 1))
		change_cells(data + 1, size - 1);
	if (recording_read(sample_path, &end))
		return 0;
	print(&end, out);
	read_moment(moment[size ? data[0] / 2 % ARRAY_SIZE(moment) : 0], &end, out);
	recording_content_done(&end);
	return 0;
}
