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

/* The end of a journal that names another (SQLite's format of files, 3). */
static const uint8_t names_another[8] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };

static int check_journal(const char *path)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_fd_ int fd = -1;
	uint8_t end[sizeof(names_another)] = { 0 };
	struct stat file;

	if (asprintf(&name, "%s-journal", path) < 0)
		return -ENOMEM;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &file) < 0)
		return -errno;
	if (!S_ISREG(file.st_mode) || file.st_size < (off_t)sizeof(end) ||
	    pread(fd, end, sizeof(end), file.st_size - (off_t)sizeof(end)) != sizeof(end) ||
	    memcmp(end, names_another, sizeof(end)) == 0)
		return recording_damage(NULL, "the journal beside it is none of memattach's");
	return 0;
}

int recording_undo(const char *path)
{
	_cleanup_(recording_db_close) sqlite3 *db = NULL;
	int err = check_journal(path);

	if (err == 0)
		err = recording_db_open_to_change(path, &db);
	return err ? err : recording_db_run(db, "PRAGMA schema_version");
}
