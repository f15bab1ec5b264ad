/* SPDX-License-Identifier: MIT */
/*
 * rights.c - see rights.h.
 *
 * Whether a process is dumpable the kernel tells nobody; but the files in the folder of one that is
 * not belong to root, or to the root of its user namespace, and not to its effective user. Where
 * both are the same user, the process is root's (who asks is none then), or in a namespace that is
 * judged by its owner. The folder itself always belongs to the effective user.
 *
 * A user's own namespaces: who has made one holds all capabilities over what is in it, if he is
 * himself in the one above.
 *
 * Left out is what security modules say (Yama's ptrace_scope: who may use memattachd is settled by
 * who runs it), but that nobody may trace (2 and 3) is respected.
 */
#include "src/daemon/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_NAMESPACES 33 /* one in the other (kernel/user_namespace.c) */
#define STATUS_BYTES    4096u
#define PATH_ROOM       4096u

/* ---- files of /proc ---- */

static size_t read_file(const struct process_search *search, const char *name, char *ret,
			size_t room)
{
	char path[PATH_ROOM];
	_cleanup_fd_ int fd = -1;
	ssize_t got = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", search->proc, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		got = read(fd, ret, room - 1);
	ret[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

/* Field 22 of stat, see proc(5); 0: it has ended. */
static uint64_t start_time_of(const struct process_search *search, pid_t pid)
{
	enum { STATE = 3, START_TIME = 22 };
	char name[32], text[2048], *at;

	(void)snprintf(name, sizeof(name), "%d/stat", pid);
	if (!read_file(search, name, text, sizeof(text)))
		return 0;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	for (int i = STATE - 1; at && i < START_TIME; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* The four ids behind key. */
static bool ids_of(const char *status, const char *key, unsigned int ret[4])
{
	const char *at = strstr(status, key);

	return at &&
	       sscanf(at + strlen(key), "%u %u %u %u", &ret[0], &ret[1], &ret[2], &ret[3]) == 4;
}

static bool read_status(const struct process_search *search, pid_t pid, struct rights *ret)
{
	char name[32], status[STATUS_BYTES];
	const char *capabilities;

	(void)snprintf(name, sizeof(name), "%d/status", pid);
	if (!read_file(search, name, status, sizeof(status)))
		return false;
	capabilities = strstr(status, "\nCapPrm:");
	ret->capabilities = capabilities ? strtoull(capabilities + 8, NULL, 16) : UINT64_MAX;
	return ids_of(status, "\nUid:", ret->uid) && ids_of(status, "\nGid:", ret->gid);
}

static bool is_dumpable(const struct process_search *search, pid_t pid, const struct rights *rights)
{
	char path[PATH_ROOM];
	struct stat file;

	(void)snprintf(path, sizeof(path), "%s/%d/status", search->proc, pid);
	return stat(path, &file) == 0 && file.st_uid == rights->uid[1] &&
	       file.st_gid == rights->gid[1];
}

/* ---- user namespaces ---- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Of the namespace that is next below ours, among those that the one of fd is in. -1: unknown. */
static uid_t owner_below(int fd, const struct stat *own)
{
	_cleanup_fd_ int at = dup(fd);

	for (int i = 0; at >= 0 && i < MOST_NAMESPACES; i++) {
		int above = ioctl(at, NS_GET_PARENT);
		struct stat file;
		uid_t owner;

		if (above < 0)
			return (uid_t)-1;
		if (fstat(above, &file) == 0 && is_same_file(&file, own)) {
			(void)close(above);
			return ioctl(at, NS_GET_OWNER_UID, &owner) == 0 ? owner : (uid_t)-1;
		}
		(void)close(at);
		at = above;
	}
	return (uid_t)-1;
}

static void read_namespace(const struct process_search *search, pid_t pid, struct rights *ret)
{
	char path[PATH_ROOM];
	_cleanup_fd_ int fd = -1;
	struct stat own, file;

	ret->foreign = true;
	ret->owner = (uid_t)-1;
	(void)snprintf(path, sizeof(path), "%s/%d/ns/user", search->proc, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "%s/self/ns/user", search->proc);
	if (stat(path, &own) < 0 && errno == ENOENT) /* a kernel without any */
		ret->foreign = false;
	else if (fd >= 0 && fstat(fd, &file) == 0)
		ret->foreign = !is_same_file(&own, &file);
	if (ret->foreign && fd >= 0)
		ret->owner = owner_below(fd, &own);
}

/* ---- the rule ---- */

int rights_read(const struct process_search *search, pid_t pid, struct rights *ret)
{
	struct rights rights = { .start_time = start_time_of(search, pid) };

	if (!rights.start_time || !read_status(search, pid, &rights))
		return -ESRCH;
	rights.dumpable = is_dumpable(search, pid, &rights);
	read_namespace(search, pid, &rights);
	if (start_time_of(search, pid) != rights.start_time)
		return -ESRCH;
	*ret = rights;
	return 0;
}

bool rights_may_trace(const struct rights *rights, const struct control_peer *peer)
{
	if (!rights->start_time || !rights->dumpable)
		return false;
	if (rights->foreign) /* with all capabilities there */
		return rights->owner != (uid_t)-1 && rights->owner == peer->uid;
	for (size_t i = 0; i < 3; i++)
		if (rights->uid[i] != peer->uid || rights->gid[i] != peer->gid)
			return false;
	return rights->capabilities == 0;
}

/* Yama lets nobody trace who has no capability for it (2), or nobody at all (3). */
static bool none_may_trace(const struct process_search *search)
{
	char text[16];

	return read_file(search, "sys/kernel/yama/ptrace_scope", text, sizeof(text)) &&
	       strtol(text, NULL, 10) >= 2;
}

bool rights_allow(const struct process_search *search, const struct rights_subject *subject,
		  const struct control_peer *peer)
{
	uint64_t wanted = subject->began ? subject->began->start_time : subject->start_time;
	struct rights now;

	if (rights_read(search, subject->pid, &now) != 0 || (wanted && now.start_time != wanted))
		return false;
	if (peer->all)
		return true;
	return rights_may_trace(&now, peer) && !none_may_trace(search) &&
	       (!subject->began || rights_may_trace(subject->began, peer));
}
