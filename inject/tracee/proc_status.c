/* SPDX-License-Identifier: MIT */
/*
 * proc_status.c - readers of /proc/PID/{status,task,limits} and TID/{syscall,schedstat}.
 *
 * The text is the kernel's, but its length is not bounded by us (a process may be
 * in 65,536 groups, and the line that lists them stands before what we look for),
 * so files go through a line reader with a fixed buffer that drops the tail of a
 * long line. Directories are read with getdents64 itself: opendir allocates.
 * taskstats and netlink were rejected: privileged, and they lack half of this.
 */
#include "inject/tracee/proc_status.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

/* A pass that still finds new threads after so many is a fork bomb, and no reason to hang. */
#define MAX_PASSES 16

int proc_lines_open(const char *path, struct proc_lines *ret)
{
	ret->at = ret->used = 0;
	ret->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (ret->fd >= 0)
		return 0;
	return errno == ENOENT && strncmp(path, "/proc/", 6) == 0 ? -ESRCH : -errno;
}

void proc_lines_close(struct proc_lines *lines)
{
	cleanup_fd(&lines->fd);
}

/* Moves what is left to the front and reads on; 1 if there is more, 0 at the end. */
static int lines_fill(struct proc_lines *lines)
{
	ssize_t n;

	memmove(lines->buffer, lines->buffer + lines->at, lines->used - lines->at);
	lines->used -= lines->at;
	lines->at = 0;
	do
		n = read(lines->fd, lines->buffer + lines->used,
			 sizeof(lines->buffer) - 1 - lines->used);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	lines->used += (size_t)n;
	return n > 0;
}

static char *lines_newline(struct proc_lines *lines)
{
	return memchr(lines->buffer + lines->at, '\n', lines->used - lines->at);
}

/*
 * The buffer is full of one unfinished line: keeps its first half, drops the
 * rest of it, and leaves what follows its end in the second half.
 */
static int lines_cut(struct proc_lines *lines, const char **ret_line)
{
	const size_t half = sizeof(lines->buffer) / 2;
	char *rest = lines->buffer + half, *end;
	ssize_t n;

	do {
		n = read(lines->fd, rest, half);
		end = n > 0 ? memchr(rest, '\n', (size_t)n) : NULL;
	} while ((n > 0 && !end) || (n < 0 && errno == EINTR));
	if (n < 0)
		return -errno;
	lines->used = half + (size_t)n;
	lines->at = end ? (size_t)(end - lines->buffer) + 1 : lines->used;
	lines->buffer[half - 1] = '\0';
	*ret_line = lines->buffer;
	return 1;
}

int proc_lines_next(struct proc_lines *lines, const char **ret_line)
{
	char *end;
	int r = 1;

	while (!(end = lines_newline(lines)) && r > 0 &&
	       (lines->at > 0 || lines->used < sizeof(lines->buffer) - 1))
		r = lines_fill(lines);
	if (r < 0 || (!end && lines->at == lines->used))
		return r < 0 ? r : 0;
	if (!end && r > 0)
		return lines_cut(lines, ret_line);
	/* The last line may lack its newline; the buffer has room for one byte more. */
	end = end ? end : lines->buffer + lines->used++;
	*end = '\0';
	*ret_line = lines->buffer + lines->at;
	lines->at = (size_t)(end - lines->buffer) + 1;
	return 1;
}

/* How the value of a status line is stored, and where. */
struct status_field {
	const char *key;
	void (*take)(const char *value, void *member);
	size_t offset;
};

static void take_u32(const char *value, void *member)
{
	*(uint32_t *)member = (uint32_t)strtoul(value, NULL, 10);
}

static void take_pid(const char *value, void *member)
{
	*(pid_t *)member = (pid_t)strtol(value, NULL, 10);
}

static void take_u64(const char *value, void *member)
{
	*(uint64_t *)member = strtoull(value, NULL, 10);
}

static void take_hex(const char *value, void *member)
{
	*(uint64_t *)member = strtoull(value, NULL, 16);
}

