/* SPDX-License-Identifier: MIT */
/*
 * log.c - diagnostics on stderr.
 *
 * A message is formatted into a local buffer and leaves in one write(), so that
 * lines of keeper and analyst never mix within a line. Control characters are
 * replaced: messages carry names that a hostile target chose, and a terminal
 * obeys escape sequences. Longer messages are cut with "...". stdio's stderr was
 * rejected: it is unbuffered, one write() per conversion, and takes a lock.
 * The level is the only state; it is set once at start and only read later.
 */
#include "src/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "src/base/utf8.h"

#define LOG_LINE_BYTES 1024

static enum log_level log_highest = LOG_NOTICE;

void log_init(enum log_level level)
{
	log_highest = getenv("MEMATTACH_DEBUG") ? LOG_DEBUG : level;
}

void log_neutralise(char *text)
{
	while (*text) {
		size_t length = utf8_length(text);

		if (!length)
			*text = '?';	/* a byte above 0x7f may act on a terminal without UTF-8 */
		else if (utf8_is_control(utf8_code_point(text, length)))
			memset(text, '?', length);
		text += length ? length : 1;
	}
}

static void log_write(const char *line, size_t length)
{
	while (length > 0) {
		ssize_t n = write(STDERR_FILENO, line, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		line += n;
		length -= (size_t)n;
	}
}

void log_print(enum log_level level, const char *format, ...)
{
	char line[LOG_LINE_BYTES] = "memattach: ";
	size_t used = strlen(line), room = sizeof(line) - used - 1;
	int saved = errno, n;
	va_list arguments;

	if (level > log_highest)
		return;
	va_start(arguments, format);
	n = vsnprintf(line + used, room, format, arguments);
	va_end(arguments);
	if (n >= 0 && (size_t)n >= room)
		memcpy(line + sizeof(line) - 5, "...", 4);
	log_neutralise(line);
	used = strlen(line);
	line[used++] = '\n';
	log_write(line, used);
	errno = saved;
}
