/* SPDX-License-Identifier: MIT */
/* remote_memfd.c - see remote_memfd.h. */
#include "inject/attach/remote_memfd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "inject/abi/memfd_names.h"
#include "inject/tracee/proc_status.h"
#include "src/base/memfd.h"

#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020 /* linux/fcntl.h, 6.3: it comes with memfd_flags() */
#endif

int remote_memfd_is_ours(pid_t pid, pid_t tid, int fd)
{
	char path[64], name[64] = "";
	ssize_t length;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%d", pid, tid, fd);
	length = readlink(path, name, sizeof(name) - 1);
	if (length < 0 && errno != ENOENT)
		return -errno;
	return length > 0 && memfd_path_is_ours(name);
}

/* Where the leader has ended, its descriptors are to be had by name only. -errno. */
static int reopen_by_name(const struct attachment *a, pid_t tid, int remote)
{
	_cleanup_fd_ int path_fd = -1;
	struct statfs system;
	struct stat file;
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%d", a->target.ref.pid, tid,
		       remote);
	path_fd = open(path, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return errno == ENOENT ? -EBADF : -errno;
	/* looked at without opening it: only an unlinked file of the kernel's own tmpfs is opened
	 */
	if (fstatfs(path_fd, &system) < 0 || system.f_type != TMPFS_MAGIC ||
	    fstat(path_fd, &file) < 0 || !S_ISREG(file.st_mode) || file.st_nlink != 0)
		return -EBADF;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Whose descriptors to look at: the borrowed thread's, or (it was given back) the process's. */
static pid_t whose(const struct borrow *b, pid_t pid)
{
	return borrow_held(b) ? b->request.tid : proc_live_thread(pid);
}

/* Is it the file that tid made? 0; -ENOTSUP: the process has another one under that number. */
static int check_made(pid_t pid, pid_t tid, int remote, const struct stat *file)
{
	int ours = remote_memfd_is_ours(pid, tid, remote);
	struct stat made;
	char path[64];

	if (ours < 0)
		return ours;
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%d", pid, tid, remote);
	if (!ours || stat(path, &made) < 0)
		return -EBADF;
	return made.st_dev == file->st_dev && made.st_ino == file->st_ino ? 0 : -ENOTSUP;
}

/*
 * Our own descriptor of the target's new memfd. Between its making and now another
 * thread may have put any other file in its place: so we get what that descriptor
 * may do and no more (pidfd_getfd, not the magic link, which would be opened with
 * our rights), and use it only if it is a fresh memfd, and the one that tid has there:
 * pidfd_getfd looks at the process's descriptors, and tid may have others (own_files.c).
 */
static int take_memfd(const struct attachment *a, pid_t tid, int remote, uint64_t *ret_inode)
{
	int fd = (int)syscall(SYS_pidfd_getfd, a->target.ref.fd, remote, 0);
	struct stat file;
	int error = -EBADF;

	if (fd < 0 && (errno == ESRCH || errno == EBADF))
		fd = reopen_by_name(a, tid, remote);
	if (fd < 0)
		return fd == -1 ? -errno : fd;
	if (fstat(fd, &file) == 0)
		error = check_made(a->target.ref.pid, tid, remote, &file);
	if (!error && S_ISREG(file.st_mode) && file.st_nlink == 0 && file.st_size == 0 &&
	    (fcntl(fd, F_GET_SEALS) & ~F_SEAL_EXEC) == 0) {
		*ret_inode = file.st_ino;
		return fd;
	}
	cleanup_fd(&fd);
	return error ? error : -EBADF;
}

/* Is it one that nobody has given a size yet? Those of a target that is a memattach have one. */
static bool is_fresh(pid_t pid, pid_t tid, int fd)
{
	struct stat file;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%d", pid, tid, fd);
	return remote_memfd_is_ours(pid, tid, fd) > 0 && stat(path, &file) == 0 &&
	       file.st_size == 0;
}

/* The target's descriptor of a memfd whose number was not seen; -1: none. */
static int find_fresh(pid_t pid, pid_t tid)
{
	struct dirent *entry;
	int found = -1;
	char path[64];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", pid, tid);
	dir = opendir(path);
	while (dir && found < 0 && (entry = readdir(dir))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && is_fresh(pid, tid, fd))
			found = fd;
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

int remote_memfd_make(struct attachment *a, struct borrow *b, enum remote_memfd which, int *ret_fd)
{
	pid_t pid = a->target.ref.pid;
	uint64_t arguments[6] = { 0, memfd_flags(), 0, 0, 0, 0 };
	const char *name = which == REMOTE_RING ? MEMFD_RING_NAME : MEMFD_SHIM_NAME;
	uint64_t remote = 0;
	int error = borrow_put(b, name, strlen(name) + 1, &arguments[0]);

	if (!error)
		error = borrow_call(b, SYS_memfd_create, arguments, &remote);
	if (error) {	/* it may have been made all the same */
		a->remote_fd[which] = find_fresh(pid, whose(b, pid));
		return error;
	}
	a->remote_fd[which] = (int)remote;
	*ret_fd = take_memfd(a, b->request.tid, (int)remote, &a->inode[which]);
	return *ret_fd < 0 ? *ret_fd : 0;
}

int remote_memfd_confirm(const struct attachment *a, const struct borrow *b,
			 enum remote_memfd which, int fd)
{
	struct stat file;
	int error;

	if (fstat(which == REMOTE_RING ? a->ring_fd : a->shim_fd, &file) < 0)
		return -errno;
	error = check_made(a->target.ref.pid, b->request.tid, fd, &file);
	return error == -ENOTSUP ? -EBADF : error;
}

int remote_memfd_close(struct attachment *a, struct borrow *b)
{
	pid_t pid = a->target.ref.pid;
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(a->remote_fd); i++) {
		uint64_t arguments[6] = { (uint64_t)(int64_t)a->remote_fd[i], 0, 0, 0, 0, 0 };
		int one = 0;

		if (a->remote_fd[i] >= 0)
			one = remote_memfd_is_ours(pid, whose(b, pid), a->remote_fd[i]);
		if (one > 0)
			one = borrow_call(b, SYS_close, arguments, NULL);
		if (one == -EBADF)	/* another thread was faster */
			one = 0;
		if (!one)
			a->remote_fd[i] = -1;
		error = error ? error : one;
	}
	return error;
}
