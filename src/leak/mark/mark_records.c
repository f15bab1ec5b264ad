/* SPDX-License-Identifier: MIT */
/*
 * mark_records.c - makes the records of one chunk while it is read, and publishes them.
 *
 * A block with no pointer to follow loses its unread bit and costs nothing. One whose links do
 * not fit has a record that says so, and it will be read again; so will every block of the chunk
 * if all records together have reached their limit. Links to blocks that are marked for
 * good are left out: with roots scanned first that is most of them.
 */
#include "src/leak/mark/mark_records.h"

#include <sys/mman.h>

#include "src/base/huge_pages.h"
#include "src/leak/mark/mark_work.h"

#define FULL	(RECORDS_ROOM - RECORD_MAX - LINK_MAX)	/* beyond: one byte a block, for one line */

void mark_records_begin(struct worker *worker, uint64_t chunk)
{
	struct records_builder *b = &worker->builder;

	b->first_line = chunk * CHUNK_LINES;
	b->source = NO_SOURCE;
	b->record = SIZE_MAX;
	b->count = 0;
	memset(b->keep, 0, sizeof(b->keep));
	memset(b->large, 0, sizeof(b->large));
	memset(b->offset, 0, sizeof(b->offset));
}

static void close_record(struct records_builder *b)
{
	if (b->record == SIZE_MAX)
		return;
	if (b->overflow || b->last == SIZE_MAX) {
		b->byte[b->record] = RECORD_UNREAD;
		b->count = b->record + 1;
	} else {
		b->byte[b->last] |= LINK_LAST;
	}
	b->record = SIZE_MAX;
}

/* Room for a record of start; false: its line begins when all is full, and gets none at all. */
static bool reserve(struct records_builder *b, uint64_t start)
{
	size_t line = start / LINE_GRANULES - b->first_line;

	b->keep[line] |= map_bit(start);
	if (!b->offset[line] && b->count > FULL)
		return false;
	if (!b->offset[line])
		b->offset[line] = (uint32_t)b->count + 1;
	b->overflow = b->count > FULL;
	b->record = b->count;
	b->last = SIZE_MAX;
	return true;
}

void mark_records_add_large(struct worker *worker, uint64_t start, uint8_t kind)
{
	struct records_builder *b = &worker->builder;

	mark_scan_flush(worker);
	close_record(b);
	b->source = NO_SOURCE;
	b->large[start / LINE_GRANULES - b->first_line] |= map_bit(start);
	if (reserve(b, start))
		b->byte[b->count++] = kind;
	b->record = SIZE_MAX;
}

static void begin_source(struct worker *worker, uint64_t source)
{
	struct records_builder *b = &worker->builder;
	const struct line *line = map_line(worker->marker->map, source);

	close_record(b);
	b->source = source;
	b->direct = !worker->lost_only && (bits_load(&line->reach) & map_bit(source));
}

/* Whether a pointer to start need not be kept: what it could do has been done. */
static bool is_settled(const struct worker *worker, uint64_t start)
{
	const struct line *line = map_line(worker->marker->map, start);

	if (worker->lost_only)
		return !(line_lost(line) & map_bit(start));
	return bits_load(&line->reach) & map_bit(start);
}

static struct link link_to(const struct marker *marker, uint64_t start, uint64_t place)
{
	place = mark_idiom_place(marker, start, place);
	if (place == start << 4)
		return (struct link){ LINK_START, false, start };
	if (place & 7)
		return (struct link){ LINK_LOOSE, false, start };
	return (struct link){ LINK_INNER, place & 8, place >> 4 };
}

static void add_link(struct records_builder *b, struct link link)
{
	unsigned int bytes;

	if (b->record == SIZE_MAX && !reserve(b, b->source))
		return;
	if (b->overflow)
		return;
	bytes = link_put(&b->byte[b->count], b->source, link);
	b->last = b->count;
	b->count += bytes;
	if (!bytes || b->count - b->record > RECORD_MAX)
		b->overflow = true;
}

