/* SPDX-License-Identifier: MIT */
/*
 * settings_read.c - files of sections, by inih.
 *
 * inih tells neither lines nor empty sections, cuts a long line in two and a section's name after
 * 49 bytes, and takes an indented line for more of the value above it. So it gets its lines from
 * here, where they are counted, held against its room and not indented, and names are kept.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/daemon/settings_private.h"

#define MOST_BYTES	(1u << 20)
#define MOST_NAME	64
#define WATCH		"watch"
#define BLANKS		" \t\r\n\v\f"
#define BYTE_ORDER_MARK	"\xef\xbb\xbf"

struct reading {
	struct settings *settings;
	const char *file;
	FILE *stream;
	settings_tell *tell;
	void *context;
	uint32_t line;
	uint32_t section_line;		/* of the section that it is in; 0: none */
	char section_name[200];		/* longer than any that is good */
	bool unclosed;			/* it, by a bracket: what stands in it is not looked at */
	uint32_t keys;			/* in that section */
	enum settings_section section;
	size_t rule;			/* its index, with SECTION_WATCH */
	uint32_t known_line;		/* the section that section and rule are of */
	int problems;
	int error;			/* -ENOMEM */
};

static void problem_at(struct reading *r, uint32_t line, const char *format, ...) _printf_(3, 4);

static void problem_at(struct reading *r, uint32_t line, const char *format, ...)
{
	struct settings_problem problem = { .file = r->file, .line = line };
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(problem.text, sizeof(problem.text), format, arguments);
	va_end(arguments);
	r->tell(r->context, &problem);
	r->problems++;
}

/* --- lines ---------------------------------------------------------------- */

/* A line into buffer, without its end; its whole length. NULL in *ret_why: it is a good one. */
static size_t take_line(FILE *stream, char *buffer, size_t room, const char **ret_why)
{
	size_t length = 0;
	int c;

	*ret_why = NULL;
	while ((c = getc(stream)) != EOF && c != '\n') {
		if (c == '\0')
			*ret_why = "there is a byte 0 in this line";
		else if (length + 2 >= room)
			*ret_why = "this line is too long";
		else
			buffer[length] = (char)c;
		length += length + 2 < room;
	}
	buffer[length] = '\0';
	return length + (c == '\n');
}

/* --- sections ------------------------------------------------------------- */

/* It becomes a folder's. */
static bool is_plain_name(const char *name)
{
	return name[0] != '.' && strlen(name) <= MOST_NAME &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			   "-+_.@")] == '\0';
}

static enum settings_section begin_rule(struct reading *r, const char *name)
{
	const struct watch_rule *other;

	name += strspn(name, BLANKS);
	if (!*name) {
		problem_at(r, r->section_line, "a watch has a name: [watch NAME]");
		return SECTION_NONE;
	}
	if (!is_plain_name(name)) {
		problem_at(r, r->section_line, "[watch %.60s]: not a name of at most %d letters, "
			   "digits and -+_.@", name, MOST_NAME);
		return SECTION_NONE;
	}
	other = settings_rule_named(r->settings, name);
	if (other) {
		problem_at(r, r->section_line, "[watch %.60s]: there is one of this name in "
			   "%.100s, line %u", name, other->file, other->line);
		return SECTION_NONE;
	}
	if (r->settings->rules == SETTINGS_MAX_RULES) {
		problem_at(r, r->section_line, "there are more than %u rules",
			   SETTINGS_MAX_RULES);
		return SECTION_NONE;
	}
	if (!settings_rule_add(r->settings, name, r->file, r->section_line)) {
		r->error = -ENOMEM;
		return SECTION_NONE;
	}
	r->rule = r->settings->rules - 1;
	return SECTION_WATCH;
}

static bool is_watch(const char *name)
{
	size_t length = strlen(WATCH);

	return strncmp(name, WATCH, length) == 0 && (!name[length] || strchr(BLANKS, name[length]));
}

/* What is in a section that can't be used is not looked at. */
static enum settings_section begin_section(struct reading *r)
{
	const char *name = r->section_name;

	if (r->unclosed)
		return SECTION_NONE;
	if (strcmp(name, "daemon") == 0)
		return SECTION_DAEMON;
	if (strcmp(name, "http") == 0)
		return SECTION_HTTP;
	if (strcmp(name, "defaults") == 0)
		return SECTION_DEFAULTS;
	if (is_watch(name))
		return begin_rule(r, name + strlen(WATCH));
	if (r->section_line)
		problem_at(r, r->section_line, "[%.60s]: no such section; there are [daemon], "
			   "[http], [defaults] and [watch NAME]", name);
	else
		problem_at(r, r->line, "this stands in no section");
	return SECTION_NONE;
}

/* One without a key would never be looked at. */
static void end_section(struct reading *r)
{
	bool unseen = r->section_line && r->keys == 0 && !r->unclosed;

	if (unseen && is_watch(r->section_name))
		problem_at(r, r->section_line, "this watch is empty");
	else if (unseen)
		(void)begin_section(r);
	r->keys = 0;
}

