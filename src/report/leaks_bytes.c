/* SPDX-License-Identifier: MIT */
/*
 * leaks_bytes.c - see leaks_bytes.h. Strings are written as C would: quotes, backslashes and
 * control characters escaped, so that what is shown can be told from what is not; text beyond
 * ASCII stays as it is, but for what printable_copy takes out.
 */
#include "src/report/leaks_bytes.h"

#include <string.h>

#include "src/report/text_put.h"

#define LINE_BYTES 16u

/* One character of a string as it stands in a C program; 0: as it is. */
static char escape_of(char c)
{
	static const char from[] = "\t\n\r\"\\", to[] = "tnr\"\\";
	const char *at = strchr(from, c);

	return at ? to[at - from] : 0;
}

/* A copy of text with escapes. NULL: out of memory. */
static char *escaped(const char *text)
{
	char *copy = malloc(strlen(text) * 4 + 1), *to = copy;

	for (; copy && *text; text++) {
		char escape = escape_of(*text);

		if (escape) {
			*to++ = '\\';
			*to++ = escape;
		} else if ((unsigned char)*text < 0x20 || *text == 0x7f) {
			to += sprintf(to, "\\x%02x", (unsigned int)(unsigned char)*text);
		} else {
			*to++ = *text;
		}
	}
	if (copy)
		*to = '\0';
	return copy;
}

static void put_text(FILE *out, const struct leak_content *content)
{
	_cleanup_free_ char *text = escaped(content->text);

	fprintf(out, "      0x%llx  %s\"", (unsigned long long)content->address,
		content->kind == LEAK_TEXT_STD ? "std::string " : "");
	text_put_printable(out, text ? text : "");
	fprintf(out, "\"%s\n", content->text_cut ? " ..." : "");
}

static void put_line(FILE *out, uint64_t address, const uint8_t *byte, uint32_t count)
{
	fprintf(out, "      0x%llx ", (unsigned long long)address);
	for (uint32_t i = 0; i < LINE_BYTES; i++) {
		if (i % 8 == 0)
			fputc(' ', out);
		if (i < count)
			fprintf(out, "%02x ", (unsigned int)byte[i]);
		else
			fputs("   ", out);
	}
	fputs(" |", out);
	for (uint32_t i = 0; i < count; i++)
		fputc(byte[i] >= 0x20 && byte[i] < 0x7f ? byte[i] : '.', out);
	fputs("|\n", out);
}

void leaks_bytes_put(FILE *out, const struct leak_content *content)
{
	if (content->text)
		put_text(out, content);
	if (content->count == 0)
		fprintf(out, "      0x%llx  (can't be read)\n",
			(unsigned long long)content->address);
	for (uint32_t at = 0; at < content->count; at += LINE_BYTES) {
		uint32_t left = content->count - at;

		put_line(out, content->address + at, content->byte + at,
			 left < LINE_BYTES ? left : LINE_BYTES);
	}
}
