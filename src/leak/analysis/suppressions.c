/* SPDX-License-Identifier: MIT */
/*
 * suppressions.c - see suppressions.h.
 *
 * The meaning is that of LLVM's runtime (sanitizer_suppressions.cpp, lsan_common.cpp), its
 * quirks included, so that a file does the same in both: white space around a line does not count,
 * a comment begins in a line's first column or after white space only, what follows a $ is
 * ignored, each piece between stars is taken where it occurs first ("a*b$" does not match
 * "a1b2b"), a frame without a module is called "<unknown module>".
 * Refused, with its line: any other kind of rule (as there), an empty pattern (there it
 * suppresses everything in silence), a byte 0. LeakSanitizer's built-in rule for
 * __tls_get_addr is not needed: dynamic thread-local storage is reachable by its dtv.
 * Rejected: fnmatch and regex (other meanings of *, ^ and $).
 */
#include "src/leak/analysis/suppressions.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

struct suppressions {
	struct suppression *rule;
	size_t count, room;
	uint32_t files;
};

int suppressions_new(struct suppressions **ret)
{
	struct suppressions *suppressions = calloc(1, sizeof(*suppressions));

	if (!suppressions)
		return -ENOMEM;
	*ret = suppressions;
	return 0;
}

/* Takes the rules from number count on away again. */
static void cut(struct suppressions *suppressions, size_t count)
{
	while (suppressions->count > count)
		free((char *)(uintptr_t)suppressions->rule[--suppressions->count].pattern);
}

void suppressions_free(struct suppressions *suppressions)
{
	if (!suppressions)
		return;
	cut(suppressions, 0);
	free(suppressions->rule);
	free(suppressions);
}

/* --- files ------------------------------------------------------------------- */

