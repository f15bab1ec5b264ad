/* SPDX-License-Identifier: MIT */
/*
 * preflight.c - the table of refusals, from "no such process" to "too little memory".
 *
 * Each check looks at kernel text only and names one reason and one remedy. The
 * order is from what makes all later answers meaningless to what the user can
 * most easily change. Rights are probed by opening /proc/PID/mem for writing:
 * the kernel applies the very check of PTRACE_ATTACH to it and nothing happens.
 * A trial PTRACE_SEIZE was rejected: between it and its DETACH the target counts
 * as traced, which others see and which takes the place of a debugger.
 * What is true now may not be a moment later: every later step checks its own
 * ground again; this one exists to say no early and clearly.
 */
#include "inject/preflight/preflight_checks.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject/abi/memfd_names.h"

#define VFORK_PAUSE_NS	 10000000
#define VFORK_SAME_LOOKS 50 /* times 10 ms for one child: spawning takes far less */
#define VFORK_LOOKS	 200
#define MAX_ANCESTORS  64

static const char *const code_names[PREFLIGHT_CODES] = {
	[PREFLIGHT_OK] = "ok",
	[PREFLIGHT_NO_SUCH_PROCESS] = "no-such-process",
	[PREFLIGHT_THREAD_ID] = "thread-id",
	[PREFLIGHT_KERNEL_THREAD] = "kernel-thread",
	[PREFLIGHT_ZOMBIE] = "zombie",
	[PREFLIGHT_DUMPING] = "dumping",
	[PREFLIGHT_SELF] = "self",
	[PREFLIGHT_TRACED] = "traced",
	[PREFLIGHT_NO_CAPABILITY] = "no-capability",
	[PREFLIGHT_YAMA] = "yama",
	[PREFLIGHT_USER_NAMESPACE] = "user-namespace",
	[PREFLIGHT_LSM] = "lsm",
	[PREFLIGHT_STOPPED] = "stopped",
	[PREFLIGHT_FROZEN] = "frozen",
	[PREFLIGHT_ARCHITECTURE] = "architecture",
	[PREFLIGHT_INSTRUMENTED] = "instrumented",
	[PREFLIGHT_GO] = "go",
	[PREFLIGHT_SHADOW_STACK] = "shadow-stack",
	[PREFLIGHT_SECCOMP_STRICT] = "seccomp-strict",
	[PREFLIGHT_ATTACHED] = "attached",
	[PREFLIGHT_VFORK] = "vfork",
	[PREFLIGHT_MEMORY] = "memory",
	[PREFLIGHT_LOCKED_MEMORY] = "locked-memory",
	[PREFLIGHT_DESCRIPTORS] = "descriptors",
};

const char *preflight_code_name(enum preflight_code code)
{
	return (unsigned int)code < PREFLIGHT_CODES ? code_names[code] : "unknown";
}

/* Formats one line; names in it were chosen by others. */
static void format_line(char *line, size_t room, const char *format, va_list arguments)
{
	(void)vsnprintf(line, room, format, arguments);
	for (; *line; line++) {
		if ((unsigned char)*line < 0x20 || *line == 0x7f)
			*line = '?';
	}
}

int preflight_reason(struct preflight *preflight, enum preflight_code code, const char *format, ...)
{
	va_list arguments;

	preflight->report->code = code;
	va_start(arguments, format);
	format_line(preflight->report->reason, sizeof(preflight->report->reason), format,
		    arguments);
	va_end(arguments);
	return 1;
}

int preflight_remedy(struct preflight *preflight, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	format_line(preflight->report->remedy, sizeof(preflight->report->remedy), format,
		    arguments);
	va_end(arguments);
	return 1;
}

static int refuse_gone(struct preflight *p)
{
	preflight_reason(p, PREFLIGHT_NO_SUCH_PROCESS, "there is no process %d", (int)p->pid);
	return preflight_remedy(p, "look up the id with `pgrep NAME`");
}

