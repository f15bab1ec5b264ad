/* SPDX-License-Identifier: MIT */
/* memfd.c - see memfd.h. */
#include "src/base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/cleanup.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* linux/memfd.h, 6.3 */
#endif
#define PLAIN (MFD_CLOEXEC | MFD_ALLOW_SEALING)

unsigned int memfd_flags(void)
{
	static unsigned int known;	/* atomic */
	unsigned int flags = __atomic_load_n(&known, __ATOMIC_RELAXED);
	int probe;

	if (flags)
		return flags;
	probe = memfd_create("probe", PLAIN | MFD_NOEXEC_SEAL);
	flags = probe < 0 && errno == EINVAL ? PLAIN : PLAIN | MFD_NOEXEC_SEAL;
	if (probe >= 0)
		(void)close(probe);
	__atomic_store_n(&known, flags, __ATOMIC_RELAXED);
	return flags;
}

int memfd_new(const char *name)
{
	int fd = memfd_create(name, memfd_flags());

	return fd < 0 ? -errno : fd;
}

int memfd_nothing(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), error;

	if (fd >= 0)
		return fd;
	fd = memfd_new("nothing");
	if (fd < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
		return fd;
	error = -errno;
	cleanup_fd(&fd);
	return error;
}
