/* SPDX-License-Identifier: MIT */
/*
 * unnamed.c - see unnamed.h.
 *
 * SQLite opens files by their names, and follows links itself (/proc/self/fd/N among them) to one
 * that is not there any more; so it gets a file system of ours in which there are two files: those
 * behind the two descriptors. One process at a time has it (flock), and nothing is ever synced:
 * files that are gone after a power failure need no order on the disk. The journal is a file, too,
 * and not memory, so that the intervals before outlive a writer that is killed in the midst of one.
 * Rejected: write-ahead logging, which is for readers meanwhile; a name until it is open, which
 * stays when we are killed until then; a database in memory, which is lost with its writer.
 */
#include "src/recording/unnamed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "src/recording/db.h"

#define FILE_NAME "recording"
#define MODE 0600
#define NAME_ROOM 64u

/* ---- files ---- */

/* Where files can't be made without a name, one is taken away again at once. */
static int open_named(const char *folder)
{
	_cleanup_free_ char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/memattach.XXXXXX", folder) < 0)
		return -ENOMEM;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	(void)unlink(path);
	return fd;
}

static int open_unnamed(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, MODE);

	if (fd >= 0)
		return fd;
	return errno == EOPNOTSUPP || errno == EISDIR ? open_named(folder) : -errno;
}

int recording_unnamed_new(const char *folder, struct recording_unnamed *ret)
{
	int file = open_unnamed(folder), journal = file < 0 ? file : open_unnamed(folder);

	if (journal < 0) {
		cleanup_fd(&file);
		return journal;
	}
	*ret = (struct recording_unnamed){ file, journal };
	return 0;
}

void recording_unnamed_done(struct recording_unnamed *unnamed)
{
	cleanup_fd(&unnamed->file);
	cleanup_fd(&unnamed->journal);
}