/* first: from its bracket on. */
static void enter_section(struct reading *r, const char *first)
{
	size_t length = strcspn(first + 1, "]");

	end_section(r);
	r->section_line = r->line;
	r->unclosed = first[1 + length] != ']';
	(void)snprintf(r->section_name, sizeof(r->section_name), "%.*s", (int)length, first + 1);
	if (r->unclosed)
		problem_at(r, r->line, "[%.60s: the closing ] is missing", r->section_name);
}

/* For inih, as fgets; but a line that is no good is told, and an empty one for it. */
static char *next_line(char *buffer, int room, void *context)
{
	struct reading *r = context;
	const char *why, *first = buffer;

	if (take_line(r->stream, buffer, (size_t)room, &why) == 0)
		return NULL;
	r->line++;
	if (why)
		problem_at(r, r->line, "%s", why);
	if (r->line == 1 && strncmp(buffer, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
		first += strlen(BYTE_ORDER_MARK);
	first += strspn(first, BLANKS);
	if (!why && *first == '[')
		enter_section(r, first);
	if (why || (*first == '[' && r->unclosed))
		first = "";
	memmove(buffer, first, strlen(first) + 1);
	return buffer;
}

/* Where it stands: what is wrong with it may show at the end only. */
static void note_listen(struct reading *r)
{
	struct http_settings *http = &r->settings->http;

	free(http->listen_file);
	http->listen_file = strdup(r->file);
	http->listen_line = r->line;
	if (!http->listen_file)
		r->error = -ENOMEM;
}

static int on_key(void *context, const char *section, const char *key, const char *value)
{
	struct reading *r = context;
	struct watch_rule *rule = NULL;
	char why[sizeof(((struct settings_problem *)NULL)->text)];
	int error;

	(void)section;		/* it may be cut */
	r->keys++;
	if (r->known_line != r->section_line || r->section_line == 0) {
		r->known_line = r->section_line;
		r->section = begin_section(r);
	}
	if (r->section == SECTION_NONE)
		return 1;
	if (r->section == SECTION_WATCH)
		rule = &r->settings->rule[r->rule];
	error = settings_take(r->settings, r->section, rule, key, value, why, sizeof(why));
	if (error == -ENOMEM)
		r->error = error;
	else if (error)
		problem_at(r, r->line, "%s", why);
	else if (r->section == SECTION_HTTP && strcmp(key, "listen") == 0)
		note_listen(r);
	return 1;
}

/* --- files ---------------------------------------------------------------- */

const char *settings_file_problem(int error)
{
	return error == -EINVAL ? "not a regular file" :
	       error == -EFBIG ? "larger than 1M, which no settings are" : strerror(-error);
}

/* A regular file of reasonable size. */
static FILE *open_file(const char *file, int *ret_error)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	FILE *stream = NULL;

	*ret_error = 0;
	if (fd < 0 || fstat(fd, &status) < 0)
		*ret_error = -errno;
	else if (!S_ISREG(status.st_mode))
		*ret_error = S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
	else if (status.st_size > MOST_BYTES)
		*ret_error = -EFBIG;
	else if (!(stream = fdopen(fd, "r")))
		*ret_error = -errno;
	if (!stream && fd >= 0)
		(void)close(fd);
	return stream;
}

int settings_read_file(struct settings *settings, const char *file, settings_tell *tell,
		       void *context)
{
	struct reading r = { .settings = settings, .file = file, .tell = tell,
			     .context = context };
	int line, error;

	r.stream = open_file(file, &error);
	if (!r.stream)
		return error;
	line = ini_parse_stream(next_line, &r, on_key, &r);
	if (ferror(r.stream))
		r.error = -EIO;
	(void)fclose(r.stream);
	if (line > 0)	/* the first of such lines */
		problem_at(&r, (uint32_t)line, "neither a [section] nor a key = value");
	if (line < 0)
		r.error = -ENOMEM;
	end_section(&r);
	return r.error ? r.error : r.problems;
}

static int is_settings_file(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 &&
	       strcmp(entry->d_name + length - 5, ".conf") == 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* One of a folder's; that it can't be read is a problem of its own, and the others go on. */
static int read_one(struct settings *settings, const char *folder, const char *name,
		    settings_tell *tell, void *context)
{
	struct settings_problem problem = { .line = 0 };
	char path[4096];
	int result;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	result = settings_read_file(settings, path, tell, context);
	if (result >= 0 || result == -ENOMEM)
		return result;
	problem.file = path;
	(void)snprintf(problem.text, sizeof(problem.text), "%s", settings_file_problem(result));
	tell(context, &problem);
	return 1;
}

int settings_read_folder(struct settings *settings, const char *folder, settings_tell *tell,
			 void *context)
{
	struct dirent **entry;
	int count = scandir(folder, &entry, is_settings_file, compare_names), problems = 0;

	if (count < 0)
		return errno == ENOENT ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		int one = problems < 0 ? 0 : read_one(settings, folder, entry[i]->d_name, tell,
						      context);

		problems = one < 0 ? one : problems + one;
		free(entry[i]);
	}
	free(entry);
	return problems;
}
