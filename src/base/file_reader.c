/* SPDX-License-Identifier: MIT */
/*
 * file_reader.c - see file_reader.h.
 *
 * Links are followed by the kernel, and the file that they lead to is held by a descriptor before
 * anything is asked, so nothing can be exchanged in between: the place is that of the descriptor.
 * Whether the folders above it may be searched is asked by their names. Who could exchange one of
 * these could have changed its mode.
 *
 * Rejected: to follow no links. Debug files lie behind links on many systems, sources do where home
 * folders are mounted elsewhere. Rejected: to take on the target's user for the call. That needs a
 * capability in the one process that takes paths from an analyst. Access control lists are not
 * read: who may read a file by one alone is not shown it.
 */
#include "src/base/file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_BYTES 4096u

/* ---- users ---- */

/* The groups behind "Groups:", and the one for files of "Gid:" (the fourth). */
static void read_groups(const char *status, struct file_reader *ret)
{
	const char *gid = strstr(status, "\nGid:"), *at = strstr(status, "\nGroups:");
	unsigned int of_files = 0;
	char *end;

	if (gid && sscanf(gid, "\nGid: %*u %*u %*u %u", &of_files) == 1)
		ret->group[ret->groups++] = of_files;
	for (at = at ? at + strlen("\nGroups:") : NULL; at && ret->groups < FILE_READER_GROUPS;
	     at = end) {
		while (*at == ' ' || *at == '\t')
			at++;
		if (*at < '0' || *at > '9')
			break;
		ret->group[ret->groups++] = (gid_t)strtoul(at, &end, 10);
	}
}

static bool read_status(pid_t pid, char *ret)
{
	char path[32];
	_cleanup_fd_ int fd = -1;
	ssize_t got;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, ret, STATUS_BYTES - 1);
	ret[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static void bind_to(uid_t uid, struct file_reader *ret)
{
	ret->known = true;
	ret->uid = uid;
	ret->unbounded = uid == 0 || uid == geteuid();
}

void file_reader_of(pid_t pid, struct file_reader *ret)
{
	char status[STATUS_BYTES];
	const char *uid;
	unsigned int of_files;

	*ret = FILE_READER_EVERYBODY;
	if (!read_status(pid, status))
		return;
	uid = strstr(status, "\nUid:");
	if (!uid || sscanf(uid, "\nUid: %*u %*u %*u %u", &of_files) != 1)
		return;
	bind_to(of_files, ret);
	read_groups(status, ret);
}

void file_reader_of_us(struct file_reader *ret)
{
	*ret = FILE_READER_EVERYBODY;
	if (geteuid() != 0)
		bind_to(geteuid(), ret);
}

void file_reader_of_recording(const char *path, uint32_t owner, struct file_reader *ret)
{
	struct stat status;

	file_reader_of_us(ret);
	if (stat(path, &status) < 0)
		return;
	if (status.st_uid != 0 && status.st_uid != geteuid())
		bind_to(status.st_uid, ret);
	else if (owner)
		bind_to(owner - 1, ret);
}

/* ---- files ---- */

static bool is_in(const struct file_reader *reader, gid_t group)
{
	for (unsigned int i = 0; i < reader->groups; i++)
		if (reader->group[i] == group)
			return true;
	return false;
}

bool file_reader_may(const struct file_reader *reader, const struct stat *status)
{
	mode_t wanted = S_ISDIR(status->st_mode) ? S_IXOTH : S_IROTH;

	if (reader->unbounded)
		return true;
	/* the first of these that he is decides, as for the kernel */
	if (reader->known && status->st_uid == reader->uid)
		wanted <<= 6;
	else if (reader->known && is_in(reader, status->st_gid))
		wanted <<= 3;
	else if (!reader->known)
		wanted |= wanted << 3 | wanted << 6;
	return (status->st_mode & wanted) == wanted;
}

/* May he come to place, which is absolute and has no links in it? */
static bool may_come_to(const struct file_reader *reader, const char *place)
{
	char folder[PATH_MAX];
	struct stat status;

	for (const char *slash = strchr(place, '/'); slash && !reader->unbounded;
	     slash = strchr(slash + 1, '/')) {
		size_t length = slash == place ? 1 : (size_t)(slash - place);

		memcpy(folder, place, length);
		folder[length] = '\0';
		if (lstat(folder, &status) < 0 || !S_ISDIR(status.st_mode) ||
		    !file_reader_may(reader, &status))
			return false;
	}
	return true;
}

/* Where the file of fd lies. False: nowhere that can be named. */
static bool place_of(int fd, const char *link, char *ret)
{
	ssize_t length = readlink(link, ret, PATH_MAX - 1);
	struct stat here, there;

	ret[length > 0 ? length : 0] = '\0';
	return length > 0 && ret[0] == '/' && fstat(fd, &here) == 0 && lstat(ret, &there) == 0 &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

int file_reader_open(const struct file_reader *reader, const char *path, char *ret_place)
{
	_cleanup_fd_ int held = open(path, O_PATH | O_CLOEXEC);
	struct stat status;
	char link[32];
	int fd;

	if (held < 0 || fstat(held, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))	/* to open a device may do things */
		return -ENOENT;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", held);
	if (!place_of(held, link, ret_place)) {
		if (!reader->unbounded)
			return -ENOENT;
		(void)snprintf(ret_place, PATH_MAX, "%s", path);
	}
	if (!file_reader_may(reader, &status) || !may_come_to(reader, ret_place))
		return -EACCES;
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}
