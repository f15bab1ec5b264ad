/* SPDX-License-Identifier: MIT */
/* make_way.c - see make_way.h. What is no recording of ours is told by the file's own header. */
#include "src/recording/make_way.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/cleanup.h"
#include "src/recording/schema.h"

#define HEADER_BYTES	100u	/* of an SQLite file */

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

static int remove_beside(const char *path, const char *suffix)
{
	_cleanup_free_ char *name = NULL;

	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return -ENOMEM;
	return unlink(name) < 0 && errno != ENOENT ? -errno : 0;
}

int recording_make_way(const char *path)
{
	static const char *const suffix[] = { "-wal", "-shm", "-journal", "" };
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int err;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = check_replaceable(fd);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(suffix); i++)
		err = remove_beside(path, suffix[i]);
	return err;
}