static void take_kilobytes(const char *value, void *member)
{
	*(uint64_t *)member = strtoull(value, NULL, 10) * 1024;
}

static void take_flag(const char *value, void *member)
{
	*(bool *)member = strtoul(value, NULL, 10) != 0;
}

static void take_presence(const char *value, void *member)
{
	(void)value;
	*(bool *)member = true;
}

static void take_state(const char *value, void *member)
{
	*(char *)member = *value;
}

static void take_name(const char *value, void *member)
{
	(void)snprintf(member, PROC_NAME_BYTES, "%s", value);
}

static void take_ids(const char *value, void *member)
{
	uint32_t *ids = member;
	char *end = (char *)value;

	for (int i = 0; i < 3; i++)
		ids[i] = (uint32_t)strtoul(end, &end, 10);
}

static void take_shadow_stack(const char *value, void *member)
{
	*(bool *)member = strstr(value, "shstk") != NULL;
}

static void take_ns_pid(const char *value, void *member)
{
	struct proc_thread_status *status = member;
	char *end = (char *)value;

	while (isdigit((unsigned char)*end)) {
		status->ns_pid = (pid_t)strtol(end, &end, 10);
		status->ns_levels++;
		end += strspn(end, "\t ");
	}
}

#define FIELD(key, take, member)                                       \
	{                                                              \
		key, take, offsetof(struct proc_thread_status, member) \
	}

static const struct status_field fields[] = {
	FIELD("Name", take_name, name),
	FIELD("State", take_state, state),
	FIELD("Kthread", take_flag, kernel_thread),
	FIELD("CoreDumping", take_flag, core_dumping),
	FIELD("VmSize", take_presence, has_memory),
	FIELD("VmSize", take_kilobytes, vm_bytes),
	FIELD("VmRSS", take_kilobytes, rss_bytes),
	FIELD("VmLck", take_kilobytes, locked_bytes),
	FIELD("x86_Thread_features", take_shadow_stack, shadow_stack),
	FIELD("Tgid", take_pid, process),
	FIELD("PPid", take_pid, parent),
	FIELD("TracerPid", take_pid, tracer),
	{ "NSpid", take_ns_pid, 0 },
	FIELD("Uid", take_ids, uid),
	FIELD("Gid", take_ids, gid),
	FIELD("Threads", take_u32, threads),
	FIELD("Seccomp", take_u32, seccomp),
	FIELD("Seccomp_filters", take_u32, seccomp_filters),
	FIELD("SigPnd", take_hex, sig_pending),
	FIELD("ShdPnd", take_hex, shared_pending),
	FIELD("SigBlk", take_hex, sig_blocked),
	FIELD("SigIgn", take_hex, sig_ignored),
	FIELD("SigCgt", take_hex, sig_caught),
	FIELD("CapPrm", take_hex, capabilities),
	FIELD("voluntary_ctxt_switches", take_u64, voluntary_switches),
	FIELD("nonvoluntary_ctxt_switches", take_u64, involuntary_switches),
};

static void take_status_line(const char *line, struct proc_thread_status *status)
{
	size_t key = strcspn(line, ":");
	const char *value = line + key;

	if (*value == '\0')
		return;
	value++;
	value += strspn(value, "\t ");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strncmp(fields[i].key, line, key) == 0 && fields[i].key[key] == '\0')
			fields[i].take(value, (char *)status + fields[i].offset);
	}
}

static int read_status(const char *path, struct proc_thread_status *ret)
{
	_cleanup_(proc_lines_close) struct proc_lines lines = { .fd = -1 };
	struct proc_thread_status status = { 0 };
	const char *line;
	int r = proc_lines_open(path, &lines);

	if (r < 0)
		return r;
	while ((r = proc_lines_next(&lines, &line)) > 0)
		take_status_line(line, &status);
	if (r < 0)
		return r;
	*ret = status;
	return status.state ? 0 : -ESRCH;
}

int proc_read_thread_status(pid_t pid, pid_t tid, struct proc_thread_status *ret)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	return read_status(path, ret);
}

