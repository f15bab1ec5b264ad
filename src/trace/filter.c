/* SPDX-License-Identifier: MIT */
/*
 * filter.c - see filter.h.
 *
 * C++ names are matched with and without their parameters, paths whole and by their last part:
 * what people type is what they see in the log, or less. A name as it is fits too, though it
 * be no pattern of itself (operator[]).
 */
#include "src/trace/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* A number with a suffix; *text is moved behind it. */
static int read_bytes(const char **text, uint64_t *ret)
{
	static const char suffix[] = "kmg";
	unsigned long long value;
	unsigned int shift = 0;
	const char *found;
	char *end;

	if (**text < '0' || **text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(*text, &end, 10);
	found = *end ? strchr(suffix, *end | 0x20) : NULL;
	if (found) {
		shift = 10u * (unsigned int)(found - suffix + 1);
		end++;
	}
	if (errno || value > UINT64_MAX >> shift)
		return -EINVAL;
	*text = end;
	*ret = value << shift;
	return 0;
}

int trace_filter_set_size(struct trace_filter *filter, const char *text)
{
	uint64_t low, high;

	if (read_bytes(&text, &low))
		return -EINVAL;
	high = low;
	if (*text == '-') {
		text++;
		high = UINT64_MAX;
		if (*text && read_bytes(&text, &high))
			return -EINVAL;
	}
	if (*text || high < low)
		return -EINVAL;
	filter->by_size = true;
	filter->size_low = low;
	filter->size_high = high;
	return 0;
}

int trace_filter_set_thread(struct trace_filter *filter, const char *text)
{
	char *end;

	errno = 0;
	(void)strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		return -EINVAL;
	filter->thread = text;
	return 0;
}

bool trace_filter_call(const struct trace_filter *filter, const struct trace_line *call)
{
	uint64_t bytes, thread;

	if (filter->by_size && (!trace_size(call, &bytes) || bytes < filter->size_low ||
				bytes > filter->size_high))
		return false;
	if (!filter->thread)
		return true;
	thread = strtoull(filter->thread, NULL, 0);
	return thread != 0 && (thread == call->tid || thread == call->thread);
}

static bool matches(const char *pattern, const char *text)
{
	return strcmp(pattern, text) == 0 || fnmatch(pattern, text, 0) == 0;
}

/* "f(int) const" without what is in parentheses; those of operator() and of scopes belong to it. */
static bool matches_function(const char *pattern, const char *name)
{
	char bare[512];
	const char *open = strchr(name, '(');

	if (matches(pattern, name))
		return true;
	while (open && (open == name || (open[-1] == ':' || (open > name + 8 &&
				memcmp(open - 8, "operator", 8) == 0))))
		open = strchr(open + 1, '(');
	if (!open || (size_t)(open - name) >= sizeof(bare))
		return false;
	memcpy(bare, name, (size_t)(open - name));
	bare[open - name] = '\0';
	return matches(pattern, bare);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool matches_path(const char *pattern, const char *path)
{
	return matches(pattern, path) || matches(pattern, last_part(path));
}

static bool is_line(const char *site, const struct symbol_frame *frame)
{
	char text[24];
	const char *colon = strrchr(site, ':');
	size_t length = colon ? (size_t)(colon - site) : 0;

	if (!colon || !frame->file)
		return false;
	(void)snprintf(text, sizeof(text), "%u", frame->line);
	if (strcmp(colon + 1, text) != 0)
		return false;
	return (strlen(frame->file) == length && memcmp(site, frame->file, length) == 0) ||
	       (strlen(last_part(frame->file)) == length &&
		memcmp(site, last_part(frame->file), length) == 0);
}

/* name+0xoffset */
static bool is_offset(const char *site, const char *name, uint64_t offset)
{
	const char *plus = strrchr(site, '+');
	size_t length = plus ? (size_t)(plus - site) : 0;
	char *end;

	if (!plus || !name || strlen(name) != length || memcmp(site, name, length) != 0)
		return false;
	return strtoull(plus + 1, &end, 16) == offset && end != plus + 1 && !*end;
}

static bool is_site(const char *site, const struct symbol_frame *frame)
{
	return is_line(site, frame) || is_offset(site, frame->function, frame->function_offset) ||
	       is_offset(site, frame->module, frame->offset) ||
	       is_offset(site, last_part(frame->module), frame->offset);
}

bool trace_filter_called(const struct trace_filter *filter, const char *name)
{
	return filter->function && matches_function(filter->function, name);
}

bool trace_filter_place(const struct trace_filter *filter, const struct symbol_frame *frame,
			size_t count, bool called)
{
	bool site = !filter->site;
	bool named = !filter->function || called;
	bool module = !filter->module;

	for (size_t i = 0; i < count; i++) {
		site = site || is_site(filter->site, &frame[i]);
		named = named || (frame[i].function &&
				  matches_function(filter->function, frame[i].function));
		module = module || matches_path(filter->module, frame[i].module);
	}
	return site && named && module;
}
