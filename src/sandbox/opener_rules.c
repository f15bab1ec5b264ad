/* SPDX-License-Identifier: MIT */
/*
 * opener_rules.c - see opener_rules.h.
 *
 * Who asks may have been taken over: a path is only ever compared, or opened. Names of debug files
 * come from debug information, which may say anything; so it is not where a file lies that makes it
 * one to be read, but that it is an ELF file: those hold programs, no secrets. Core dumps hold
 * memory, and are none of ours. What is not to be read is answered as what is not there: libraries
 * go on to the next place then.
 */
#include "src/sandbox/opener_rules.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "src/debuginfo/symbol_files.h"
#include "src/leak/variable/assigned_file.h"
#include "src/recording/unnamed.h"

#define MAX_LINKS 8
#define ALLOWED_FLAGS (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_NONBLOCK | O_NOCTTY | \
		       O_NOFOLLOW | O_CLOEXEC | O_DIRECTORY)
#define WRITING_FLAGS (O_CREAT | O_EXCL | O_TRUNC | O_APPEND)

/* ---- places ---- */

/* folder/name, of which the folder has no links in it; NULL: there is no such folder. */
static char *place_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) :
					      strdup("."), *real = NULL;
	char *place;

	real = folder ? realpath(folder, NULL) : NULL;
	if (!real || asprintf(&place, "%s/%s", strcmp(real, "/") == 0 ? "" : real,
			      slash ? slash + 1 : path) < 0)
		return NULL;
	return place;
}

/* What the link at path leads to. */
static char *follow(const char *path)
{
	const char *slash = strrchr(path, '/');
	char to[PATH_MAX], *whole;
	ssize_t length = readlink(path, to, sizeof(to) - 1);

	if (length <= 0)
		return NULL;
	to[length] = '\0';
	if (to[0] == '/' || !slash)
		return strdup(to);
	return asprintf(&whole, "%.*s/%s", (int)(slash - path), path, to) < 0 ? NULL : whole;
}

/* Where a file at path is, or would be made. NULL: nowhere. */
static char *resolve(const char *path)
{
	_cleanup_free_ char *at = strdup(path);

	for (int i = 0; at && i < MAX_LINKS; i++) {
		char *place = realpath(at, NULL), *next;

		if (place)
			return place;
		next = follow(at);
		if (!next)
			return place_of(at);
		free(at);
		at = next;
	}
	return NULL;
}

int opener_rules_init(const struct opener_needs *needs, const struct file_reader *reader,
		      struct opener_rules *ret)
{
	const struct recording_unnamed *unnamed = needs->output ? needs->unnamed : NULL;

	*ret = (struct opener_rules){
		.output = needs->output, .is_log = needs->is_log,
		.unnamed = { unnamed ? unnamed->file : -1, unnamed ? unnamed->journal : -1 },
		.sources = needs->sources, .only_public = needs->only_public, .reader = *reader,
	};
	if (needs->output && !unnamed && !needs->is_log)
		ret->recording = resolve(needs->output);
	if (needs->history)
		ret->history = resolve(needs->history);
	return 0;
}

void opener_rules_done(struct opener_rules *rules)
{
	free(rules->recording);
	free(rules->history);
}

/* ---- files of SQLite's ---- */

enum part { PART_NONE, PART_FILE, PART_LOG, PART_INDEX, PART_JOURNAL };

/* Which of the files that SQLite has for place; both are places. */
static enum part part_of(const char *place, const char *path)
{
	static const char *const suffix[] = {
		[PART_FILE] = "", [PART_LOG] = "-wal", [PART_INDEX] = "-shm",
		[PART_JOURNAL] = "-journal",
	};
	size_t length = place ? strlen(place) : 0;

	if (!place || !path || strncmp(path, place, length) != 0)
		return PART_NONE;
	for (size_t i = PART_FILE; i < ARRAY_SIZE(suffix); i++)
		if (strcmp(path + length, suffix[i]) == 0)
			return (enum part)i;
	return PART_NONE;
}

/* SQLite wants to sync it after it made or removed a file in it. */
static bool is_folder_of(const char *place, const char *path)
{
	const char *slash = place ? strrchr(place, '/') : NULL;
	_cleanup_free_ char *real = slash ? realpath(path, NULL) : NULL;
	size_t length = slash ? (size_t)(slash - place) : 0;

	if (!real)
		return false;
	return length == 0 ? strcmp(real, "/") == 0 :
			     strlen(real) == length && memcmp(real, place, length) == 0;
}

static int open_it(const char *path, int flags, unsigned int mode)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOCTTY, mode & 0666);

	return fd < 0 ? -errno : fd;
}

