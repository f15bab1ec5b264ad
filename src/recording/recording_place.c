/* SPDX-License-Identifier: MIT */
/*
 * recording_place.c - see recording_place.h.
 *
 * Only a recording, or a file with nothing in it, makes way; never what is no regular file, and
 * never a link to one: /dev/stdout is such a link, and not the user's to replace.
 */
#include "src/recording/recording_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "src/recording/db.h"
#include "src/recording/recording.h"
#include "src/recording/schema.h"

#define HEADER_BYTES	100u	/* of an SQLite file */
#define IN_USE_BYTE	128	/* of FILE-shm: locked by who has FILE open (SQLite's format) */

/* Does fd hold a recording, or nothing? 0, -EEXIST, -errno. */
static int check_replaceable(int fd)
{
	uint8_t header[HEADER_BYTES];
	struct stat status;
	ssize_t bytes;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EEXIST;
	bytes = pread(fd, header, sizeof(header), 0);
	if (bytes < 0)
		return -errno;
	if (bytes == 0)
		return 0;
	if (bytes < (ssize_t)sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0)
		return -EEXIST;
	/* The application id: four bytes, the highest first. */
	return header[68] == (RECORDING_APPLICATION_ID >> 24 & 0xff) &&
	       header[69] == (RECORDING_APPLICATION_ID >> 16 & 0xff) &&
	       header[70] == (RECORDING_APPLICATION_ID >> 8 & 0xff) &&
	       header[71] == (RECORDING_APPLICATION_ID & 0xff) ? 0 : -EEXIST;
}

/* What our own output goes to is not to be replaced, be it empty. */
static bool is_output(int fd)
{
	struct stat file, output;

	for (int i = STDOUT_FILENO; i <= STDERR_FILENO; i++)
		if (fstat(fd, &file) == 0 && fstat(i, &output) == 0 &&
		    file.st_dev == output.st_dev && file.st_ino == output.st_ino)
			return true;
	return false;
}

/* A lock of a memattach that was killed went with it. */
static int check_unused(const char *path)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = IN_USE_BYTE,
			      .l_len = 1 };
	_cleanup_free_ char *name = NULL;
	_cleanup_fd_ int fd = -1;

	if (asprintf(&name, "%s-shm", path) < 0)
		return -ENOMEM;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? -EBUSY : 0;
}

static int remove_beside(const char *path, const char *suffix)
{
	_cleanup_free_ char *name = NULL;

	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return -ENOMEM;
	return unlink(name) < 0 && errno != ENOENT ? -errno : 0;
}

static int make_way(const char *path)
{
	static const char *const suffix[] = { "-wal", "-shm", "-journal", "" };
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int err;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = is_output(fd) ? -EEXIST : check_replaceable(fd);
	if (err == 0)
		err = check_unused(path);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(suffix); i++)
		err = remove_beside(path, suffix[i]);
	return err;
}

int recording_place_clear(const char *path, char **ret)
{
	_cleanup_free_ char *place = path[0] ? realpath(path, NULL) : NULL;
	int err = 0;

	if (!place && path[0] && errno != ENOENT)
		return -errno;
	if (!place)
		err = recording_db_path(path, &place);
	if (err == 0)
		err = make_way(place);
	if (err < 0)
		return err;
	*ret = place;
	place = NULL;
	return 0;
}
