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
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STAT_START_TIME_FIELD 22
#define STAT_EXIT_CODE_FIELD 52

/* linux/pidfd.h of Linux 6.15; headers are older than the kernel in places. */
struct end_info {
	uint64_t mask, cgroup;
	uint32_t id[11];
	int32_t exit_code;
};
_Static_assert(sizeof(struct end_info) == 64, "the first version of struct pidfd_info");
#define END_INFO_EXIT	(1ull << 3)
#define END_INFO	_IOWR(0xff, 11, struct end_info)

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

static int read_stat_field(pid_t pid, int field, uint64_t *ret)
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
	return stat_field(line, field, ret);
}

int pidref_read_start_time(pid_t pid, uint64_t *ret)
{
	return read_stat_field(pid, STAT_START_TIME_FIELD, ret);
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

/* A zombie's is in /proc, for those who may trace it: 0 says nothing. */
static int zombie_status(const struct pidref *ref, int *ret)
{
	uint64_t status = 0;

	if (read_stat_field(ref->pid, STAT_EXIT_CODE_FIELD, &status) || status == 0 ||
	    pidfd_reaped(ref->fd))
		return -ENODATA;
	*ret = (int)status;
	return 0;
}

int pidref_end_signal(const struct pidref *ref, int milliseconds)
{
	struct end_info info = { .mask = END_INFO_EXIT };
	struct pollfd end = { .fd = ref->fd, .events = POLLIN };
	int status = 0;

	if (ref->fd < 0 || poll(&end, 1, milliseconds) <= 0)
		return 0;
	if (zombie_status(ref, &status) == 0)
		return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (ioctl(ref->fd, END_INFO, &info) < 0 || !(info.mask & END_INFO_EXIT))
		return 0;
	return WIFSIGNALED(info.exit_code) ? WTERMSIG(info.exit_code) : 0;
}
