/* SPDX-License-Identifier: MIT */
/*
 * undo.c - see undo.h.
 *
 * SQLite undoes the change by itself as soon as somebody reads who may write. Reports don't: they
 * never change a recording. Where a journal names another one, of a change to several databases,
 * SQLite deletes that file once it looks done: a forged one could name any file of the user's.
 * Nothing here changes several databases, so such a journal is refused.
 */
#include "src/recording/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "src/recording/damage.h"
#include "src/recording/db.h"

/* A journal's first bytes, and its last where it names another (SQLite's format of files, 3). */
static const uint8_t magic[8] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
#define HEADER_BYTES	28u
#define PAGES_AT	16	/* in it: how many pages the file had before */

static int check_journal(const char *path)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_fd_ int fd = -1;
	uint8_t end[sizeof(magic)] = { 0 };
	struct stat file;

	if (asprintf(&name, "%s-journal", path) < 0)
		return -ENOMEM;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &file) < 0)
		return -errno;
	if (!S_ISREG(file.st_mode) || file.st_size < (off_t)sizeof(end) ||
	    pread(fd, end, sizeof(end), file.st_size - (off_t)sizeof(end)) != sizeof(end) ||
	    memcmp(end, magic, sizeof(end)) == 0)
		return recording_damage(NULL, "the journal beside it is none of memattach's");
	return 0;
}

bool recording_undo_leaves_nothing(const char *path)
{
	static const uint8_t no_pages[4];
	_cleanup_free_ char *name = NULL;
	_cleanup_fd_ int fd = -1;
	uint8_t header[HEADER_BYTES];

	if (asprintf(&name, "%s-journal", path) < 0)
		return false;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	return fd >= 0 && pread(fd, header, sizeof(header), 0) == sizeof(header) &&
	       memcmp(header, magic, sizeof(magic)) == 0 &&
	       memcmp(header + PAGES_AT, no_pages, sizeof(no_pages)) == 0;
}

int recording_undo(const char *path)
{
	_cleanup_(recording_db_close) sqlite3 *db = NULL;
	int err = check_journal(path);

	if (err == 0)
		err = recording_db_open_to_change(path, &db);
	return err ? err : recording_db_run(db, "PRAGMA schema_version");
}
