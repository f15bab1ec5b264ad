/* SPDX-License-Identifier: MIT */
/*
 * failing.c - runs memattach with a kernel that refuses one of its keeper's system calls.
 *
 *	failing --counts=FILE -- COMMAND...
 *	failing --counts=FILE --fail=NAME:K[:ERRNO][+] [--after=PATH:N] -- COMMAND...
 *
 * FILE gets a line `NAME COUNT` for each call of the keeper. The K-th (from 1 on) call of that name
 * fails with ERRNO (a number; else one that is usual for it), with `+` all later ones, too; it is
 * not made. FILE has a line `failed NAME` then. With --after, K counts from the N-th openat() of
 * just PATH on, which itself is made; FILE has a line `PATH COUNT` for all of those, so N can be
 * 0 to learn how many there are. The exit status is COMMAND's, 128 + signal if it was killed; 99:
 * of our own.
 *
 * A seccomp filter sends every call of COMMAND and its children here first (seccomp_unotify(2)),
 * which needs no ptrace: the keeper traces and can be traced by nobody else without changes to its
 * timing. Its keeper is the process that first makes a group of its own (inject/keeper_entry).
 * Rejected: strace --inject, which counts for each process alike, the analyst too, and LD_PRELOAD,
 * which sees no call that libc makes by itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

enum { CALLS = 512, THREADS = 256, BROKEN = 99 };

/* What each call fails with. Not here: EIO. */
static const struct {
	long number;
	int error;
} usual[] = {
	{ SYS_bind, EADDRINUSE },
	{ SYS_brk, ENOMEM },
	{ SYS_clone, EAGAIN },
	{ SYS_clone3, EAGAIN },
	{ SYS_close, EINTR },
	{ SYS_dup, EMFILE },
	{ SYS_fcntl, EMFILE },
	{ SYS_fork, EAGAIN },
	{ SYS_fstatfs, ENOMEM },
	{ SYS_ftruncate, ENOSPC },
	{ SYS_futex, EINTR },
	{ SYS_kcmp, EPERM },
	{ SYS_madvise, ENOMEM },
	{ SYS_memfd_create, EMFILE },
	{ SYS_mmap, ENOMEM },
	{ SYS_mprotect, ENOMEM },
	{ SYS_munmap, ENOMEM },
	{ SYS_newfstatat, ENOENT },
	{ SYS_openat, EMFILE },
	{ SYS_openat2, EMFILE },
	{ SYS_pidfd_getfd, EMFILE },
	{ SYS_pidfd_open, EMFILE },
	{ SYS_poll, ENOMEM },
	{ SYS_prctl, EPERM },
	{ SYS_process_vm_readv, EPERM },
	{ SYS_ptrace, EPERM },
	{ SYS_readlink, ENOMEM },
	{ SYS_readlinkat, ENOMEM },
	{ SYS_recvmsg, ENOBUFS },
	{ SYS_rt_sigtimedwait, EINTR },
	{ SYS_sched_getattr, EPERM },
	{ SYS_sched_setattr, EPERM },
	{ SYS_sched_setscheduler, EPERM },
	{ SYS_sendmsg, ENOBUFS },
	{ SYS_setpgid, EPERM },
	{ SYS_setsockopt, ENOMEM },
	{ SYS_signalfd4, EMFILE },
	{ SYS_socket, EMFILE },
	{ SYS_socketpair, EMFILE },
	{ SYS_timerfd_create, EMFILE },
	{ SYS_wait4, EINTR },
	{ SYS_write, ENOSPC },
	{ SYS_pwrite64, ENOSPC },
};

struct wanted {
	long number; /* -1: none */
	unsigned int first;
	int error;
	bool onwards;
	const char *path; /* NULL: counted from the beginning on */
	unsigned int opened;
};

static unsigned int count[CALLS];
static unsigned int opened; /* how often wanted's path was */
static unsigned int since;  /* calls of wanted's number, from then on */
static pid_t called[THREADS]; /* who has made a call */
static unsigned int callers;
static volatile sig_atomic_t ended;

static void die(const char *what)
{
	perror(what);
	exit(BROKEN);
}

static int usual_error(long number)
{
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (usual[i].number == number)
			return usual[i].error;
	return EIO;
}

/* NAME:K[:ERRNO][+] */
static void parse_call(char *text, struct wanted *ret)
{
	char *k = strchr(text, ':'), *end;

	if (!k)
		die("NAME:K is wanted");
	*k++ = '\0';
	ret->number = seccomp_syscall_resolve_name(text);
	ret->first = (unsigned int)strtoul(k, &end, 10);
	ret->error = *end == ':' ? (int)strtol(end + 1, &end, 10) : usual_error(ret->number);
	ret->onwards = *end == '+';
	if (ret->number < 0 || !ret->first)
		die(text);
}

/* PATH:N */
static void parse_after(char *text, struct wanted *ret)
{
	char *n = strrchr(text, ':');

	if (!n)
		die("PATH:N is wanted");
	*n++ = '\0';
	ret->path = text;
	ret->opened = (unsigned int)strtoul(n, NULL, 10);
}

/* In the child: from here on every call waits for the parent. The descriptor. */
static int filter_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			  flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);

	if (fd < 0) /* before Linux 5.19 */
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	return (int)fd;
}