int proc_read_status(pid_t pid, struct proc_thread_status *ret)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return read_status(path, ret);
}

/* The first line of a file of thread tid; -ESRCH too when it is empty. */
static int read_thread_line(pid_t pid, pid_t tid, const char *file, struct proc_lines *lines,
			    const char **ret)
{
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
	r = proc_lines_open(path, lines);
	if (r < 0)
		return r;
	r = proc_lines_next(lines, ret);
	if (r == 0)
		return -ESRCH;
	return r < 0 ? r : 0;
}

/* Takes count numbers with their own 0x prefixes; false if there are fewer. */
static bool take_words(const char **at, uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *end;

		words[i] = strtoull(*at, &end, 0);
		if (end == *at)
			return false;
		*at = end;
	}
	return true;
}

/* "running", "-1 sp pc", or "number six-arguments sp pc" */
static int parse_syscall(const char *line, struct proc_thread_syscall *ret)
{
	struct proc_thread_syscall call = { 0 };
	uint64_t stack[2];
	char *end;

	if (strcmp(line, "running") == 0) {
		*ret = (struct proc_thread_syscall){ .running = true };
		return 0;
	}
	call.number = strtol(line, &end, 10);
	if (end == line)
		return -EBADMSG;
	line = end;
	if (call.number != -1 && !take_words(&line, call.argument, 6))
		return -EBADMSG;
	if (!take_words(&line, stack, 2))
		return -EBADMSG;
	call.sp = stack[0];
	call.pc = stack[1];
	*ret = call;
	return 0;
}

int proc_read_thread_syscall(pid_t pid, pid_t tid, struct proc_thread_syscall *ret)
{
	_cleanup_(proc_lines_close) struct proc_lines lines = { .fd = -1 };
	const char *line;
	int r = read_thread_line(pid, tid, "syscall", &lines, &line);

	return r < 0 ? r : parse_syscall(line, ret);
}

/* Nanoseconds that it ran, that it waited for a processor; how often it was put on one. */
static int read_schedstat(pid_t pid, pid_t tid, uint64_t words[3])
{
	_cleanup_(proc_lines_close) struct proc_lines lines = { .fd = -1 };
	const char *line;
	int r = read_thread_line(pid, tid, "schedstat", &lines, &line);

	if (r < 0)
		return r;
	/* Without CONFIG_SCHED_INFO it prints zeros; a thread that exists has run or waited once.
	 */
	if (!take_words(&line, words, 3) || (words[1] | words[2] | words[0]) == 0)
		return -ENODATA;
	return 0;
}

int proc_read_run_count(pid_t pid, pid_t tid, uint64_t *ret)
{
	uint64_t words[3];
	int r = read_schedstat(pid, tid, words);

	if (r == 0)
		*ret = words[2];
	return r;
}

int proc_read_run_delay(pid_t pid, pid_t tid, uint64_t *ret_ns)
{
	uint64_t words[3];
	int r = read_schedstat(pid, tid, words);

	if (r == 0)
		*ret_ns = words[1];
	return r;
}

static size_t take_entries(const char *buffer, size_t bytes, pid_t *tids, size_t room, size_t count)
{
	for (size_t at = 0; at < bytes;) {
		const struct dirent64 *entry = (const void *)(buffer + at);

		at += entry->d_reclen;
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (count < room)
			tids[count] = (pid_t)strtol(entry->d_name, NULL, 10);
		count++;
	}
	return count;
}

