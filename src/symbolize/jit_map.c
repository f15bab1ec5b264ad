/* SPDX-License-Identifier: MIT */
/*
 * jit_map.c - names of code that was compiled at run time.
 *
 * The file only ever grows: when code is thrown away and its memory used again,
 * a later line covers the same addresses, so the last line wins. All lines are
 * kept, sorted by start, and a search looks back over a bounded number of
 * neighbours: exact for what JIT compilers write, and never slow for a file
 * made to be. Splitting overlaps into disjoint pieces was rejected, as it turns a
 * hostile file into quadratic work.
 */
#include "src/symbolize/jit_map.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_BYTES	(256u << 20)
#define MAX_SYMBOLS	(4u << 20)
#define MAX_NEIGHBOURS	64u

struct entry {
	struct jit_symbol symbol;
	uint32_t order;		/* line number: later ones win */
};

struct jit_map {
	struct entry *entry;
	uint32_t count, capacity, most;
	char *text;		/* the file, lines NUL-terminated */
};

/* Hex digits at *at; false when there are none or too many. */
static bool read_hex(const char **at, uint64_t *ret)
{
	const char *start = *at;
	uint64_t value = 0;

	if (start[0] == '0' && (start[1] == 'x' || start[1] == 'X'))
		*at = start += 2;
	for (;; (*at)++) {
		char c = **at;
		unsigned int digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned int)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (unsigned int)((c | 0x20) - 'a') + 10;
		else
			break;
		value = value << 4 | digit;
	}
	*ret = value;
	return *at > start && *at - start <= 16;
}

/* "START SIZE name", NUL-terminated. */
static bool parse_line(const char *line, struct jit_symbol *ret)
{
	uint64_t start, size;

	if (!read_hex(&line, &start) || *line++ != ' ' || !read_hex(&line, &size) ||
	    *line++ != ' ' || *line == '\0')
		return false;
	if (size == 0 || size > UINT64_MAX - start)
		return false;
	*ret = (struct jit_symbol){ .low = start, .high = start + size, .name = line };
	return true;
}

static int jit_map_add(struct jit_map *map, const struct jit_symbol *symbol)
{
	if (map->count == map->most)
		return 0;
	if (map->count == map->capacity) {
		uint32_t wanted = map->capacity ? map->capacity * 2 : 1024;
		uint32_t capacity = wanted < map->most ? wanted : map->most;
		struct entry *entry = reallocarray(map->entry, capacity, sizeof(*entry));

		if (!entry)
			return -ENOMEM;
		map->entry = entry;
		map->capacity = capacity;
	}
	map->entry[map->count] = (struct entry){ .symbol = *symbol, .order = map->count };
	map->count++;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->symbol.low != b->symbol.low)
		return a->symbol.low < b->symbol.low ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Takes map->text apart. */
static int parse(struct jit_map *map, size_t bytes)
{
	char *line = map->text, *end = map->text + bytes;

	while (line < end) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		struct jit_symbol symbol;
		int r = 0;

		if (!newline)
			newline = end;
		*newline = '\0';
		if (parse_line(line, &symbol))
			r = jit_map_add(map, &symbol);
		if (r < 0)
			return r;
		line = newline + 1;
	}
	if (map->count > 0)
		qsort(map->entry, map->count, sizeof(*map->entry), compare);
	return 0;
}

static int map_new(size_t bytes, struct jit_map **ret)
{
	struct jit_map *map = calloc(1, sizeof(*map));

	if (!map)
		return -ENOMEM;
	map->most = MAX_SYMBOLS;
	map->text = malloc(bytes + 1);
	if (!map->text) {
		free(map);
		return -ENOMEM;
	}
	map->text[bytes] = '\0';
	*ret = map;
	return 0;
}

static int finish(struct jit_map *map, size_t bytes, struct jit_map **ret)
{
	int r = parse(map, bytes);

	if (r < 0)
		jit_map_free(map);
	else
		*ret = map;
	return r;
}

int jit_map_parse(const char *text, size_t bytes, struct jit_map **ret)
{
	struct jit_map *map;
	int r = map_new(bytes, &map);

	if (r < 0)
		return r;
	if (bytes > 0)
		memcpy(map->text, text, bytes);
	return finish(map, bytes, ret);
}

/* The data of [*at, size) that comes next, into room bytes at text. Bytes; 0: there is no more. */
static size_t read_extent(int fd, off_t *at, off_t size, char *text, size_t room)
{
	off_t low = lseek(fd, *at, SEEK_DATA), high = low < 0 ? -1 : lseek(fd, low, SEEK_HOLE);
	size_t done = 0;

	if (low < 0 || low >= size)
		return 0;
	high = high <= low || high > size ? size : high;
	if ((uint64_t)(high - low) < room)
		room = (size_t)(high - low);
	while (done < room) {
		ssize_t n = pread(fd, text + done, room - done, low + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	*at = high;
	return done;
}

/* The file's data, a line's end between two extents: a hole is larger than one. Bytes. */
static size_t read_text(int fd, off_t size, char *text, size_t room)
{
	size_t done = 0, n;
	off_t at = 0;

	while (done < room && (n = read_extent(fd, &at, size, text + done, room - done)) > 0) {
		done += n;
		if (done < room)
			text[done++] = '\n';
	}
	return done;
}

int jit_map_read(int fd, uint64_t most, struct jit_map **ret)
{
	struct jit_map *map;
	struct stat stat;
	size_t bytes;
	int r;

	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -EINVAL;
	most = most < MAX_BYTES ? most : MAX_BYTES;
	bytes = (uint64_t)stat.st_size < most ? (size_t)stat.st_size + 1 : (size_t)most;
	r = map_new(bytes, &map);
	if (r < 0)
		return r;
	if (most / sizeof(struct entry) < map->most)
		map->most = (uint32_t)(most / sizeof(struct entry));
	return finish(map, read_text(fd, stat.st_size, map->text, bytes), ret);
}

void jit_map_free(struct jit_map *map)
{
	if (!map)
		return;
	free(map->entry);
	free(map->text);
	free(map);
}

/* Index of the first entry that starts above address. */
static uint32_t upper_bound(const struct jit_map *map, uint64_t address)
{
	uint32_t low = 0, high = map->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (map->entry[middle].symbol.low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct jit_symbol *jit_map_find(const struct jit_map *map, uint64_t address)
{
	const struct entry *best = NULL;
	uint32_t at = upper_bound(map, address);

	for (uint32_t looked = 0; at > 0 && looked < MAX_NEIGHBOURS; looked++) {
		const struct entry *entry = &map->entry[--at];

		if (address < entry->symbol.high && (!best || entry->order > best->order))
			best = entry;
	}
	return best ? &best->symbol : NULL;
}