static int check_ended(struct preflight *p)
{
	int r = proc_read_status(p->pid, &p->status);

	if (r < 0)
		return r;
	p->tid = proc_live_thread(p->pid);
	if (p->tid > 0)
		return proc_read_thread_status(p->pid, p->tid, &p->status);
	preflight_reason(p, PREFLIGHT_ZOMBIE,
			 "process %d (%s) has ended and waits for its parent %d", (int)p->pid,
			 p->status.name, (int)p->status.parent);
	return preflight_remedy(p, "nothing of it is left to watch");
}

/* Its threads stop for nobody any more, and a signal would cut the dump short. */
static int check_dumping(struct preflight *p)
{
	if (!p->status.core_dumping)
		return 0;
	preflight_reason(p, PREFLIGHT_DUMPING, "process %d (%s) is writing a core dump, and ends "
			 "then", (int)p->pid, p->status.name);
	return preflight_remedy(p, "the dump shows what it held (gdb, eu-stack --core)");
}

static bool is_own(const struct preflight *p)
{
	for (size_t i = 0; i < p->options->own_count; i++) {
		if (p->options->own[i] == p->pid)
			return true;
	}
	return p->pid == getpid();
}

/* A stop of the shell, sudo or terminal that we write through would be a deadlock. */
static bool is_ancestor(pid_t pid)
{
	struct proc_thread_status status;
	pid_t at = getppid();

	for (int i = 0; at > 0 && i < MAX_ANCESTORS; i++) {
		if (at == pid)
			return true;
		if (proc_read_status(at, &status) < 0)
			return false;
		at = status.parent;
	}
	return false;
}

static int check_self(struct preflight *p)
{
	if (is_own(p)) {
		preflight_reason(p, PREFLIGHT_SELF, "process %d is memattach itself", (int)p->pid);
		return preflight_remedy(p, "pick another process");
	}
	if (!is_ancestor(p->pid))
		return 0;
	preflight_reason(p, PREFLIGHT_SELF,
			 "process %d (%s) started this memattach and waits for it", (int)p->pid,
			 p->status.name);
	return preflight_remedy(p, "run memattach from another terminal or service");
}

/* Kernels before 6.9 have no Kthread: their kernel threads are children of kthreadd. */
static int check_kernel_thread(struct preflight *p)
{
	if (p->status.has_memory)
		return 0;
	if (!p->status.kernel_thread && p->status.parent != 2 && p->pid != 2)
		return -ESRCH; /* in exit, its memory already gone */
	preflight_reason(p, PREFLIGHT_KERNEL_THREAD, "process %d (%s) is a kernel thread",
			 (int)p->pid, p->status.name);
	return preflight_remedy(p, "pick a program: the kernel's memory is not malloc's");
}

static int check_tracer(struct preflight *p)
{
	struct proc_thread_status tracer = { .name = "?" };

	if (p->status.tracer == 0)
		return 0;
	if (proc_read_status(p->status.tracer, &tracer) < 0)
		(void)snprintf(tracer.name, sizeof(tracer.name), "?");
	preflight_reason(p, PREFLIGHT_TRACED, "process %d (%s) is being traced by process %d (%s)",
			 (int)p->pid, p->status.name, (int)p->status.tracer, tracer.name);
	return preflight_remedy(p, "end or detach that tracer first");
}

/* Opens a file of the live thread; the descriptor or -errno. */
static int open_thread_file(const struct preflight *p, const char *file, int flags)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)p->pid, (int)p->tid, file);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

static int check_access(struct preflight *p)
{
	_cleanup_fd_ int mem = open_thread_file(p, "mem", O_RDONLY);
	_cleanup_fd_ int maps = -1;

	if (mem == -EACCES || mem == -EPERM)
		return preflight_refuse_access(p);
	if (mem < 0)
		return mem;
	maps = open_thread_file(p, "maps", O_RDONLY);
	return maps < 0 ? maps : procmaps_read(maps, &p->maps);
}

static int check_stopped(struct preflight *p)
{
	if (p->status.state != 'T' && p->status.state != 't')
		return 0;
	preflight_reason(p, PREFLIGHT_STOPPED, "process %d (%s) is stopped", (int)p->pid,
			 p->status.name);
	return preflight_remedy(p, "let it continue first: kill -CONT %d", (int)p->pid);
}

