/* SPDX-License-Identifier: MIT */
/*
 * sealed_copy.c - larger than a message may be, and immutable: the receiver can
 * map it and look at it twice.
 */
#include "inject/attach/sealed_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "src/base/memfd.h"

int sealed_copy(const char *name, const void *data, size_t bytes)
{
	int fd = memfd_new(name);
	size_t done = 0;

	if (fd < 0)
		return fd;
	while (done < bytes) {
		ssize_t put = write(fd, (const char *)data + done, bytes - done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0) {
			int error = put < 0 ? -errno : -EIO;

			cleanup_fd(&fd);
			return error;
		}
		done += (size_t)put;
	}
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	return fd;
}