static _printf_(4, 5) int wrong(struct suppressions_error *ret_error, int error, uint32_t line,
				const char *format, ...)
{
	va_list arguments;

	if (!ret_error)
		return error;
	va_start(arguments, format);
	ret_error->line = line;
	vsnprintf(ret_error->text, sizeof(ret_error->text), format, arguments);
	va_end(arguments);
	return error;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static int add_rule(struct suppressions *suppressions, const char *pattern, size_t length,
		    uint32_t line)
{
	size_t room = suppressions->room ? suppressions->room * 2 : 16;
	struct suppression rule = { .file = suppressions->files, .line = line };

	if (suppressions->count == suppressions->room) {
		struct suppression *grown = reallocarray(suppressions->rule, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		suppressions->rule = grown;
		suppressions->room = room;
	}
	rule.pattern = strndup(pattern, length);
	if (!rule.pattern)
		return -ENOMEM;
	suppressions->rule[suppressions->count++] = rule;
	return 0;
}

/* A part of a line for a message: no control characters of a hostile file on the terminal. */
static const char *shown(const char *text, size_t length, char buffer[40])
{
	size_t i;

	for (i = 0; i < length && i < 36; i++)
		buffer[i] = text[i] >= ' ' && text[i] < 127 ? text[i] : '?';
	strcpy(&buffer[i], i < length ? "..." : "");
	return buffer;
}

/* text: a line without its end. */
static int parse_line(struct suppressions *suppressions, const char *text, size_t length,
		      uint32_t line, struct suppressions_error *ret_error)
{
	char buffer[40];

	for (; length > 0 && is_blank(text[length - 1]); length--)
		;
	for (; length > 0 && is_blank(*text); text++)
		length--;
	if (length == 0 || *text == '#')
		return 0;
	if (memchr(text, '\0', length))
		return wrong(ret_error, -EINVAL, line, "a byte 0: this is no text file");
	if (length < 5 || memcmp(text, "leak:", 5) != 0)
		return wrong(ret_error, -EINVAL, line,
			     "leak:PATTERN is expected here, not \"%s\"",
			     shown(text, length, buffer));
	if (length == 5 || (length == 6 && text[5] == '^'))
		return wrong(ret_error, -EINVAL, line,
			     "an empty pattern would suppress everything: write leak:* for that");
	if (suppressions->count == SUPPRESSIONS_MAX_RULES)
		return wrong(ret_error, -EFBIG, line, "more than %u rules", SUPPRESSIONS_MAX_RULES);
	return add_rule(suppressions, text + 5, length - 5, line);
}

int suppressions_parse(struct suppressions *suppressions, const char *text, size_t length,
		       struct suppressions_error *ret_error)
{
	size_t before = suppressions->count;
	uint32_t line = 0;
	int error = 0;

	if (length > SUPPRESSIONS_MAX_BYTES)
		return wrong(ret_error, -EFBIG, 0, "more than %u bytes", SUPPRESSIONS_MAX_BYTES);
	while (!error && length > 0) {
		const char *end = memchr(text, '\n', length);
		size_t used = end ? (size_t)(end - text) : length;

		error = parse_line(suppressions, text, used, ++line, ret_error);
		used += end != NULL;
		text += used;
		length -= used;
	}
	if (error == -ENOMEM)
		wrong(ret_error, error, line, "out of memory");
	if (error)
		cut(suppressions, before);
	else
		suppressions->files++;
	return error;
}

int suppressions_read(struct suppressions *suppressions, int fd,
		      struct suppressions_error *ret_error)
{
	/* One byte more than allowed tells a file that is too large. */
	size_t room = SUPPRESSIONS_MAX_BYTES + 1, used = 0;
	_cleanup_free_ char *text = malloc(room);

	if (!text)
		return wrong(ret_error, -ENOMEM, 0, "out of memory");
	while (used < room) {
		ssize_t got = read(fd, text + used, room - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return wrong(ret_error, -errno, 0, "%s", strerror(errno));
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return suppressions_parse(suppressions, text, used, ret_error);
}

/* --- matching ---------------------------------------------------------------- */

/* strstr for a needle of length bytes that is not terminated. */
static const char *find_piece(const char *text, const char *piece, size_t length)
{
	return memmem(text, strlen(text), piece, length);
}

bool suppressions_matches(const char *pattern, const char *text)
{
	bool anchored = *pattern == '^', after_star = false;

	if (!text || !*text)
		return false;
	pattern += anchored;
	while (*pattern) {
		size_t length = strcspn(pattern, "*$");
		const char *found;

		if (*pattern == '*') {
			after_star = true;
			anchored = false;
			pattern++;
			continue;
		}
		if (*pattern == '$')
			return *text == '\0' || after_star;
		found = find_piece(text, pattern, length);
		if (!found || (anchored && found != text))
			return false;
		text = found + length;
		pattern += length;
		after_star = anchored = false;
	}
	return true;
}

/* The number of the first rule that matches text, 0: none. */
static size_t match_text(const struct suppressions *suppressions, const char *text)
{
	for (size_t i = 0; i < suppressions->count; i++) {
		if (suppressions_matches(suppressions->rule[i].pattern, text))
			return i + 1;
	}
	return 0;
}

static size_t match_frame(const struct suppressions *suppressions,
			  const struct symbol_frame *frame, bool first_of_machine_frame)
{
	const char *module = frame->module && *frame->module ? frame->module : "<unknown module>";
	size_t rule = first_of_machine_frame ? match_text(suppressions, module) : 0;

	if (!rule)
		rule = match_text(suppressions, frame->function);
	return rule ? rule : match_text(suppressions, frame->file);
}

size_t suppressions_match(const struct suppressions *suppressions,
			  const struct symbol_frame *frame, size_t count)
{
	size_t rule = 0;

	for (size_t i = 0; !rule && i < count; i++)
		rule = match_frame(suppressions, &frame[i], i == 0 || !frame[i - 1].inlined);
	return rule;
}

/* --- books -------------------------------------------------------------------- */

void suppressions_hit(struct suppressions *suppressions, size_t rule, uint64_t count,
		      uint64_t bytes)
{
	if (rule == 0 || rule > suppressions->count)
		return;
	suppressions->rule[rule - 1].count += count;
	suppressions->rule[rule - 1].bytes += bytes;
}

int suppressions_each(const struct suppressions *suppressions,
		      int (*each)(void *context, const struct suppression *rule), void *context)
{
	int result = 0;

	for (size_t i = 0; !result && i < suppressions->count; i++)
		result = each(context, &suppressions->rule[i]);
	return result;
}

uint64_t suppressions_sum(const struct suppressions *suppressions, uint64_t *ret_bytes)
{
	uint64_t count = 0, bytes = 0;

	for (size_t i = 0; i < suppressions->count; i++) {
		count += suppressions->rule[i].count;
		bytes += suppressions->rule[i].bytes;
	}
	if (ret_bytes)
		*ret_bytes = bytes;
	return count;
}