/* The child's descriptor of that number, once it is there; it waits in its next call then. */
static int take_listener(pid_t child, int number)
{
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0), fd = -1;

	for (int i = 0; pidfd >= 0 && fd < 0 && i < 5000; i++) {
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
		if (fd < 0)
			(void)usleep(1000);
	}
	(void)close(pidfd);
	return fd;
}

/* Does this openat() name that path? */
static bool opens(const struct seccomp_notif *call, const char *path)
{
	char name[256] = "", memory[32];
	size_t bytes = strlen(path) + 1;
	ssize_t got;
	int fd;

	if (call->data.nr != SYS_openat || bytes > sizeof(name))
		return false;
	(void)snprintf(memory, sizeof(memory), "/proc/%u/mem", call->pid);
	fd = open(memory, O_RDONLY | O_CLOEXEC);
	if (fd < 0) /* its caller has ended */
		return false;
	got = pread(fd, name, bytes, (off_t)call->data.args[1]);
	(void)close(fd);
	return got == (ssize_t)bytes && memcmp(name, path, bytes) == 0;
}

static bool must_fail(const struct seccomp_notif *call, const struct wanted *wanted)
{
	bool counts = !wanted->path || (wanted->opened && opened >= wanted->opened);

	count[call->data.nr]++;
	if (wanted->path && opens(call, wanted->path))
		opened++;
	if (call->data.nr != wanted->number || !counts)
		return false;
	since++;
	return since == wanted->first || (wanted->onwards && since > wanted->first);
}

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static void note_caller(pid_t tid)
{
	for (unsigned int i = 0; i < callers; i++)
		if (called[i] == tid)
			return;
	if (callers < THREADS)
		called[callers++] = tid;
}

/* Without us every call of theirs would fail, and none of them could ever end. */
static void kill_callers(void)
{
	for (unsigned int i = 0; i < callers; i++)
		(void)kill(called[i], SIGKILL);
}

/* One call. Any other error than that its caller is gone is ours. */
static void answer(int listener, const struct wanted *wanted, bool *failed)
{
	static pid_t keeper;
	struct seccomp_notif call = { .id = 0 };
	struct seccomp_notif_resp reply = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
		if (errno == ENOENT || errno == EINTR)
			return;
		die("SECCOMP_IOCTL_NOTIF_RECV");
	}
	reply.id = call.id;
	note_caller((pid_t)call.pid);
	if (!keeper && call.data.nr == SYS_setpgid)
		keeper = (pid_t)call.pid;
	if ((pid_t)call.pid == keeper && call.data.nr >= 0 && call.data.nr < CALLS &&
	    must_fail(&call, wanted)) {
		reply.flags = 0;
		reply.error = -wanted->error;
		*failed = true;
	}
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply) < 0 && errno != ENOENT)
		die("SECCOMP_IOCTL_NOTIF_SEND");
}

/* Until nobody is left whose calls come here. */
static bool serve(int listener, const struct wanted *wanted)
{
	struct pollfd poller = { .fd = listener, .events = POLLIN };
	bool failed = false;

	while (!ended && !(poller.revents & POLLHUP)) {
		if (poll(&poller, 1, -1) < 0 && errno != EINTR)
			die("poll");
		if (poller.revents & POLLIN)
			answer(listener, wanted, &failed);
	}
	return failed;
}

static void write_counts(const char *path, const struct wanted *wanted, bool failed)
{
	FILE *file = fopen(path, "w");

	if (!file)
		die(path);
	for (long i = 0; i < CALLS; i++) {
		char *name = count[i] ? seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)i) :
					NULL;

		if (name)
			(void)fprintf(file, "%s %u\n", name, count[i]);
		if (name && failed && i == wanted->number)
			(void)fprintf(file, "failed %s\n", name);
		free(name);
	}
	if (wanted->path)
		(void)fprintf(file, "%s %u\n", wanted->path, opened);
	if (fclose(file))
		die(path);
}

static int status_of(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* In the child: COMMAND, in the filter. */
static _Noreturn void become(char **command)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter_calls() >= 0)
		(void)execvp(command[0], command);
	_exit(BROKEN);
}

/* Runs it to its end; its exit status. */
static int run(char **command, const char *path, const struct wanted *wanted)
{
	int number = dup(0), listener; /* the next one that is free is the child's, too */
	bool failed;
	pid_t child;

	(void)close(number);
	child = fork();
	if (child == 0)
		become(command);
	(void)sigaction(SIGTERM, &(struct sigaction){ .sa_handler = end }, NULL);
	listener = child > 0 ? take_listener(child, number) : -1;
	if (listener < 0)
		die("no filter");
	failed = serve(listener, wanted);
	if (ended) {
		kill_callers();
		return BROKEN;
	}
	write_counts(path, wanted, failed);
	return status_of(child);
}

int main(int argc, char **argv)
{
	struct wanted wanted = { .number = -1 };
	const char *path = NULL;

	for (; argc > 1 && strcmp(argv[1], "--") != 0; argc--, argv++)
		if (strncmp(argv[1], "--counts=", 9) == 0)
			path = argv[1] + 9;
		else if (strncmp(argv[1], "--fail=", 7) == 0)
			parse_call(argv[1] + 7, &wanted);
		else if (strncmp(argv[1], "--after=", 8) == 0)
			parse_after(argv[1] + 8, &wanted);
	if (argc < 3 || !path) {
		(void)fprintf(stderr, "failing --counts=FILE [--fail=...] [--after=...] -- "
				      "COMMAND...\n");
		return BROKEN;
	}
	return run(argv + 2, path, &wanted);
}
