/* SPDX-License-Identifier: MIT */
/*
 * html_escape.c - see html_escape.h.
 *
 * In JSON these characters stand in strings only, where \u003c is the same character: no parser is
 * needed, and none of the writers of JSON needs to know where its output goes.
 */
#include "src/export/html_escape.h"

#include <errno.h>
#include <string.h>

static size_t plain_length(const char *bytes, size_t count)
{
	size_t length = 0;

	while (length < count && !strchr("<>&", bytes[length]))
		length++;
	return length;
}

/* strchr finds the end of its string, too. */
static int put_escaped(FILE *under, char c)
{
	return c ? fprintf(under, "\\u%04x", (unsigned int)(unsigned char)c) : fputc(c, under);
}

/* 0: an error, as fopencookie wants it. */
static ssize_t escape_write(void *context, const char *bytes, size_t count)
{
	FILE *under = context;
	size_t done = 0;

	while (done < count) {
		size_t plain = plain_length(bytes + done, count - done);

		if (fwrite(bytes + done, 1, plain, under) != plain)
			return 0;
		done += plain;
		if (done < count && put_escaped(under, bytes[done++]) < 0)
			return 0;
	}
	return (ssize_t)count;
}

int html_escape_open(FILE *under, FILE **ret)
{
	FILE *file = fopencookie(under, "w", (cookie_io_functions_t){ .write = escape_write });

	if (!file)
		return errno ? -errno : -ENOMEM;
	*ret = file;
	return 0;
}