/* As SQLite would: what lies beside a recording may be read by whom it may, whatever the umask. */
static int open_part(const char *path, enum part part, const struct opener_file *file)
{
	int fd = open_it(path, file->flags | O_NOFOLLOW, file->mode);
	struct stat status;

	if (fd >= 0 && part != PART_FILE && (file->flags & O_CREAT) && file->mode &&
	    fstat(fd, &status) == 0 && status.st_size == 0 &&
	    (status.st_mode & 0777) != (file->mode & 0666))
		(void)fchmod(fd, file->mode & 0666);
	return fd;
}

static bool only_reads(const struct opener_file *file)
{
	return (file->flags & O_ACCMODE) == O_RDONLY && !(file->flags & WRITING_FLAGS);
}

/* 0: none of these. */
static int open_recording(const struct opener_rules *rules, const struct opener_file *file)
{
	_cleanup_free_ char *place = place_of(file->path);
	enum part part = part_of(rules->recording, place);

	if (part != PART_NONE)
		return open_part(place, part, file);
	part = part_of(rules->history, place);
	/* locks lie in the index, and are taken by who only reads, too */
	if (part == PART_INDEX || (part != PART_NONE && only_reads(file)))
		return open_part(place, part, file);
	if (part != PART_NONE)
		return -EACCES;
	if (only_reads(file) && is_folder_of(rules->recording, file->path))
		return open_it(file->path, O_RDONLY | O_DIRECTORY, 0);
	return 0;
}

int opener_rules_remove(const struct opener_rules *rules, const char *path)
{
	_cleanup_free_ char *place = place_of(path);

	if (part_of(rules->recording, place) == PART_NONE)
		return -EACCES;
	return unlink(place) < 0 ? -errno : 0;
}

/* ---- files by their names ---- */

/* It is opened anew where that has the same numbers: our files have them, too. 0: none of these. */
static int open_unnamed(const struct opener_rules *rules, const struct opener_file *file)
{
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(rules->unnamed); i++) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", rules->unnamed[i]);
		if (rules->unnamed[i] >= 0 && strcmp(file->path, path) == 0)
			return open_it(path, O_RDWR, 0);
	}
	return 0;
}

/* 0: none of these. */
static int open_known(const struct opener_file *file)
{
	static const char *const known[] = {
		"/dev/urandom", "/proc/loadavg", "/proc/sys/vm/overcommit_memory",
		"/sys/devices/system/cpu/online", "/sys/devices/system/cpu/possible",
	};
	char path[64];

	if (strcmp(file->path, "/dev/null") == 0)
		return open_it(file->path, file->flags & O_ACCMODE, 0);
	if (!only_reads(file))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(file->path, known[i]) == 0)
			return open_it(known[i], O_RDONLY, 0);
	if (strcmp(file->path, "/proc/self/statm") != 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)file->from);
	return open_it(path, O_RDONLY, 0);
}

/* ---- files by what they are ---- */

static bool is_program(int fd)
{
	unsigned char head[EI_NIDENT + 2];
	unsigned int type;

	if (pread(fd, head, sizeof(head), 0) != sizeof(head) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return false;
	type = head[EI_DATA] == ELFDATA2MSB ? head[EI_NIDENT] * 256u + head[EI_NIDENT + 1] :
					      head[EI_NIDENT + 1] * 256u + head[EI_NIDENT];
	return type != ET_CORE;
}

/* Its own name counts, too: else a link called x.c shows what is none. */
static bool is_source(const struct opener_rules *rules, const char *path, const char *place)
{
	return rules->sources && assigned_file_is_source(path) && assigned_file_is_source(place);
}

static bool is_kernels(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) < 0 || system.f_type == PROC_SUPER_MAGIC;
}

/* A regular file that is none of the kernel's own making, of one of the kinds. */
static int open_kind(const struct opener_rules *rules, const struct opener_file *file)
{
	static const struct file_reader everybody, ourselves = { .unbounded = true };
	const bool fetched = symbol_files_is_fetched(file->path);
	char place[PATH_MAX];
	bool program;
	int fd;

	if (!only_reads(file))
		return -EACCES;
	fd = file_reader_open(fetched ? &ourselves : &rules->reader, file->path, place);
	if (fd < 0)
		return fd;
	program = is_program(fd);
	if (is_kernels(fd) || (!program && !is_source(rules, file->path, place))) {
		(void)close(fd);
		return -ENOENT;
	}
	if (program || !rules->only_public)
		return fd;
	(void)close(fd);
	return file_reader_open(&everybody, file->path, place);
}

int opener_rules_open(const struct opener_rules *rules, const struct opener_file *file)
{
	int fd;

	if (file->flags & ~ALLOWED_FLAGS)
		return -EACCES;
	if (rules->output && strcmp(file->path, rules->output) == 0 &&
	    (rules->is_log || only_reads(file)))
		return open_it(file->path, file->flags, file->mode);
	fd = open_unnamed(rules, file);
	if (fd == 0)
		fd = open_known(file);
	if (fd == 0)
		fd = open_recording(rules, file);
	return fd == 0 ? open_kind(rules, file) : fd;
}
