/* SPDX-License-Identifier: MIT */
/*
 * emit.c - see emit.h.
 *
 * A tree of json_t was rejected: a document with 50,000 sites of 20 frames would
 * take a gigabyte before its first byte is written. Keys are ours and need no escape.
 * Numbers that JSON can't say (infinite, not a number) are written as 0.
 */
#include "src/report/emit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/report/printable.h"

static void put_key(struct emit *emit, const char *key)
{
	if (emit->comma)
		fputc(',', emit->out);
	emit->comma = true;
	if (!key)
		return;
	fputc('"', emit->out);
	fputs(key, emit->out);
	fputs("\":", emit->out);
}

void emit_begin(struct emit *emit, const char *key, char bracket)
{
	put_key(emit, key);
	fputc(bracket, emit->out);
	emit->comma = false;
}

void emit_end(struct emit *emit, char bracket)
{
	fputc(bracket, emit->out);
	emit->comma = true;
}

void emit_uint(struct emit *emit, const char *key, uint64_t value)
{
	char text[24], *at = text + sizeof(text);

	*--at = '\0';
	do
		*--at = (char)('0' + value % 10);
	while ((value /= 10) != 0);
	put_key(emit, key);
	fputs(at, emit->out);
}

void emit_int(struct emit *emit, const char *key, int64_t value)
{
	put_key(emit, key);
	fprintf(emit->out, "%lld", (long long)value);
}

void emit_null(struct emit *emit, const char *key)
{
	put_key(emit, key);
	fputs("null", emit->out);
}

void emit_uint_if(struct emit *emit, const char *key, uint64_t value, bool known)
{
	if (known)
		emit_uint(emit, key, value);
	else
		emit_null(emit, key);
}

void emit_real(struct emit *emit, const char *key, double value)
{
	char text[40], *comma;

	snprintf(text, sizeof(text), "%.12g", isfinite(value) ? value : 0.0);
	comma = strchr(text, ',');	/* some locales */
	if (comma)
		*comma = '.';
	put_key(emit, key);
	fputs(text, emit->out);
}

void emit_real_if(struct emit *emit, const char *key, double value)
{
	if (isfinite(value))
		emit_real(emit, key, value);
	else
		emit_null(emit, key);
}

void emit_bool(struct emit *emit, const char *key, bool value)
{
	put_key(emit, key);
	fputs(value ? "true" : "false", emit->out);
}

/* Most names: nothing in them has to be escaped or mended. */
static bool is_plain(const char *text)
{
	return printable_is_plain(text) && !strpbrk(text, "\"\\");
}

void emit_text(struct emit *emit, const char *key, const char *text)
{
	_cleanup_free_ char *escaped = NULL;

	if (!text) {
		emit_null(emit, key);
		return;
	}
	if (!is_plain(text)) {
		escaped = printable_copy(text, PRINTABLE_JSON);
		if (!escaped)
			emit->error = -ENOMEM;
		text = escaped ? escaped : "";
	}
	put_key(emit, key);
	fputc('"', emit->out);
	fputs(text, emit->out);
	fputc('"', emit->out);
}

void emit_members(struct emit *emit, const char *text, size_t bytes)
{
	if (bytes == 0)
		return;
	put_key(emit, NULL);
	fwrite(text, 1, bytes, emit->out);
}

int emit_finish(struct emit *emit)
{
	errno = 0;
	fputc('\n', emit->out);
	if (fflush(emit->out) != 0)
		return errno ? -errno : -EIO;
	if (ferror(emit->out))
		return -EIO;
	return emit->error;
}