int proc_list_task(int task_fd, pid_t *tids, size_t room)
{
	_Alignas(struct dirent64) char buffer[8192];
	size_t count = 0;
	ssize_t n;

	if (lseek(task_fd, 0, SEEK_SET) < 0)
		return -errno;
	while ((n = getdents64(task_fd, buffer, sizeof(buffer))) > 0)
		count = take_entries(buffer, (size_t)n, tids, room, count);
	if (n < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return count > 0 ? (int)count : -ESRCH;
}

struct tid_set {
	pid_t *tid;
	size_t count;
};

static int compare_tids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

static void tid_set_done(struct tid_set *set)
{
	free(set->tid);
}

/* One pass, with room for what it finds. */
static int list_pass(int task_fd, struct tid_set *pass)
{
	for (size_t room = pass->count + 64;; room *= 2) {
		pid_t *bigger = reallocarray(pass->tid, room, sizeof(*bigger));
		int n;

		if (!bigger)
			return -ENOMEM;
		pass->tid = bigger;
		n = proc_list_task(task_fd, pass->tid, room);
		if (n < 0)
			return n;
		pass->count = (size_t)n;
		if (pass->count <= room)
			break;
	}
	qsort(pass->tid, pass->count, sizeof(*pass->tid), compare_tids);
	return 0;
}

/* Adds pass to all, both sorted; 1 if anything was new, 0, -ENOMEM. */
static int merge_pass(struct tid_set *all, const struct tid_set *pass)
{
	size_t i = 0, k = 0, n = 0, old = all->count;
	pid_t *merged = calloc(all->count + pass->count + 1, sizeof(*merged));

	if (!merged)
		return -ENOMEM;
	while (i < all->count || k < pass->count) {
		if (k == pass->count || (i < all->count && all->tid[i] <= pass->tid[k])) {
			k += k < pass->count && all->tid[i] == pass->tid[k];
			merged[n++] = all->tid[i++];
		} else {
			merged[n++] = pass->tid[k++];
		}
	}
	free(all->tid);
	*all = (struct tid_set){ merged, n };
	return n > old;
}

static int open_task(pid_t pid)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

int proc_list_threads(pid_t pid, pid_t **ret_tids)
{
	_cleanup_(tid_set_done) struct tid_set all = { 0 }, pass = { 0 };
	_cleanup_fd_ int task = open_task(pid);
	int r = 1;

	if (task < 0)
		return task;
	for (int i = 0; r > 0 && i < MAX_PASSES; i++) {
		r = list_pass(task, &pass);
		if (r == 0)
			r = merge_pass(&all, &pass);
	}
	if (r < 0)
		return r;
	*ret_tids = all.tid;
	all.tid = NULL;
	return (int)all.count;
}

static bool thread_lives(pid_t pid, pid_t tid)
{
	struct proc_thread_status status;

	return proc_read_thread_status(pid, tid, &status) == 0 && status.state != 'Z' &&
	       status.state != 'X';
}

pid_t proc_live_thread(pid_t pid)
{
	_cleanup_fd_ int task = -1;
	pid_t tids[256];
	int n;

	if (thread_lives(pid, pid))
		return pid;
	task = open_task(pid);
	if (task < 0)
		return task;
	n = proc_list_task(task, tids, ARRAY_SIZE(tids));
	for (int i = 0; i < n && i < (int)ARRAY_SIZE(tids); i++) {
		if (thread_lives(pid, tids[i]))
			return tids[i];
	}
	return n < 0 ? n : -ESRCH;
}

int proc_open_pagemap(pid_t pid, int *ret)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	*ret = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret >= 0 || errno == EACCES || errno == EPERM || errno == ENOENT)
		return 0;
	return -errno;
}

/* The number after key on a line of the file that starts with it. */
static int read_keyed(const char *path, const char *key, uint64_t none, uint64_t *ret)
{
	_cleanup_(proc_lines_close) struct proc_lines lines = { .fd = -1 };
	size_t length = strlen(key);
	const char *line;
	int r = proc_lines_open(path, &lines);

	while (r >= 0 && (r = proc_lines_next(&lines, &line)) > 0) {
		if (strncmp(line, key, length) != 0)
			continue;
		line += length + strspn(line + length, "\t ");
		*ret = isdigit((unsigned char)*line) ? strtoull(line, NULL, 10) : none;
		return isdigit((unsigned char)*line) || none ? 0 : -ENODATA;
	}
	return r < 0 ? r : -ENODATA;
}

