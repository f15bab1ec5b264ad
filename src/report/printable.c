/* SPDX-License-Identifier: MIT */
/*
 * printable.c - names come from the target's ELF files and command line: any bytes.
 */
#include "src/report/printable.h"

#include <langinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "src/base/utf8.h"

#define REPLACEMENT	"\xef\xbf\xbd"	/* U+FFFD */
#define ESCAPE_BYTES	6u		/* a byte becomes at the most */

static bool locale_has_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* As C writes it. At most ESCAPE_BYTES for each byte of the sequence. */
static char *put_escape(char *to, uint32_t code)
{
	return to + sprintf(to, code <= 0xffff ? "\\u%04x" : "\\U%08x", code);
}

/* As JSON writes it: what lies beyond 16 bits as a pair of surrogates. */
static char *put_json_escape(char *to, uint32_t code)
{
	if (code <= 0xffff)
		return to + sprintf(to, "\\u%04x", code);
	code -= 0x10000;
	return to + sprintf(to, "\\u%04x\\u%04x", 0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

/* One valid sequence. */
static char *put_sequence(char *to, const char *from, size_t length, enum printable_for purpose)
{
	uint32_t code = utf8_code_point(from, length);

	if (purpose == PRINTABLE_JSON) {
		if (utf8_is_control(code))
			return put_json_escape(to, code);
		if (code == '"' || code == '\\')
			*to++ = '\\';
	} else if (utf8_is_control(code)) {
		*to++ = '?';
		return to;
	} else if (length > 1 && purpose == PRINTABLE_TERMINAL && !locale_has_utf8()) {
		return put_escape(to, code);
	}
	return (char *)memcpy(to, from, length) + length;
}

char *printable_copy(const char *text, enum printable_for purpose)
{
	bool ascii = purpose == PRINTABLE_TERMINAL && !locale_has_utf8();
	char *copy = malloc(strlen(text) * ESCAPE_BYTES + 1), *to = copy;

	while (copy && *text) {
		size_t length = utf8_length(text);

		to = length ? put_sequence(to, text, length, purpose) :
			      stpcpy(to, ascii ? "?" : REPLACEMENT);
		text += length ? length : 1;
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
	size_t length = utf8_length(text);
	int columns = length > 1 ? wcwidth((wchar_t)utf8_code_point(text, length)) : 1;

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