static int check_frozen(struct preflight *p)
{
	if (!proc_find_frozen(p->pid))
		return 0;
	preflight_reason(p, PREFLIGHT_FROZEN, "process %d (%s) is frozen by its control group",
			 (int)p->pid, p->status.name);
	return preflight_remedy(p, "thaw it first: docker unpause, systemctl thaw, or 0 in its "
				   "group's cgroup.freeze");
}

/* The first bytes of an ELF header, up to and with e_machine. */
static int read_elf_ident(const char *path, unsigned char ident[20])
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	return read(fd, ident, 20) == 20 ? 0 : -EIO;
}

/* The same class and machine as our own program, without naming any architecture. */
static int check_architecture(struct preflight *p)
{
	unsigned char ours[20], theirs[20];
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)p->pid);
	if (read_elf_ident("/proc/self/exe", ours) < 0 || read_elf_ident(path, theirs) < 0)
		return 0; /* the analyst looks at the mapped image again */
	if (memcmp(ours, theirs, EI_DATA + 1) == 0 && memcmp(ours + 18, theirs + 18, 2) == 0)
		return 0;
	preflight_reason(
		p, PREFLIGHT_ARCHITECTURE,
		"process %d (%s) is a %s-bit program of another architecture (ELF machine %u)",
		(int)p->pid, p->status.name, theirs[EI_CLASS] == ELFCLASS32 ? "32" : "64",
		theirs[18] | (unsigned int)theirs[19] << 8);
	return preflight_remedy(p, "only programs built like memattach itself can be watched");
}

static int check_shadow_stack(struct preflight *p)
{
	if (!p->status.shadow_stack)
		return 0;
	preflight_reason(p, PREFLIGHT_SHADOW_STACK, "process %d (%s) has a hardware shadow stack",
			 (int)p->pid, p->status.name);
	return preflight_remedy(
		p, "restart it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off in its environment");
}

static int refuse_strict_seccomp(struct preflight *p, pid_t tid)
{
	preflight_reason(p, PREFLIGHT_SECCOMP_STRICT,
			 "thread %d of process %d (%s) is in strict seccomp mode", (int)tid,
			 (int)p->pid, p->status.name);
	return preflight_remedy(p, "nothing: any system call of ours would kill it");
}

/* Every thread has its own filters. */
static int check_seccomp(struct preflight *p)
{
	_cleanup_free_ pid_t *tids = NULL;
	int n = proc_list_threads(p->pid, &tids);

	if (n < 0)
		return n;
	p->report->threads = (uint32_t)n;
	for (int i = 0; i < n; i++) {
		struct proc_thread_status status;

		if (proc_read_thread_status(p->pid, tids[i], &status) < 0)
			continue;
		if (status.seccomp == 1)
			return refuse_strict_seccomp(p, tids[i]);
		p->report->needs_filter_check |= status.seccomp == 2;
	}
	return 0;
}

static int check_attached(struct preflight *p)
{
	for (size_t i = 0; i < p->maps.count; i++)
		p->report->attached |= p->maps.map[i].deleted &&
				       memfd_path_is_ours(p->maps.map[i].path);
	if (!p->report->attached || p->options->expect_attached)
		return 0;
	preflight_reason(p, PREFLIGHT_ATTACHED, "memattach is already in process %d (%s)",
			 (int)p->pid, p->status.name);
	return preflight_remedy(p, "end the other memattach; if none runs: memattach cleanup -p %d",
				(int)p->pid);
}

/* Waits uninterruptibly in a call that can create a child which borrows the memory. */
static bool waits_for_vfork(pid_t pid, pid_t tid)
{
	struct proc_thread_syscall call;
	struct proc_thread_status status;

	if (proc_read_thread_status(pid, tid, &status) < 0 || status.state != 'D' ||
	    proc_read_thread_syscall(pid, tid, &call) < 0 || call.running)
		return false;
#ifdef SYS_vfork
	if (call.number == SYS_vfork)
		return true;
#endif
	/* clone3 has its flags in memory, but waits like this for nothing else. */
	return call.number == SYS_clone3 ||
	       (call.number == SYS_clone && (call.argument[0] & CLONE_VFORK));
}