void mark_records_add(struct worker *worker, struct candidate candidate)
{
	struct records_builder *b = &worker->builder;
	uint64_t start = mark_block_at(worker->marker->map, candidate.place);

	if (candidate.source != b->source)
		begin_source(worker, candidate.source);
	if (start == BLOCK_NONE || start == candidate.source)
		return;
	if (b->direct)
		mark_place(worker, start, candidate.place);
	else if (!is_settled(worker, start))
		add_link(b, link_to(worker->marker, start, candidate.place));
}

void mark_records_init(struct marker *marker, size_t bytes)
{
	void *memory = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) :
			       MAP_FAILED;

	if (memory == MAP_FAILED)
		return;
	huge_pages_ask(memory, bytes);
	marker->records = memory;
	marker->records_room = bytes;
}

void mark_records_done(struct marker *marker)
{
	if (marker->records)
		munmap(marker->records, marker->records_room);
}

/* NULL: full. */
static uint8_t *take_room(struct marker *marker, size_t bytes)
{
	size_t at;

	if (__atomic_load_n(&marker->records_used, __ATOMIC_RELAXED) > marker->records_room)
		return NULL;
	at = __atomic_fetch_add(&marker->records_used, bytes, __ATOMIC_RELAXED);
	return at <= marker->records_room && bytes <= marker->records_room - at ?
		       marker->records + at :
		       NULL;
}

/* When they are made anew they are usually fewer, and fit where they were. */
static void keep_records(struct marker *marker, struct chunk *chunk,
			 const struct records_builder *b)
{
	size_t bytes = b->count + LINK_MAX;

	if (!b->count || bytes > chunk->bytes) {
		chunk->records = b->count ? take_room(marker, bytes) : NULL;
		chunk->bytes = chunk->records ? (uint32_t)bytes : 0;
	}
	if (chunk->records)
		memcpy(chunk->records, b->byte, bytes);
}

/* Of two chunks, the one whose records come first. */
static int by_place(const void *a, const void *b, void *marker)
{
	const struct chunk *chunk = ((const struct marker *)marker)->chunk;
	const uint8_t *x = chunk[*(const uint32_t *)a].records;
	const uint8_t *y = chunk[*(const uint32_t *)b].records;

	return (x > y) - (x < y);
}

static void move_together(struct marker *marker, const uint32_t *order, size_t count)
{
	uint8_t *to = marker->records;

	for (size_t i = 0; i < count; i++) {
		struct chunk *chunk = &marker->chunk[order[i]];

		chunk->records = memmove(to, chunk->records, chunk->bytes);
		to += chunk->bytes;
	}
	marker->records_used = (size_t)(to - marker->records);
}

void mark_records_compact(struct marker *marker)
{
	_cleanup_free_ uint32_t *order = NULL;
	size_t count = 0;

	if (marker->records_used <= marker->records_room)
		return;
	order = calloc(marker->chunk_count, sizeof(*order));
	if (!order)
		return;
	for (uint64_t i = 0; i < marker->chunk_count; i++)
		if (marker->chunk[i].records)
			order[count++] = (uint32_t)i;
	qsort_r(order, count, sizeof(*order), by_place, marker);
	move_together(marker, order, count);
}

static void publish_line(struct worker *worker, uint64_t number)
{
	const struct records_builder *b = &worker->builder;
	struct line *line = &worker->marker->map->line[number];

	if (!line->start)
		return;
	line->records = b->offset[number - b->first_line];
	line->unread = b->keep[number - b->first_line];
}

void mark_records_publish(struct worker *worker, uint64_t chunk)
{
	struct records_builder *b = &worker->builder;
	const struct blocks *map = worker->marker->map;
	uint64_t last = b->first_line + CHUNK_LINES - 1;

	close_record(b);
	if (last >= map->line_count)
		last = map->line_count - 1;
	/* Lines without a start are not touched: inside of a large block they take no memory. */
	for (uint64_t i = map_line_from(map, b->first_line, last); i != BLOCK_NONE;
	     i = i < last ? map_line_from(map, i + 1, last) : BLOCK_NONE)
		publish_line(worker, i);
	keep_records(worker->marker, &worker->marker->chunk[chunk], b);
}
