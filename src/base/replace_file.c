/* SPDX-License-Identifier: MIT */
/* replace_file.c - see replace_file.h. One name for all: what a kill leaves goes with the next. */
#include "src/base/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A new, empty regular file. A descriptor or -errno. */
static int open_fresh(const char *fresh, mode_t mode)
{
	int fd, error;

	if (unlink(fresh) < 0 && errno != ENOENT)
		return -errno;
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, mode) == 0)
		return fd;
	error = -errno;
	cleanup_fd(&fd);
	return error;
}

static int write_fresh(int fd_take, replace_file_write *write, const void *context)
{
	FILE *out = fdopen(fd_take, "w");
	int error;

	if (!out) {
		error = -errno;
		cleanup_fd(&fd_take);
		return error;
	}
	error = write(out, context);
	if (!error && ferror(out))
		error = -EIO;
	if (fclose(out) != 0 && !error)
		error = -errno;
	return error;
}

int replace_file(const char *path, mode_t mode, replace_file_write *write, const void *context)
{
	_cleanup_free_ char *fresh = NULL;
	int fd, error;

	if (asprintf(&fresh, "%s.new", path) < 0) {
		fresh = NULL;
		return -ENOMEM;
	}
	fd = open_fresh(fresh, mode);
	if (fd < 0)
		return fd;
	error = write_fresh(fd, write, context);
	if (!error && rename(fresh, path) < 0)
		error = -errno;
	if (error)
		(void)unlink(fresh);
	return error;
}
