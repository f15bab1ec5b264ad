/* SPDX-License-Identifier: MIT */
/*
 * printable.c - names come from the target's ELF files and command line: any bytes.
 *
 * Hand-written UTF-8 checks rather than iconv or mbrtowc: those depend on the
 * locale that memattach happens to run in, and files for programs are UTF-8 in any.
 */
#include "src/report/printable.h"

#include <langinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#define REPLACEMENT "\xef\xbf\xbd"	/* U+FFFD */

/* Bytes of the valid UTF-8 sequence at text, 0: not one. */
static size_t sequence_length(const unsigned char *text)
{
	static const struct {
		unsigned char low, high, second_low, second_high;
		size_t bytes;
	} form[] = {
		{ 0x01, 0x7f, 0, 0, 1 },	 { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(form); i++) {
		if (text[0] < form[i].low || text[0] > form[i].high)
			continue;
		for (size_t at = 1; at < form[i].bytes; at++) {
			unsigned char low = at == 1 ? form[i].second_low : 0x80;
			unsigned char high = at == 1 ? form[i].second_high : 0xbf;

			if (text[at] < low || text[at] > high)
				return 0;
		}
		return form[i].bytes;
	}
	return 0;
}

/* C0, DEL, C1, and the marks that turn the direction of writing. */
static bool is_control(const unsigned char *text, size_t length)
{
	if (length == 1)
		return text[0] < 0x20 || text[0] == 0x7f;
	if (length == 2)
		return text[0] == 0xc2 && text[1] < 0xa0;
	return length == 3 && text[0] == 0xe2 &&
	       ((text[1] == 0x80 && ((text[2] >= 0xa8 && text[2] <= 0xae) || text[2] == 0x8e ||
				     text[2] == 0x8f)) ||
		(text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9));
}

/* Of a valid sequence. */
static uint32_t code_point(const unsigned char *text, size_t length)
{
	uint32_t value = length == 1 ? text[0] : text[0] & (0x7fu >> length);

	for (size_t i = 1; i < length; i++)
		value = value << 6 | (text[i] & 0x3fu);
	return value;
}

static bool locale_has_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* No longer than three bytes for each of the sequence. */
static char *put_escape(char *to, uint32_t code)
{
	return to + sprintf(to, code <= 0xffff ? "\\u%04x" : "\\U%08x", code);
}

char *printable_copy(const char *text, enum printable_for purpose)
{
	const unsigned char *from = (const unsigned char *)text;
	char *copy = malloc(strlen(text) * (sizeof(REPLACEMENT) - 1) + 1), *to = copy;
	bool ascii = purpose == PRINTABLE_TERMINAL && !locale_has_utf8();

	while (copy && *from) {
		size_t length = sequence_length(from);

		if (length == 0) {
			to = stpcpy(to, ascii ? "?" : REPLACEMENT);
			from++;
			continue;
		}
		if (purpose != PRINTABLE_JSON && is_control(from, length))
			*to++ = '?';
		else if (ascii && length > 1)
			to = put_escape(to, code_point(from, length));
		else
			to = (char *)memcpy(to, from, length) + length;
		from += length;
	}
	if (copy)
		*to = '\0';
	return copy;
}

bool printable_is_plain(const char *text)
{
	while (*text >= 0x20 && *text < 0x7f)
		text++;
	return *text == '\0';
}

/* Columns of the character at text, whose bytes are *ret_bytes. */
static size_t columns_of(const char *text, size_t *ret_bytes)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t length = sequence_length(at);
	int columns = length > 1 ? wcwidth((wchar_t)code_point(at, length)) : 1;

	*ret_bytes = length ? length : 1;
	return columns < 0 ? 1 : (size_t)columns;	/* unknown to this locale */
}

size_t printable_columns(const char *text)
{
	size_t columns = 0, bytes;

	for (; *text; text += bytes)
		columns += columns_of(text, &bytes);
	return columns;
}

void printable_cut(char *text, size_t columns)
{
	size_t seen = 0, bytes;

	for (; *text; text += bytes) {
		seen += columns_of(text, &bytes);
		if (seen > columns) {
			*text = '\0';
			return;
		}
	}
}
