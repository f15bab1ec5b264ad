/* SPDX-License-Identifier: MIT */
/*
 * sandbox.c - see sandbox.h.
 *
 * The analyst parses what a target may have forged. What it could do if that took it over is
 * limited to what stands in these lists: compute, read and write what it has open, talk to the
 * keeper, make threads and children that are as limited. What opens a file or takes one away is
 * passed on by a signal to the process that knows which (opener.h); all else is refused. Refused
 * means EPERM, not death: libraries try things that they can do without. A call that is newer than
 * what the C library falls back to is answered ENOSYS, as by an older kernel.
 * To look (stat, access, readlink) is let pass: libraries look at each part of a path.
 * Memory is never executable that could be written, so no code comes in but by what is there.
 * Rejected: Landlock, which Linux 5.10 has not, and which knows folders, not what a file is.
 */
#include "src/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "src/base/memfd.h"
#include "src/base/pagemap_scan.h"
#include "src/base/sanitized.h"
#include "src/base/spare_pages.h"

#define ADDRESS_SPACE (6ull << 30)
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
		    CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME)
#define KIND_OF_SOCKET 0xfu	/* of the type; above it are flags */
#define WHOLE 0xffffffffu	/* of an int: the kernel does not look at what is above it */

/* ---- which calls ---- */

static const char *const for_everybody[] = {
	"futex", "read", "write", "pread64", "pwrite64", "poll", "ppoll", "clock_gettime",
	"recvmsg", "sendmsg", "recvfrom", "sendto", "close", "lseek", "readv", "writev",
	"brk", "munmap", "mremap", "madvise", "fstat", "newfstatat", "stat", "lstat", "statx",
	"access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "fstatfs",
	"rt_sigprocmask", "rt_sigreturn", "rt_sigaction", "sigaltstack", "restart_syscall",
	"getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getrandom",
	"exit", "exit_group", "sched_yield",
};
static const char *const for_the_analyst[] = {
	"clock_nanosleep", "nanosleep", "clock_getres", "gettimeofday", "time", "times",
	"sendfile", "shutdown", "dup", "dup2", "dup3", "pipe2", "pselect6",
	"ftruncate", "fallocate", "fsync", "fdatasync", "flock", "memfd_create", "copy_file_range",
	"mincore", "msync", "sysinfo", "uname", "getrusage", "getcpu", "membarrier",
	"sched_getaffinity", "getrlimit", "setrlimit", "setitimer", "getitimer",
	"wait4", "waitid", "set_robust_list", "get_robust_list", "set_tid_address", "rseq",
};
/* Asked of the opener, see trapped.c. */
static const char *const by_signal[] = { "open", "openat", "unlink", "unlinkat" };
static const char *const for_the_opener[] = {
	"open", "openat", "unlink", "unlinkat", "fchmod",
};

/* A call that is allowed with some arguments only: those that all comparisons hold for. */
struct restricted {
	const char *name;
	struct scmp_arg_cmp compare[2];
	unsigned int count;
};
#define BITS(argument, mask, value) \
	{ (argument), SCMP_CMP_MASKED_EQ, (mask), (value) }
#define IS(argument, value) BITS(argument, WHOLE, (value))
#define ONE(call, ...) { .name = (call), .compare = { __VA_ARGS__ }, .count = 1 }
#define BOTH(call, ...) { .name = (call), .compare = { __VA_ARGS__ }, .count = 2 }

static const struct restricted memory[] = {
	ONE("mmap", BITS(2, PROT_EXEC, 0)),
	ONE("mprotect", BITS(2, PROT_EXEC, 0)),
};
static const struct restricted analysts[] = {
	/* what F_SETOWN and F_SETSIG could do is what kill does */
	ONE("fcntl", IS(1, F_DUPFD)),
	ONE("fcntl", IS(1, F_DUPFD_CLOEXEC)),
	ONE("fcntl", IS(1, F_GETFD)),
	ONE("fcntl", IS(1, F_SETFD)),
	ONE("fcntl", IS(1, F_GETFL)),
	BOTH("fcntl", IS(1, F_SETFL), BITS(2, O_ASYNC, 0)),
	ONE("fcntl", IS(1, F_GETLK)),
	ONE("fcntl", IS(1, F_SETLK)),
	ONE("fcntl", IS(1, F_SETLKW)),
	ONE("fcntl", IS(1, F_ADD_SEALS)),
	ONE("fcntl", IS(1, F_GET_SEALS)),
	/* which pages hold anything; and, for stdio, is it a terminal */
	ONE("ioctl", IS(1, PAGEMAP_SCAN_REQUEST)),
	ONE("ioctl", IS(1, TCGETS)),
	ONE("prctl", IS(0, PR_SET_PDEATHSIG)),
	ONE("prctl", IS(0, PR_SET_NAME)),
	ONE("prctl", IS(0, PR_GET_NAME)),
	ONE("prlimit64", IS(0, 0)),
	/* with an end that is connected to the other, and can be to no third; see unix(7) */
	BOTH("socketpair", IS(0, AF_UNIX), BITS(1, KIND_OF_SOCKET, SOCK_STREAM)),
	BOTH("socketpair", IS(0, AF_UNIX), BITS(1, KIND_OF_SOCKET, SOCK_SEQPACKET)),
	BOTH("setsockopt", IS(1, SOL_SOCKET), IS(2, SO_RCVTIMEO)),
	ONE("clone", BITS(0, NAMESPACES, 0)),
};

