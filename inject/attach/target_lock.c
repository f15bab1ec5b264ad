/* SPDX-License-Identifier: MIT */
/*
 * target_lock.c - see target_lock.h.
 *
 * Any user may give a socket any abstract name, so a name alone says nothing. The end of the name
 * is drawn, which leaves nothing to be occupied before us, and a holder counts only if it could
 * trace the process: root, this user, the process's own user, a process with CAP_SYS_PTRACE. The
 * kernel tells its credentials as they were when it began to listen (SO_PEERCRED).
 *
 * Each contender listens first and looks for others then, so that of two at least one sees the
 * other. A contender that sees another gives its name back and tries again after a pause of drawn
 * length: a holder stays, a contender may be gone by then.
 *
 * A question stays in the holder's queue until the holder takes it (target_lock_answer). Anybody
 * can fill a queue, which hides its owner's credentials. Then the mappings of the process decide:
 * those of a session can be seen there. A user who fills a queue for a process in which something
 * was left behind holds up its cleanup, and nothing else.
 *
 * Rejected: one fixed name (anybody takes it for all processes); a lock on a file of /proc/PID
 * (each mount of /proc has files of its own, and services have mounts of their own).
 */
#include "inject/attach/target_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "inject/abi/memfd_names.h"
#include "inject/tracee/proc_status.h"
#include "src/base/procmaps.h"

#define LOCK_TRIES	50u
#define LOCK_PAUSE_NS	10000000l	/* and up to as much again */
#define ANSWERS_AT_ONCE	64u
#define LOCK_NAMES	"/proc/self/net/unix"

/* The address of prefix and end, ready for bind(2). */
static socklen_t lock_address(const char *prefix, const char *end, struct sockaddr_un *ret)
{
	int length;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	length = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "%s%s", prefix, end);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static uint32_t draw(void)
{
	uint32_t number = (uint32_t)getpid();

	(void)!getrandom(&number, sizeof(number), GRND_NONBLOCK);
	return number;
}

/* Could the holder trace the process? */
static bool may_hold(const struct ucred *holder, const struct pidref *ref)
{
	struct proc_thread_status status;

	if (holder->uid == 0 || holder->uid == geteuid())
		return true;
	if (proc_read_status(ref->pid, &status) == 0 && holder->uid == status.uid[0])
		return true;
	return holder->pid > 0 && proc_read_status(holder->pid, &status) == 0 &&
	       (status.capabilities & 1ull << CAP_SYS_PTRACE) != 0;
}

/* Is something of memattach mapped in the process? */
static bool is_entered(const struct pidref *ref)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	_cleanup_fd_ int fd = -1;
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", ref->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || procmaps_read(fd, &maps))
		return false;
	for (size_t i = 0; i < maps.count; i++)
		if (memfd_path_is_ours(maps.map[i].path))
			return true;
	return false;
}

/* Does a process that may hold the lock listen at that name? */
static bool is_holder(const char *name, const struct pidref *ref)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	socklen_t length = lock_address(name, "", &address);
	struct ucred holder;
	socklen_t bytes = sizeof(holder);

	if (fd < 0)
		return true;
	if (connect(fd, (const struct sockaddr *)&address, length) < 0)
		return errno == EAGAIN && is_entered(ref);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &bytes) < 0 ||
	       may_hold(&holder, ref);
}

/* The abstract name in a line of LOCK_NAMES ("... Inode @name"), NULL: it has none such. */
static const char *name_in(const char *line, const char *prefix)
{
	const char *name = strchr(line, '@');

	return name && strncmp(name + 1, prefix, strlen(prefix)) == 0 ? name + 1 : NULL;
}

/* Is there a holder, beside the socket of the name own ("": none is ours)? 1, 0, -errno. */
static int find_holder(const struct pidref *ref, const char *prefix, const char *own)
{
	struct proc_lines lines;
	const char *line;
	int result = proc_lines_open(LOCK_NAMES, &lines);

	if (result)
		return result;
	while ((result = proc_lines_next(&lines, &line)) == 1) {
		const char *name = name_in(line, prefix);

		if (name && strcmp(name + strlen(prefix), own) != 0 && is_holder(name, ref))
			break;
	}
	proc_lines_close(&lines);
	return result;
}

static void make_prefix(const struct pidref *ref, char ret[64])
{
	(void)snprintf(ret, 64, "memattach-%d-%llu-", ref->pid,
		       (unsigned long long)ref->start_time);
}

/* 0 and the lock; -EALREADY another one has it, or tries as well; -errno. */
static int take_once(const struct pidref *ref, int *ret_fd)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	char prefix[64], own[16];
	socklen_t length;
	int held;

	make_prefix(ref, prefix);
	(void)snprintf(own, sizeof(own), "%08x", draw());
	length = lock_address(prefix, own, &address);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, length) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return errno == EADDRINUSE ? -EALREADY : -errno;
	held = find_holder(ref, prefix, own);
	if (held)
		return held < 0 ? held : -EALREADY;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int target_lock_take(const struct pidref *ref, int *ret_fd)
{
	int error = take_once(ref, ret_fd);

	for (unsigned int i = 0; error == -EALREADY && i < LOCK_TRIES; i++) {
		const struct timespec pause = { 0, LOCK_PAUSE_NS + (long)draw() % LOCK_PAUSE_NS };

		(void)nanosleep(&pause, NULL);
		error = take_once(ref, ret_fd);
	}
	return error;
}

void target_lock_answer(int lock)
{
	for (unsigned int i = 0; i < ANSWERS_AT_ONCE; i++) {
		int fd = accept4(lock, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		(void)close(fd);
	}
}

bool target_lock_is_held(const struct pidref *ref)
{
	char prefix[64];

	make_prefix(ref, prefix);
	return find_holder(ref, prefix, "") != 0;
}
