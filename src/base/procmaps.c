/* SPDX-License-Identifier: MIT */
/*
 * procmaps.c - reads and parses /proc/PID/maps.
 *
 * The kernel promises that addresses never go backwards even when the map
 * changes between two reads (Documentation/filesystems/proc.rst), so anything
 * unsorted or overlapping is refused. Since it reads without the lock of the whole map
 * (6.17) it does not always keep that: of a process that maps and unmaps all the time, one text in
 * a thousand has a mapping that begins before the end of the one above it (6.18.44). Then all
 * is read again. A process may end while it is read: what was read then is not all, and is thrown
 * away (still_reads). Paths are chosen by the target: the text
 * is cut at newlines first, and only "\012", the one escape that the kernel
 * writes here, is undone; a file whose name really ends in " (deleted)" can't
 * be told from a deleted one, and callers that open it compare dev and inode.
 * sscanf was rejected: it is slow and silent about overflow. PROCMAP_QUERY
 * (Linux 6.11) answers one address at a time and saves nothing here.
 */
#include "src/base/procmaps.h"

#include <errno.h>
#include <string.h>

#include "src/base/array.h"

#define PROCMAPS_FIRST_BYTES (64u << 10)
#define PROCMAPS_MAX_BYTES   (256u << 20)
#define PAGE_BYTES           4096u
#define READ_TRIES	     20
#define HOLE_DISTANCE        (64u << 10)
#define HOLE_STACK_ROOM      (1ull << 30)
#define HOLE_HEAP_ROOM       (1ull << 40)
/* End of what mmap hands out to a program that asks for no more than 47 bits. */
#define ADDRESS_END 0x7ffffffff000u