/* ---- the filter ---- */

static int sandbox_add(scmp_filter_ctx filter, uint32_t action, const struct restricted *call)
{
	int number = seccomp_syscall_resolve_name(call->name);

	if (number < 0)		/* none of this processor's */
		return 0;
	return seccomp_rule_add_array(filter, action, number, call->count, call->compare);
}

static int add_names(scmp_filter_ctx filter, uint32_t action, const char *const *name,
		     size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		error = sandbox_add(filter, action, &(struct restricted){ .name = name[i] });
	return error;
}

static int add_restricted(scmp_filter_ctx filter, const struct restricted *call, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		error = sandbox_add(filter, SCMP_ACT_ALLOW, &call[i]);
	return error;
}

/* Threads are made by clone3 if it is there, whose flags lie in memory; or else by clone. */
static int add_analysts(scmp_filter_ctx filter)
{
	const struct restricted clone3 = { .name = "clone3" };

	return add_names(filter, SCMP_ACT_ALLOW, for_the_analyst, ARRAY_SIZE(for_the_analyst)) ?:
		       add_names(filter, SCMP_ACT_TRAP, by_signal, ARRAY_SIZE(by_signal))      ?:
		       add_restricted(filter, analysts, ARRAY_SIZE(analysts))                  ?:
		       sandbox_add(filter, SCMP_ACT_ERRNO(ENOSYS), &clone3);
}

static int add_openers(scmp_filter_ctx filter)
{
	return add_names(filter, SCMP_ACT_ALLOW, for_the_opener, ARRAY_SIZE(for_the_opener));
}

struct program {
	struct sock_filter code[BPF_MAXINSNS];
	unsigned short count;	/* 0: not made */
};
struct programs {
	struct program analyst, opener;
};
static struct programs programs;

static int take_program(scmp_filter_ctx filter, struct program *ret)
{
	_cleanup_fd_ int file = memfd_new("filter");
	int error = file < 0 ? file : seccomp_export_bpf(filter, file);
	ssize_t bytes;

	if (error)
		return error;
	bytes = pread(file, ret->code, sizeof(ret->code), 0);
	if (bytes <= 0 || (size_t)bytes == sizeof(ret->code) ||	/* cut, perhaps */
	    (size_t)bytes % sizeof(ret->code[0]))
		return bytes < 0 ? -errno : -EIO;
	ret->count = (unsigned short)((size_t)bytes / sizeof(ret->code[0]));
	return 0;
}

/* As a tree: each call, the most frequent too, costs a few comparisons. */
static int make_program(int (*add_own)(scmp_filter_ctx filter), struct program *ret)
{
	scmp_filter_ctx filter;
	int error;

	if (ret->count)
		return 0;
	filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	error = filter ? 0 : -ENOMEM;
	if (!error)
		error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!error)
		error = add_names(filter, SCMP_ACT_ALLOW, for_everybody,
				  ARRAY_SIZE(for_everybody)) ?:
			add_restricted(filter, memory, ARRAY_SIZE(memory)) ?:
			add_own(filter);
	if (!error)
		error = take_program(filter, ret);
	seccomp_release(filter);
	return error;
}

static int install(const struct program *program)
{
	struct sock_fprog all = { program->count, (struct sock_filter *)(uintptr_t)program->code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all, 0, 0) < 0 ? -errno : 0;
}

static int make_programs(struct programs *ret)
{
	return make_program(add_analysts, &ret->analyst) ?:
	       make_program(add_openers, &ret->opener);
}

/* In a child: what libseccomp frees lies scattered in the heap, and all who are forked get it. */
int sandbox_prepare(void)
{
	struct programs *made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0, error = -EIO;
	pid_t child;

	if (made == MAP_FAILED)
		return -errno;
	child = fork();
	if (child == 0)
		_exit(make_programs(made) ? 1 : 0);
	if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	    WEXITSTATUS(status) == 0) {
		/* a copy: a child that was taken over may write into what is shared */
		spare_copy(&programs, made, sizeof(programs));
		error = 0;
	}
	(void)munmap(made, sizeof(*made));
	return error;
}

/* ---- the rest ---- */

int sandbox_drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2];

	memset(none, 0, sizeof(none));
	for (int i = 0; i <= CAP_LAST_CAP; i++)
		(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);	/* needs a capability itself */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	(void)setrlimit(RLIMIT_RTPRIO, &(struct rlimit){ 0, 0 });
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

/* Hostile call frame information can make a parser ask for gigabytes: it gets an error instead. */
static void limit_memory(void)
{
#if !MEMATTACH_SANITIZED	/* whose shadow memory is larger than any limit */
	struct rlimit limit = { ADDRESS_SPACE, ADDRESS_SPACE };

	(void)setrlimit(RLIMIT_AS, &limit);
#endif
}

static int give_up(void)
{
	limit_memory();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return sandbox_drop_capabilities();
}

int sandbox_enter(void)
{
	tzset();	/* reads its file once, and now */
	return make_program(add_analysts, &programs.analyst) ?: give_up() ?:
	       install(&programs.analyst);
}

int sandbox_enter_opener(void)
{
	return make_program(add_openers, &programs.opener) ?: give_up() ?:
	       install(&programs.opener);
}
