/* SPDX-License-Identifier: MIT */
/*
 * hello.c - text and descriptors from /proc. The analyst could not open them
 * itself: it has no rights over the target. The rights are checked when these
 * files are opened, so the descriptors keep working for it.
 */
#include "inject/keeper/hello.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "inject/tracee/proc_status.h"
#include "src/base/memfd.h"

static int open_proc(const struct target *target, const char *name)
{
	pid_t tid = proc_live_thread(target->ref.pid);
	char path[96];
	int fd;

	if (tid <= 0)
		return -ESRCH;
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", target->ref.pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static size_t read_proc(const struct target *target, const char *name, void *buffer, size_t room)
{
	_cleanup_fd_ int fd = open_proc(target, name);
	ssize_t got = fd >= 0 ? read(fd, buffer, room) : 0;

	return got > 0 ? (size_t)got : 0;
}

static void read_command_line(const struct target *target, char *text, size_t room)
{
	size_t used = read_proc(target, "cmdline", text, room - 1);

	while (used && text[used - 1] == '\0')
		used--;
	for (size_t i = 0; i < used; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	text[used] = '\0';
}

/* Opens a name below the target's root, whatever links it has planted there. */
static int open_below(const struct target *target, const char *name, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC | O_NOFOLLOW,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	_cleanup_fd_ int root = -1;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/root", target->ref.pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -1 : (int)syscall(SYS_openat2, root, name, &how, sizeof(how));
}

static bool sees_proc(const struct target *target)
{
	_cleanup_fd_ int fd = open_below(target, "proc/thread-self", O_PATH);
	struct statfs file;

	return fd >= 0 && fstatfs(fd, &file) == 0 && file.f_type == PROC_SUPER_MAGIC;
}

int hello_fill(const struct target *target, struct proto_hello *ret)
{
	struct proc_thread_status status;
	char path[64];
	ssize_t length;
	int error = proc_read_status(target->ref.pid, &status);

	memset(ret, 0, sizeof(*ret));
	if (error)
		return error;
	ret->pid = target->ref.pid;
	ret->threads = status.threads;
	ret->owner = status.uid[1] + 1;
	ret->start_time_ticks = target->ref.start_time;
	ret->auxv_bytes = read_proc(target, "auxv", ret->auxv, sizeof(ret->auxv));
	(void)snprintf(path, sizeof(path), "/proc/%d/exe", target->ref.pid);
	length = readlink(path, ret->exe, sizeof(ret->exe) - 1);
	if (length < 0)
		ret->exe[0] = '\0';
	read_command_line(target, ret->cmdline, sizeof(ret->cmdline));
	ret->sees_proc = sees_proc(target);
	return 0;
}

/*
 * /tmp/perf-PID.map below the target's root, by its pid in its own namespace. Anybody may
 * put a name there: only a file of the target's own user, with no other name, is opened.
 */
static int open_jit_map(const struct target *target)
{
	struct proc_thread_status status;
	struct stat file;
	char path[64];
	int fd;

	if (proc_read_status(target->ref.pid, &status))
		return -1;
	(void)snprintf(path, sizeof(path), "tmp/perf-%d.map", status.ns_pid);
	fd = open_below(target, path, O_RDONLY | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) || file.st_nlink != 1 ||
			file.st_uid != status.uid[1]))
		cleanup_fd(&fd);
	return fd;
}

int hello_open(const struct target *target, enum hello_fd which)
{
	static const char *const name[] = { "mem", "maps", "statm", "pagemap" };
	int fd = which == HELLO_JIT ? open_jit_map(target) : open_proc(target, name[which]);

	if (fd >= 0 || which < HELLO_PAGEMAP)
		return fd;
	return memfd_nothing();
}
