/* SPDX-License-Identifier: MIT */
/*
 * preflight_access.c - which gate said no when the kernel answered EPERM or EACCES.
 *
 * The kernel does not tell; this follows __ptrace_may_access() step by step with
 * what an unprivileged process may read: identity, CAP_SYS_PTRACE in the target's
 * user namespace, dumpable, then the security modules (commoncap's capability
 * subset, yama, and the rest together). The last gate left is the answer. It is
 * an explanation and never a decision: that was the kernel's.
 */
#include "inject/preflight/preflight_checks.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>

struct access {
	uint64_t capabilities; /* our effective ones */
	uint64_t yama;         /* 0 where there is no yama */
	uint32_t uid, gid;     /* ours, effective */
};

/* CapEff of ourselves; the reader's struct holds CapPrm, which may be wider. */
static uint64_t own_capabilities(void)
{
	_cleanup_(proc_lines_close) struct proc_lines lines = { .fd = -1 };
	const char *line;

	if (proc_lines_open("/proc/self/status", &lines) < 0)
		return 0;
	while (proc_lines_next(&lines, &line) > 0) {
		if (strncmp(line, "CapEff:", 7) == 0)
			return strtoull(line + 7, NULL, 16);
	}
	return 0;
}

static struct access read_access(void)
{
	struct access access = {
		.capabilities = own_capabilities(),
		.uid = geteuid(),
		.gid = getegid(),
	};

	if (proc_read_number("/proc/sys/kernel/yama/ptrace_scope", "", &access.yama) < 0)
		access.yama = 0;
	return access;
}

static bool may_trace_all(const struct access *access)
{
	return access->capabilities & 1ull << CAP_SYS_PTRACE;
}

/* The initial namespace maps every id to itself; a fresh one has no map yet. */
static bool in_initial_user_namespace(void)
{
	_cleanup_(proc_lines_close) struct proc_lines lines = { .fd = -1 };
	unsigned long inside = 1, outside = 1, count = 0;
	const char *line;

	if (proc_lines_open("/proc/self/uid_map", &lines) < 0)
		return true;
	if (proc_lines_next(&lines, &line) <= 0 ||
	    sscanf(line, "%lu %lu %lu", &inside, &outside, &count) != 3)
		return false;
	return inside == 0 && outside == 0 && count == UINT32_MAX;
}

static bool same_user_namespace(pid_t pid)
{
	char path[64];
	struct stat ours, theirs;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	/* Unreadable says nothing. */
	if (stat("/proc/self/ns/user", &ours) < 0 || stat(path, &theirs) < 0)
		return true;
	return ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

static bool same_user(const struct access *access, const struct proc_thread_status *status)
{
	for (int i = 0; i < 3; i++) {
		if (status->uid[i] != access->uid || status->gid[i] != access->gid)
			return false;
	}
	return true;
}

/* The kernel gives /proc/PID of a process that is not dumpable to root. */
static bool is_dumpable(const struct preflight *p)
{
	char path[64];
	struct stat info;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)p->pid);
	return stat(path, &info) < 0 || info.st_uid == p->status.uid[1];
}

static int refuse_yama(struct preflight *p, const struct access *access)
{
	if (access->yama >= 3) {
		preflight_reason(p, PREFLIGHT_YAMA,
				 "kernel.yama.ptrace_scope is 3: nobody may trace on this machine");
		return preflight_remedy(
			p, "set kernel.yama.ptrace_scope to 2 or less in /etc/sysctl.d and reboot");
	}
	preflight_reason(p, PREFLIGHT_YAMA,
			 "kernel.yama.ptrace_scope is %u: without CAP_SYS_PTRACE, %s may be traced",
			 (unsigned int)access->yama,
			 access->yama == 1 ? "only own descendants" : "nothing");
	if (access->yama == 1)
		return preflight_remedy(
			p, "run memattach with sudo, or: sudo sysctl kernel.yama.ptrace_scope=0");
	return preflight_remedy(p, "run memattach with sudo");
}

static int refuse_capability(struct preflight *p, const struct access *access)
{
	if (!same_user(access, &p->status))
		preflight_reason(
			p, PREFLIGHT_NO_CAPABILITY,
			"process %d (%s) belongs to user %u, memattach runs as user %u "
			"without CAP_SYS_PTRACE",
			(int)p->pid, p->status.name, p->status.uid[1], access->uid);
	else if (!is_dumpable(p))
		preflight_reason(
			p, PREFLIGHT_NO_CAPABILITY,
			"process %d (%s) is protected (setuid, file capabilities "
			"or PR_SET_DUMPABLE)",
			(int)p->pid, p->status.name);
	else
		preflight_reason(p, PREFLIGHT_NO_CAPABILITY,
				 "process %d (%s) has capabilities that memattach lacks",
				 (int)p->pid, p->status.name);
	if (access->uid == 0)
		return preflight_remedy(
			p, "give memattach CAP_SYS_PTRACE (container: --cap-add=SYS_PTRACE)");
	return preflight_remedy(p, "run memattach with sudo");
}

static int refuse_user_namespace(struct preflight *p)
{
	preflight_reason(
		p, PREFLIGHT_USER_NAMESPACE,
		"process %d (%s) lives in a user namespace over which memattach has no rights",
		(int)p->pid, p->status.name);
	return preflight_remedy(p, "run memattach as root on the host, outside of any container");
}

/* The first line of a label file, "none" where there is none. */
static void read_label(const char *path, char *label, size_t room)
{
	_cleanup_(proc_lines_close) struct proc_lines lines = { .fd = -1 };
	const char *line;

	if (proc_lines_open(path, &lines) < 0 || proc_lines_next(&lines, &line) <= 0 || !*line)
		line = "none";
	(void)snprintf(label, room, "%s", line);
}

static int refuse_security_module(struct preflight *p)
{
	char path[64], ours[64], theirs[64];

	read_label("/proc/self/attr/current", ours, sizeof(ours));
	(void)snprintf(path, sizeof(path), "/proc/%d/attr/current", (int)p->pid);
	read_label(path, theirs, sizeof(theirs));
	preflight_reason(
		p, PREFLIGHT_LSM,
		"a kernel security module forbids tracing process %d (%s) "
		"(label of memattach: %s, of it: %s)",
		(int)p->pid, p->status.name, ours, theirs);
	return preflight_remedy(
		p,
		"allow ptrace: AppArmor profile, SELinux `setsebool deny_ptrace off`, "
		"container --cap-add=SYS_PTRACE");
}

int preflight_refuse_access(struct preflight *p)
{
	struct access access = read_access();
	bool narrower = (p->status.capabilities & ~access.capabilities) != 0;

	if (access.yama >= 3)
		return refuse_yama(p, &access);
	if (may_trace_all(&access)) {
		if (!same_user_namespace(p->pid) || !in_initial_user_namespace())
			return refuse_user_namespace(p);
		return refuse_security_module(p);
	}
	if (!same_user(&access, &p->status) || !is_dumpable(p) || narrower)
		return refuse_capability(p, &access);
	if (access.yama > 0)
		return refuse_yama(p, &access);
	return same_user_namespace(p->pid) ? refuse_security_module(p) : refuse_user_namespace(p);
}