/* An opening of its own: a lock is an opening's. Or -errno. */
static int open_again(int fd)
{
	char path[64];
	int again;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

int recording_unnamed_clear(const struct recording_unnamed *unnamed)
{
	_cleanup_fd_ int fd = open_again(unnamed->file);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (ftruncate(fd, 0) < 0 || ftruncate(unnamed->journal, 0) < 0)
		return -errno;
	return 0;
}

/* ---- what SQLite asks of a file ---- */

struct opened {
	sqlite3_file base;
	int fd;
};

static int fd_of(sqlite3_file *file)
{
	return ((struct opened *)file)->fd;
}

static int file_close(sqlite3_file *file)
{
	cleanup_fd(&((struct opened *)file)->fd);
	return SQLITE_OK;
}

/* What lies beyond the end is zeros, and said to be. */
static int file_read(sqlite3_file *file, void *to, int count, sqlite3_int64 at)
{
	size_t left = (size_t)count;
	char *next = to;

	while (left > 0) {
		ssize_t got = pread(fd_of(file), next, left, at);

		if (got < 0)
			return SQLITE_IOERR_READ;
		if (got == 0)
			break;
		next += got;
		at += got;
		left -= (size_t)got;
	}
	memset(next, 0, left);
	return left > 0 ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int file_write(sqlite3_file *file, const void *from, int count, sqlite3_int64 at)
{
	size_t left = (size_t)count;
	const char *next = from;

	while (left > 0) {
		ssize_t put = pwrite(fd_of(file), next, left, at);

		if (put < 0)
			return errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
		next += put;
		at += put;
		left -= (size_t)put;
	}
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return ftruncate(fd_of(file), size) < 0 ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int file_sync(sqlite3_file *file, int flags)
{
	(void)file;
	(void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	struct stat status;

	if (fstat(fd_of(file), &status) < 0)
		return SQLITE_IOERR_FSTAT;
	*ret = status.st_size;
	return SQLITE_OK;
}

/* Whatever is to be done, nobody else is there. */
static int file_lock(sqlite3_file *file, int level)
{
	(void)level;
	if (flock(fd_of(file), LOCK_EX | LOCK_NB) == 0)
		return SQLITE_OK;
	return errno == EWOULDBLOCK ? SQLITE_BUSY : SQLITE_IOERR_LOCK;
}

static int file_unlock(sqlite3_file *file, int level)
{
	if (level == SQLITE_LOCK_NONE && flock(fd_of(file), LOCK_UN) < 0)
		return SQLITE_IOERR_UNLOCK;
	return SQLITE_OK;
}

/* Asked by who has the lock. */
static int file_is_reserved(sqlite3_file *file, int *ret)
{
	(void)file;
	*ret = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int what, void *argument)
{
	(void)file;
	(void)what;
	(void)argument;
	return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *file)
{
	(void)file;
	return 0;	/* SQLite's own choice */
}

static int file_traits(sqlite3_file *file)
{
	(void)file;
	return 0;	/* nothing is promised */
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_is_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector_size,
	.xDeviceCharacteristics = file_traits,
};

/* ---- what SQLite asks of a file system ---- */

/* One for each pair: there are no other files in it, whatever names a forged recording has. */
struct system {
	sqlite3_vfs vfs;
	char name[NAME_ROOM];
	struct recording_unnamed unnamed;
};

/* -1: it is not there. */
static int fd_named(const sqlite3_vfs *vfs, const char *name)
{
	const struct system *system = (const struct system *)vfs;

	if (name && strcmp(name, FILE_NAME) == 0)
		return system->unnamed.file;
	return name && strcmp(name, FILE_NAME "-journal") == 0 ? system->unnamed.journal : -1;
}

static int system_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		       int *ret_flags)
{
	struct opened *opened = (struct opened *)file;

	file->pMethods = NULL;
	opened->fd = open_again(fd_named(vfs, name));
	if (opened->fd < 0)
		return SQLITE_CANTOPEN;
	file->pMethods = &methods;
	if (ret_flags)
		*ret_flags = flags;
	return SQLITE_OK;
}

/* Of a journal: it is empty from now on. */
static int system_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)sync;
	return ftruncate(fd_named(vfs, name), 0) < 0 ? SQLITE_IOERR_DELETE : SQLITE_OK;
}

/* What is empty is not there. */
static int system_access(sqlite3_vfs *vfs, const char *name, int what, int *ret)
{
	struct stat status;
	int fd = fd_named(vfs, name);

	(void)what;
	*ret = fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0;
	return SQLITE_OK;
}

static int system_full_name(sqlite3_vfs *vfs, const char *name, int room, char *to)
{
	(void)vfs;
	(void)snprintf(to, (size_t)room, "%s", name);
	return SQLITE_OK;
}

/* In all else as the usual one. It stays: descriptors have the same numbers again. 0 or -errno. */
static int add_system(const struct recording_unnamed *unnamed, const char *name)
{
	const sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
	struct system *system = usual ? calloc(1, sizeof(*system)) : NULL;

	if (!system)
		return -ENOMEM;
	system->unnamed = *unnamed;
	(void)snprintf(system->name, sizeof(system->name), "%s", name);
	system->vfs = *usual;
	system->vfs.zName = system->name;
	system->vfs.szOsFile = sizeof(struct opened);
	system->vfs.xOpen = system_open;
	system->vfs.xDelete = system_delete;
	system->vfs.xAccess = system_access;
	system->vfs.xFullPathname = system_full_name;
	return recording_db_errno(NULL, sqlite3_vfs_register(&system->vfs, false));
}

int recording_unnamed_open(const struct recording_unnamed *unnamed, sqlite3 **ret)
{
	char name[NAME_ROOM];
	struct stat file;
	int err = fstat(unnamed->file, &file) < 0 ? -errno : 0;

	*ret = NULL;
	(void)snprintf(name, sizeof(name), "memattach-unnamed-%d-%d", unnamed->file,
		       unnamed->journal);
	if (err == 0 && !sqlite3_vfs_find(name))
		err = add_system(unnamed, name);
	if (err == 0)
		err = recording_db_open_in(name, FILE_NAME, (uint64_t)file.st_size, ret);
	if (err == 0)	/* no other files of SQLite's own */
		err = recording_db_run(*ret, "PRAGMA temp_store=MEMORY; PRAGMA synchronous=OFF");
	return err;
}
