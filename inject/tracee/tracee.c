/* SPDX-License-Identifier: MIT */
/*
 * tracee.c - ptrace behind one wrapper; the identifier appears in no other file.
 *
 * Every request that changes something is followed by a step point, so that tests
 * can kill us between any two of them. Waiting goes by waitpid(tid) and SIGCHLD, never by
 * waitpid(-1), whose cost grows with the square of the number of tracees, and
 * never by polling, which would starve the tracee of its CPU when we run with
 * a real-time priority.
 */
#include "inject/tracee/tracee.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "inject/tracee/proc_status.h"
#include "inject/tracee/steps.h"

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif
#ifndef PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
#define PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211
#endif
#define NSEC 1000000000ull
#define TRIES 3

/* A request that only looks. */
static int query(unsigned int what, pid_t tid, unsigned long address, void *data)
{
	long result = ptrace((enum __ptrace_request)what, tid, address, data);

	return result < 0 ? -errno : (int)result;
}

/*
 * A request that changes the thread. One that fails has changed nothing, and is made again: on most
 * depends that a thread which stands runs on. That it is gone, or may not be traced, stays so.
 */
static int request(unsigned int what, pid_t tid, unsigned long address, void *data)
{
	int result = query(what, tid, address, data);

	for (int i = 1; result < 0 && result != -ESRCH && what != PTRACE_SEIZE && i < TRIES; i++)
		result = query(what, tid, address, data);
	if (result >= 0)
		step_point();
	return result;
}

uint64_t tracee_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC + (uint64_t)now.tv_nsec;
}

int tracee_init(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 || signal(SIGCHLD, SIG_DFL) == SIG_ERR)
		return -errno;
	return 0;
}

int tracee_seize(pid_t tid)
{
	/* the kernel refuses its io_uring workers only; others it seizes, and they never stop */
	if (proc_is_worker(tid, tid))
		return -EPERM;
	return request(PTRACE_SEIZE, tid, 0, (void *)(unsigned long)PTRACE_O_TRACESYSGOOD);
}

int tracee_seize_at_exec(pid_t tid)
{
	return request(PTRACE_SEIZE, tid, 0,
		       (void *)(unsigned long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC));
}

int tracee_interrupt(pid_t tid)
{
	return request(PTRACE_INTERRUPT, tid, 0, NULL);
}

int tracee_run_to_syscall(pid_t tid)
{
	return tracee_pass_to_syscall(tid, 0);
}

int tracee_pass_to_syscall(pid_t tid, int signal)
{
	return request(PTRACE_SYSCALL, tid, 0, (void *)(long)signal);
}

int tracee_continue(pid_t tid, int signal)
{
	return request(PTRACE_CONT, tid, 0, (void *)(long)signal);
}

int tracee_step(pid_t tid, int signal)
{
	return request(PTRACE_SINGLESTEP, tid, 0, (void *)(long)signal);
}

int tracee_listen(pid_t tid)
{
	return request(PTRACE_LISTEN, tid, 0, NULL);
}

int tracee_detach(pid_t tid, int signal)
{
	return request(PTRACE_DETACH, tid, 0, (void *)(long)signal);
}

static enum tracee_stop_kind syscall_stop_kind(pid_t tid)
{
	struct __ptrace_syscall_info info = { .op = 0 };

	if (ptrace((enum __ptrace_request)PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) < 0)
		return TRACEE_SYSCALL_ENTRY;
	return info.op == PTRACE_SYSCALL_INFO_EXIT ? TRACEE_SYSCALL_EXIT : TRACEE_SYSCALL_ENTRY;
}

static struct tracee_stop classify(pid_t tid, int status)
{
	int signal = WSTOPSIG(status);

	if (status >> 16 == PTRACE_EVENT_STOP) {
		bool group = signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN ||
			     signal == SIGTTOU;

		return (struct tracee_stop){ group ? TRACEE_GROUP_STOP : TRACEE_EVENT_STOP,
					     group ? signal : 0 };
	}
	if (status >> 16 == PTRACE_EVENT_CLONE || status >> 16 == PTRACE_EVENT_FORK ||
	    status >> 16 == PTRACE_EVENT_VFORK)
		return (struct tracee_stop){ TRACEE_CHILD, 0 };
	if (status >> 16 == PTRACE_EVENT_EXEC)
		return (struct tracee_stop){ TRACEE_EXEC, 0 };
	if (status >> 16 == PTRACE_EVENT_EXIT)
		return (struct tracee_stop){ TRACEE_END, 0 };
	if (signal == (SIGTRAP | 0x80))
		return (struct tracee_stop){ syscall_stop_kind(tid), 0 };
	return (struct tracee_stop){ TRACEE_SIGNAL, signal };
}

int tracee_wait_any(uint64_t deadline_ns)
{
	uint64_t now = tracee_now_ns();
	struct timespec left;
	sigset_t set;

	if (now >= deadline_ns)
		return -ETIME;
	left.tv_sec = (time_t)((deadline_ns - now) / NSEC);
	left.tv_nsec = (long)((deadline_ns - now) % NSEC);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigtimedwait(&set, NULL, &left);
	return 0;
}

