/* SPDX-License-Identifier: MIT */
/*
 * pidref.c - opening a process so that it can't be mistaken for another one.
 *
 * The pidfd is the identity; the number and the start time go with it for what
 * the kernel only offers by number (/proc, ptrace) and for what must survive us
 * on disk or in a journal. The start time is read *between* opening the pidfd
 * and asking the pidfd whether its process is still unreaped: if it is, the
 * number belonged to it all the while. A bare pid plus start time was rejected:
 * between the check and the use the number can go to somebody else.
 * A zombie opens (preflight has to name it) but is not alive.
 */
#include "src/base/pidref.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>

#define STAT_START_TIME_FIELD 22

/* The field-th (from 3, after the command name) number of a /proc stat line. */
static int stat_field(const char *line, int field, uint64_t *ret)
{
	/* The name may hold spaces and parentheses; nothing after it does. */
	const char *at = strrchr(line, ')');
	char *end;

	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	if (!at)
		return -EBADMSG;
	errno = 0;
	*ret = strtoull(at + 1, &end, 10);
	return errno != 0 || end == at + 1 ? -EBADMSG : 0;
}

int pidref_read_start_time(pid_t pid, uint64_t *ret)
{
	_cleanup_fd_ int fd = -1;
	char path[32], line[1024];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = read(fd, line, sizeof(line) - 1);
	if (n < 0)
		return -errno;
	line[n] = '\0';
	return stat_field(line, STAT_START_TIME_FIELD, ret);
}

/* A thread id that leads no process is EINVAL up to Linux 6.14 and ENOENT since. */
static int pidfd_open_checked(pid_t pid)
{
	int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	if (fd >= 0)
		return fd;
	if (pid <= 0 || errno == EINVAL || errno == ENOENT)
		return -ESRCH;
	return -errno;
}

/* Signal 0 reaches zombies too, and no longer what has been reaped. */
static bool pidfd_reaped(int fd)
{
	return syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) < 0 && errno == ESRCH;
}

int pidref_open(pid_t pid, struct pidref *ret)
{
	_cleanup_(pidref_done) struct pidref ref = { .pid = pid, .fd = -1 };
	int r;

	ref.fd = pidfd_open_checked(pid);
	if (ref.fd < 0)
		return ref.fd;
	r = pidref_read_start_time(pid, &ref.start_time);
	if (r < 0)
		return r;
	if (pidfd_reaped(ref.fd))
		return -ESRCH;
	*ret = ref;
	ref = PIDREF_NONE;
	return 0;
}

void pidref_done(struct pidref *ref)
{
	cleanup_fd(&ref->fd);
	*ref = PIDREF_NONE;
}

bool pidref_alive(const struct pidref *ref)
{
	struct pollfd end = { .fd = ref->fd, .events = POLLIN };
	int r;

	if (ref->fd < 0)
		return false;
	do
		r = poll(&end, 1, 0);
	while (r < 0 && errno == EINTR);
	/*
	 * Readable once the last thread has ended, not when only the leader has. A kernel without
	 * memory for an answer has not said that it ended.
	 */
	return r <= 0;
}