/* Takes an unsigned number in base (10 or 16) and the separator after it. */
static bool take_number(char **at, unsigned int base, char separator, uint64_t *ret)
{
	uint64_t value = 0;
	const char *first = *at;
	char *c = *at;

	for (;; c++) {
		unsigned int digit = 99;

		if (*c >= '0' && *c <= '9')
			digit = (unsigned int)(*c - '0');
		else if (*c >= 'a' && *c <= 'f')
			digit = (unsigned int)(*c - 'a') + 10;
		if (digit >= base)
			break;
		if (value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (c == first || *c != separator)
		return false;
	*at = *c ? c + 1 : c;
	*ret = value;
	return true;
}

/* "r-xp " */
static bool take_prot(char **at, uint32_t *ret)
{
	static const char letters[] = "rwx";
	const char *c = *at;
	uint32_t prot = 0;

	for (unsigned int i = 0; i < 3; i++) {
		if (c[i] == letters[i])
			prot |= 1u << i;
		else if (c[i] != '-')
			return false;
	}
	if (c[3] == 's')
		prot |= PROCMAP_SHARED;
	else if (c[3] != 'p')
		return false;
	if (c[4] != ' ')
		return false;
	*at += 5;
	*ret = prot;
	return true;
}

static void unescape_newlines(char *path)
{
	char *out = path;

	for (const char *in = path; *in; out++) {
		if (strncmp(in, "\\012", 4) == 0) {
			*out = '\n';
			in += 4;
		} else {
			*out = *in++;
		}
	}
	*out = '\0';
}

static bool cut_deleted(char *path)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(path), cut = sizeof(suffix) - 1;

	if (length < cut || strcmp(path + length - cut, suffix) != 0)
		return false;
	path[length - cut] = '\0';
	return true;
}

/* The inode ends the line of an anonymous mapping ("0 " or "0") and precedes padding and path. */
static bool take_inode_and_path(char *at, struct procmap *map)
{
	char *number = at;

	at += strspn(at, "0123456789");
	if (*at != ' ' && *at != '\0')
		return false;
	if (!take_number(&number, 10, *at, &map->inode))
		return false;
	at += strspn(at, " ");
	map->deleted = cut_deleted(at);
	unescape_newlines(at);
	map->path = at;
	return true;
}

/* "start-end rwxp offset major:minor inode   path" */
static bool parse_line(char *line, struct procmap *map)
{
	uint64_t major, minor;

	if (!take_number(&line, 16, '-', &map->start) || !take_number(&line, 16, ' ', &map->end) ||
	    !take_prot(&line, &map->prot) || !take_number(&line, 16, ' ', &map->offset) ||
	    !take_number(&line, 16, ':', &major) || !take_number(&line, 16, ' ', &minor))
		return false;
	if (map->start >= map->end || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	map->dev_major = (uint32_t)major;
	map->dev_minor = (uint32_t)minor;
	return take_inode_and_path(line, map);
}

static size_t count_lines(const char *text, size_t length)
{
	size_t lines = 1;

	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	return lines;
}

/* Fills maps->map from maps->text, which is cut up in place. */
static int parse_text(struct procmaps *maps, size_t length)
{
	uint64_t last = 0;
	char *next, *end = maps->text + length;

	if (memchr(maps->text, '\0', length))
		return -EBADMSG;
	maps->map = calloc(count_lines(maps->text, length), sizeof(*maps->map));
	if (!maps->map)
		return -ENOMEM;
	for (char *line = maps->text; line < end; line = next) {
		struct procmap *map = &maps->map[maps->count];

		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next + 1 : end + 1;
		next[-1] = '\0';
		if (!parse_line(line, map) || map->start < last)
			return -EBADMSG;
		last = map->end;
		maps->count++;
	}
	return 0;
}

/* Parses maps->text and hands maps over; on error everything is freed. */
static int parse_take(struct procmaps *maps, size_t length, struct procmaps *ret)
{
	int r = parse_text(maps, length);

	if (r < 0) {
		procmaps_done(maps);
		return r;
	}
	*ret = *maps;
	*maps = (struct procmaps){ 0 };
	return 0;
}

int procmaps_parse(const char *text, size_t length, struct procmaps *ret)
{
	struct procmaps maps = { 0 };

	if (length > PROCMAPS_MAX_BYTES)
		return -EFBIG;
	maps.text = malloc(length + 1);
	if (!maps.text)
		return -ENOMEM;
	if (length > 0)
		memcpy(maps.text, text, length);
	maps.text[length] = '\0';
	return parse_take(&maps, length, ret);
}

/* Makes room for more after used bytes and the terminator. */
static int grow_text(char **text, size_t *capacity, size_t used)
{
	size_t wanted = *capacity ? *capacity * 2 : PROCMAPS_FIRST_BYTES;
	char *bigger;

	if (used + 1 < *capacity)
		return 0;
	if (wanted > PROCMAPS_MAX_BYTES)
		return -EFBIG;
	bigger = realloc(*text, wanted);
	if (!bigger)
		return -ENOMEM;
	*text = bigger;
	*capacity = wanted;
	return 0;
}

/*
 * The list of a process that ends, or calls exec, ends where the reader just is, which looks like
 * its true end. From its beginning such a process has none any more. 1, 0 or -errno.
 */
static int still_reads(int fd)
{
	ssize_t n;
	char byte;

	do
		n = pread(fd, &byte, 1, 0);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n == 1;
}

static int read_text(int fd, char **text, size_t *ret_length)
{
	size_t used = 0, capacity = 0;
	int r;

	for (;;) {
		ssize_t n;

		r = grow_text(text, &capacity, used);
		if (r < 0)
			return r;
		n = pread(fd, *text + used, capacity - used - 1, (off_t)used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	r = still_reads(fd);
	if (r < 0)
		return r;
	if (!r)
		used = 0;
	(*text)[used] = '\0';
	*ret_length = used;
	return 0;
}

static int read_once(int fd, struct procmaps *ret)
{
	struct procmaps maps = { 0 };
	size_t length = 0;
	int r = read_text(fd, &maps.text, &length);

	if (r < 0) {
		procmaps_done(&maps);
		return r;
	}
	return parse_take(&maps, length, ret);
}

int procmaps_read(int fd, struct procmaps *ret)
{
	int r = -EBADMSG;

	for (int i = 0; i < READ_TRIES && r == -EBADMSG; i++)
		r = read_once(fd, ret);
	return r;
}

void procmaps_done(struct procmaps *maps)
{
	free(maps->map);
	free(maps->text);
	*maps = (struct procmaps){ 0 };
}

const struct procmap *procmaps_find(const struct procmaps *maps, uint64_t address)
{
	size_t low = ARRAY_BISECT(maps->count, i, maps->map[i].end <= address);

	if (low == maps->count || maps->map[low].start > address)
		return NULL;
	return &maps->map[low];
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t sub_capped(uint64_t a, uint64_t b)
{
	return a < b ? 0 : a - b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct range {
	uint64_t low, high;
};

/* The usable part of the gap before mapping i (count: after the last); low >= high: none. */
static struct range usable_gap(const struct procmaps *maps, size_t i)
{
	const struct procmap *before = i > 0 ? &maps->map[i - 1] : NULL;
	const struct procmap *after = i < maps->count ? &maps->map[i] : NULL;
	struct range gap = { before ? before->end : 0, after ? after->start : ADDRESS_END };

	/* brk grows into it, and fails for good at the first obstacle. */
	if (before && strcmp(before->path, "[heap]") == 0)
		gap.low = add_capped(gap.low, HOLE_HEAP_ROOM);
	if (after && strcmp(after->path, "[stack]") == 0)
		gap.high = sub_capped(gap.high, HOLE_STACK_ROOM);
	gap.high = min_u64(gap.high, ADDRESS_END);
	gap.low = add_capped(gap.low, HOLE_DISTANCE + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	gap.high = sub_capped(gap.high, HOLE_DISTANCE) & ~(uint64_t)(PAGE_BYTES - 1);
	return gap;
}

uint64_t procmaps_find_hole(const struct procmaps *maps, uint64_t low, uint64_t high,
			    uint64_t bytes, uint64_t reach)
{
	uint64_t first = sub_capped(high, reach), last = add_capped(low, reach), below = 0;

	if (bytes == 0 || low >= high || first > UINT64_MAX - PAGE_BYTES)
		return 0;
	first = (first + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	for (size_t i = 0; i <= maps->count; i++) {
		struct range gap = usable_gap(maps, i);

		gap.low = max_u64(gap.low, first);
		gap.high = min_u64(gap.high, last);
		if (gap.low >= gap.high || gap.high - gap.low < bytes)
			continue;
		/* Below is preferred, the nearest first: a break that is yet to come is above. */
		if (gap.high <= low)
			below = (gap.high - bytes) & ~(uint64_t)(PAGE_BYTES - 1);
		else
			return below ? below : gap.low;
	}
	return below;
}