int proc_read_limit(pid_t pid, const char *row, uint64_t *ret)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	return read_keyed(path, row, UINT64_MAX, ret);
}

int proc_read_number(const char *path, const char *key, uint64_t *ret)
{
	return read_keyed(path, key, 0, ret);
}

/* Version 1 of control groups; version 2, whose do_freezer_trap is mostly part of its caller. */
static const char *const frozen_in[] = { "__refrigerator", "do_freezer_trap", "get_signal" };

bool proc_thread_is_frozen(pid_t pid, pid_t tid)
{
	struct proc_thread_status status;
	_cleanup_fd_ int fd = -1;
	char path[64], name[64];
	ssize_t got;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", (int)pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd >= 0 ? read(fd, name, sizeof(name) - 1) : 0;
	if (got <= 0)
		return false;
	name[got] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(frozen_in); i++) {
		if (strncmp(name, frozen_in[i], strlen(frozen_in[i])) == 0)
			/* job control and tracers stop a thread in there, too: T, t */
			return proc_read_thread_status(pid, tid, &status) == 0 &&
			       (status.state == 'S' || (i == 0 && status.state == 'D'));
	}
	return false;
}

/* By version 1, which leaves a thread where it sleeps since Linux 6.1, if that does no harm. */
static bool is_in_frozen_group(pid_t pid)
{
	_cleanup_(proc_lines_close) struct proc_lines lines = { .fd = -1 };
	char path[4352], state[16] = "";
	const char *line, *group;
	_cleanup_fd_ int fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (proc_lines_open(path, &lines) < 0)
		return false;
	while (fd < 0 && proc_lines_next(&lines, &line) > 0) {
		group = strstr(line, ":freezer:");
		if (!group)
			continue;
		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/freezer%s/freezer.state",
			       group + strlen(":freezer:"));
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return false;
	}
	return fd >= 0 && read(fd, state, sizeof(state) - 1) > 0 && state[0] == 'F';
}

pid_t proc_find_frozen(pid_t pid)
{
	_cleanup_free_ pid_t *tids = NULL;
	int n = proc_list_threads(pid, &tids);

	for (int i = 0; i < n; i++) {
		if (proc_thread_is_frozen(pid, tids[i]))
			return tids[i];
	}
	return is_in_frozen_group(pid) ? pid : 0;
}

/* Field 9 of stat (include/linux/sched.h), which older kernels used otherwise. */
#define PF_IO_WORKER   0x10ul	/* Linux 5.12 */
#define PF_USER_WORKER 0x4000ul	/* 6.4 */

static unsigned long worker_flags(void)
{
	static unsigned long flags = ~0ul;
	unsigned int major = 0, minor = 0;
	struct utsname name;

	if (flags != ~0ul)
		return flags;
	flags = 0;
	if (uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2) {
		unsigned int version = major * 1000 + minor;

		flags = (version >= 5012 ? PF_IO_WORKER : 0) |
			(version >= 6004 ? PF_USER_WORKER : 0);
	}
	return flags;
}

/* Its state, X when it is gone, and its flags. */
static char read_flags(pid_t pid, pid_t tid, unsigned long *ret)
{
	_cleanup_fd_ int fd = -1;
	char path[64], text[512];
	char state = 'X';
	const char *end;
	ssize_t got;

	*ret = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (got <= 0)
		return state;
	text[got] = '\0';
	end = strrchr(text, ')');	/* the name may hold anything */
	if (!end || sscanf(end + 1, " %c %*d %*d %*d %*d %*d %lu", &state, ret) != 2)
		return '?';
	return state;
}

bool proc_is_worker(pid_t pid, pid_t tid)
{
	unsigned long flags;

	(void)read_flags(pid, tid, &flags);
	return (flags & worker_flags()) != 0;
}

bool proc_runs_no_code(pid_t pid, pid_t tid)
{
	unsigned long flags;
	char state = read_flags(pid, tid, &flags);

	return state == 'Z' || state == 'X' || (flags & worker_flags());
}