int tracee_wait(pid_t tid, uint64_t deadline_ns, struct tracee_stop *ret)
{
	int status, error = 0;
	pid_t got;

	/* States: running (0), stopped (tid), ended (tid or ECHILD). */
	for (;;) {
		got = waitpid(tid, &status, __WALL | WNOHANG);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == ECHILD ? -ESRCH : -errno;
		if (got == tid)
			break;
		if (error)
			return error;
		error = tracee_wait_any(deadline_ns);
	}
	if (!WIFSTOPPED(status))
		return -ESRCH;
	*ret = classify(tid, status);
	return 0;
}

int tracee_write_word(pid_t tid, uint64_t address, uint64_t word)
{
	return query(PTRACE_POKEDATA, tid, address, (void *)word);
}

static int set_options(pid_t tid, unsigned long options)
{
	return request(PTRACE_SETOPTIONS, tid, 0, (void *)(options | PTRACE_O_TRACESYSGOOD));
}

int tracee_follow_children(pid_t tid, bool follow)
{
	return set_options(tid, follow ? PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
						 PTRACE_O_TRACEVFORK : 0);
}

int tracee_guard_end(pid_t tid)
{
	return set_options(tid, PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT);
}

int tracee_get_child(pid_t tid, pid_t *ret)
{
	unsigned long message = 0;
	int error = -EIO;

	for (int i = 0; error && error != -ESRCH && i < TRIES; i++)	/* said but here */
		error = query(PTRACE_GETEVENTMSG, tid, 0, &message);
	*ret = (pid_t)message;
	return error;
}

int tracee_die_with_us(pid_t child)
{
	return set_options(child, PTRACE_O_EXITKILL);
}

int tracee_kill(pid_t child)
{
	return query(PTRACE_KILL, child, 0, NULL);
}

int tracee_get_registers(pid_t tid, struct user_regs_struct *ret)
{
	return query(PTRACE_GETREGS, tid, 0, ret);
}

int tracee_set_registers(pid_t tid, const struct user_regs_struct *registers)
{
	struct user_regs_struct copy = *registers;

	return request(PTRACE_SETREGS, tid, 0, &copy);
}

int tracee_get_xstate(pid_t tid, void *buffer, size_t *bytes)
{
	struct iovec vector = { buffer, *bytes };
	int error = query(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &vector);

	if (error < 0)
		return error;
	*bytes = vector.iov_len;
	return 0;
}

int tracee_set_xstate(pid_t tid, const void *buffer, size_t bytes)
{
	struct iovec vector = { (void *)(uintptr_t)buffer, bytes };

	return request(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &vector);
}

int tracee_get_signal_mask(pid_t tid, uint64_t *ret)
{
	return query(PTRACE_GETSIGMASK, tid, sizeof(*ret), ret);
}

int tracee_set_signal_mask(pid_t tid, uint64_t mask)
{
	return request(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask);
}

int tracee_set_breakpoint(pid_t tid, uint64_t address)
{
	const unsigned long register0 = offsetof(struct user, u_debugreg[0]);
	const unsigned long control = offsetof(struct user, u_debugreg[7]);
	int error = request(PTRACE_POKEUSER, tid, control, NULL);

	if (!error && address)
		error = request(PTRACE_POKEUSER, tid, register0, (void *)address);
	if (!error && address)	/* enabled for this thread; on execution, one byte */
		error = request(PTRACE_POKEUSER, tid, control, (void *)1ul);
	return error;
}

/* include/uapi/linux/ptrace.h, struct ptrace_rseq_configuration (5.13 and later) */
struct rseq_configuration {
	uint64_t area;
	uint32_t bytes, signature, flags, pad;
};

int tracee_get_rseq(pid_t tid, uint64_t *ret_area)
{
	struct rseq_configuration configuration = { .area = 0 };
	int got = query(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(configuration), &configuration);

	if (got < 0)
		return got == -EIO || got == -EINVAL ? -EOPNOTSUPP : got;
	*ret_area = configuration.area;
	return 0;
}

/* include/uapi/linux/ptrace.h, struct ptrace_sud_config (6.4 and later) */
struct dispatch_configuration {
	uint64_t mode, selector, offset, length;
};

int tracee_may_dispatch(pid_t tid)
{
	struct dispatch_configuration configuration = { .mode = 0 };
	int got = query(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, tid, sizeof(configuration),
			&configuration);

	return got < 0 ? got : configuration.mode != 0;
}

bool tracee_dispatches_calls(pid_t tid, uint64_t *ret_selector)
{
	struct dispatch_configuration configuration = { .mode = 0 };
	int got = query(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, tid, sizeof(configuration),
			&configuration);

	*ret_selector = configuration.selector;
	return got >= 0 && configuration.mode != 0;
}

uint64_t tracee_get_refused_call(pid_t tid)
{
	siginfo_t info;

	if (query(PTRACE_GETSIGINFO, tid, 0, &info) < 0 || info.si_signo != SIGSYS)
		return 0;
	return (uint64_t)(uintptr_t)info.si_call_addr;
}

int tracee_get_seccomp_filter(pid_t tid, unsigned int index, void *filter)
{
	return query(PTRACE_SECCOMP_GET_FILTER, tid, index, filter);
}