/* A thread that waits for a vfork child, and for which: the count tells one wait from the next. */
struct vfork_wait {
	pid_t tid;		/* 0: none waits */
	uint64_t run_count;
};

static struct vfork_wait find_vfork_wait(pid_t pid)
{
	_cleanup_free_ pid_t *tids = NULL;
	int n = proc_list_threads(pid, &tids);
	struct vfork_wait wait = { 0, 0 };

	for (int i = 0; !wait.tid && i < n; i++) {
		if (!waits_for_vfork(pid, tids[i]))
			continue;
		wait.tid = tids[i];
		if (proc_read_run_count(pid, tids[i], &wait.run_count) < 0)
			wait.run_count = 0;	/* not counted here: taken for the same wait */
	}
	return wait;
}

/* A spawn is over in a moment; only one that lasts is refused, not a program that spawns a lot. */
static int check_vfork(struct preflight *p)
{
	const struct timespec pause = { .tv_nsec = VFORK_PAUSE_NS };
	struct vfork_wait last = { 0, 0 }, now;
	int same = 0;

	for (int looks = 0; looks < VFORK_LOOKS; looks++) {
		now = find_vfork_wait(p->pid);
		if (!now.tid)
			return 0;
		same = now.tid == last.tid && now.run_count == last.run_count ? same + 1 : 0;
		if (same == VFORK_SAME_LOOKS) {
			preflight_reason(
				p, PREFLIGHT_VFORK,
				"process %d (%s) waits for a vfork child that has not called exec",
				(int)p->pid, p->status.name);
			return preflight_remedy(p,
						"try again when the child has started its program");
		}
		last = now;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static preflight_check_fn *const checks[] = {
	check_ended,
	check_dumping,
	check_self,
	check_kernel_thread,
	check_tracer,
	check_access,
	check_stopped,
	check_frozen,
	check_architecture,
	check_shadow_stack,
	check_seccomp,
	preflight_check_instrumented,
	preflight_check_go,
	check_attached,
	check_vfork,
	preflight_check_memory,
	preflight_check_locked_memory,
	preflight_check_descriptors,
};

static void preflight_done(struct preflight *preflight)
{
	procmaps_done(&preflight->maps);
}

int preflight_check(const struct pidref *target, const struct preflight_options *options,
		    struct preflight_report *ret)
{
	struct preflight_report report = { 0 };
	_cleanup_(preflight_done) struct preflight p = {
		.pid = target->pid,
		.options = options,
		.report = &report,
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(checks); i++)
		r = checks[i](&p);
	/* Whatever was read by number counts only if the number still is the target's. */
	if (report.code != PREFLIGHT_ZOMBIE && !pidref_alive(target))
		r = -ESRCH;
	if (r == -ESRCH)
		r = refuse_gone(&p);
	if (r < 0)
		return r;
	*ret = report;
	return 0;
}

int preflight_open(pid_t pid, struct pidref *ret_ref, struct preflight_report *ret)
{
	struct preflight_report report = { 0 };
	struct preflight p = { .pid = pid, .report = &report };
	int r = pidref_open(pid, ret_ref);

	if (r != -ESRCH)
		return r;
	if (proc_read_status(pid, &p.status) == 0 && p.status.process != pid) {
		preflight_reason(&p, PREFLIGHT_THREAD_ID, "%d is a thread of process %d (%s)",
				 (int)pid, (int)p.status.process, p.status.name);
		preflight_remedy(&p, "use the id of the process: -p %d", (int)p.status.process);
	} else {
		refuse_gone(&p);
	}
	*ret = report;
	return -ESRCH;
}

int preflight_explain_denied(const struct pidref *target, struct preflight_report *ret)
{
	struct preflight_report report = { 0 };
	struct preflight p = { .pid = target->pid, .tid = target->pid, .report = &report };
	int r = proc_read_status(target->pid, &p.status);

	if (r < 0)
		return r;
	if (check_tracer(&p) == 0)
		preflight_refuse_access(&p);
	*ret = report;
	return 0;
}
