/* SPDX-License-Identifier: MIT */
/*
 * fuzz_jit_map.c - any bytes as the perf map of a process, which wrote them itself. Whatever is
 * found holds the address and has a name; where there are no more symbols than a search looks back
 * over, it is the last of those that hold it. Read from a file it is the same.
 *
 * The input is the file. Addresses that are asked for are both ends of each of its first lines, as
 * a model reads them, and those beside.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/symbolize/jit_map.h"

#define MOST_SYMBOLS	64u	/* a search looks back over as many */
#define MOST_LINES	256u	/* asked about */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct line {
	uint64_t low, high;
	const char *name;
};
struct lines {
	struct line line[MOST_LINES];
	size_t count;
};

static void must(bool good)
{
	if (!good)
		abort();
}

/* Up to 16 digits, perhaps behind 0x, and a space. */
static bool read_number(char **at, uint64_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	char *digit = *at;
	size_t count;

	if (digit[0] == '0' && (digit[1] == 'x' || digit[1] == 'X'))
		digit += 2;
	count = strspn(digit, "0123456789abcdefABCDEF");
	*at = digit + count + 1;
	for (*ret = 0; *digit && *digit != ' ' && count <= 16; digit++)
		if (strchr("0123456789abcdefABCDEF", *digit))
			*ret = *ret * 16 + (uint64_t)(strchr(digits, *digit | 32) - digits);
		else
			return false;
	return count > 0 && count <= 16 && *digit == ' ';
}

static bool read_line(char *text, struct line *ret)
{
	uint64_t bytes;

	if (!read_number(&text, &ret->low) || !read_number(&text, &bytes) || !*text)
		return false;
	ret->high = ret->low + bytes;
	ret->name = text;
	return bytes > 0 && ret->high > ret->low;
}

static void read_lines(char *text, size_t size, struct lines *ret)
{
	char *end = text + size;

	ret->count = 0;
	while (text < end && ret->count < MOST_LINES) {
		char *newline = memchr(text, '\n', (size_t)(end - text));

		if (newline)
			*newline = '\0';
		ret->count += read_line(text, &ret->line[ret->count]);
		text = newline ? newline + 1 : end;
	}
}

static const struct line *last_with(const struct lines *lines, uint64_t address)
{
	for (size_t i = lines->count; i-- > 0;)
		if (address >= lines->line[i].low && address < lines->line[i].high)
			return &lines->line[i];
	return NULL;
}

static void ask(const struct jit_map *map, const struct lines *lines, uint64_t address)
{
	const struct jit_symbol *is = jit_map_find(map, address);
	const struct line *wanted = last_with(lines, address);

	must(!is || (address >= is->low && address < is->high && is->name[0]));
	if (lines->count >= MOST_SYMBOLS)
		return;
	must(!is == !wanted);
	must(!is || (is->low == wanted->low && is->high == wanted->high &&
		     strcmp(is->name, wanted->name) == 0));
}

static void ask_all(const struct jit_map *map, const struct lines *lines)
{
	ask(map, lines, 0);
	ask(map, lines, UINT64_MAX);
	for (size_t i = 0; i < lines->count; i++) {
		ask(map, lines, lines->line[i].low);
		ask(map, lines, lines->line[i].low - 1);
		ask(map, lines, lines->line[i].high);
		ask(map, lines, lines->line[i].high - 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct lines lines;
	struct jit_map *parsed = NULL, *read = NULL;
	char *text = calloc(1, size + 1);
	int fd = memfd_create("map", MFD_CLOEXEC);

	must(text && fd >= 0);
	if (size > 0)
		memcpy(text, data, size);
	must(write(fd, text, size) == (ssize_t)size);
	must(jit_map_parse(text, size, &parsed) == 0 && jit_map_read(fd, UINT64_MAX, &read) == 0);
	(void)close(fd);
	read_lines(text, size, &lines);
	ask_all(parsed, &lines);
	ask_all(read, &lines);
	jit_map_free(parsed);
	jit_map_free(read);
	free(text);
	return 0;
}
