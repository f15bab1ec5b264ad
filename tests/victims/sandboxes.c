/* SPDX-License-Identifier: MIT */
/*
 * sandboxes.c - a process that confines itself when it is told to, as daemons do after set-up.
 *
 *	sandboxes --by=prctl|syscall|locking|strict|notsc|dispatch
 *
 * prctl	a filter of the thread that allocates, by prctl: what it does not list ends all
 * syscall	the same filter, of all threads, by syscall
 * locking	likewise, but futex is in the list, so that dlclose may be called
 * strict	that thread goes into strict seccomp mode
 * notsc	that thread may not read the time stamp counter any more
 * dispatch	that thread's system calls are libc's, or end in a SIGSYS, which is a failure
 * It allocates all the time, on a stack whose end is in no list, so that hooks ask the kernel for
 * it. Commands: 's' does it, "sandbox ok"; 'c' "check ok|failed", whether the thread goes on; 'q'
 * "verdict ok|failed".
 */
#include "tests/victims/victim.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#define DISPATCH_ON	1
#define BLOCK		1
#define LOCKING		SYS_exit	/* the last of the list; once more, or SYS_futex */
#define STACK_BYTES	65536
#define BLOCKS		2000
#define TRIES		1000

static atomic_int failures, asked, done;
static atomic_ulong rounds;
static volatile char selector = BLOCK;
static ucontext_t on_thread, on_stack;

#define LET(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	LET(SYS_read), LET(SYS_write), LET(SYS_nanosleep), LET(SYS_clock_nanosleep),
	LET(SYS_mmap), LET(SYS_munmap), LET(SYS_madvise), LET(SYS_mprotect), LET(SYS_brk),
	LET(SYS_rt_sigprocmask), LET(SYS_rt_sigreturn), LET(SYS_exit), LET(SYS_exit_group),
	LET(LOCKING),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

static void on_sigsys(int signal)
{
	(void)signal;
	atomic_fetch_add(&failures, 1);
}

static bool dispatch(void)
{
	uint64_t around = (uint64_t)(uintptr_t)nanosleep & ~0xfffffull;

	return prctl(PR_SET_SYSCALL_USER_DISPATCH, DISPATCH_ON, around - (8ul << 20), 16ul << 20,
		     &selector) == 0;
}

static bool confine(const char *by)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return false;
	if (strcmp(by, "prctl") == 0)
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
	if (strcmp(by, "locking") == 0)
		code[sizeof(code) / sizeof(*code) - 3].k = SYS_futex;
	if (strcmp(by, "syscall") == 0 || strcmp(by, "locking") == 0)
		return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			       &program) == 0;
	if (strcmp(by, "strict") == 0)
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0;
	if (strcmp(by, "notsc") == 0)
		return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0;
	return dispatch();
}

static VICTIM_FRAME void allocate(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		char *block = victim_seen(malloc(victim_size(100 + i)));

		if (block)
			block[0] = 1;
		free(block);
	}
}

static void allocate_for_ever(void)
{
	for (;;) {
		allocate();
		(void)swapcontext(&on_stack, &on_thread);
	}
}

static void rest(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	(void)nanosleep(&pause, NULL);
}

/* In strict mode it makes no system call any more, as swapcontext would. */
static void confine_now(const char *by)
{
	if (!confine(by))
		_exit(77);
	atomic_store(&done, 1);
	while (strcmp(by, "strict") == 0) {
		allocate();
		atomic_fetch_add(&rounds, 1);
	}
}

static void *work(void *by)
{
	void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (stack == MAP_FAILED || getcontext(&on_stack) < 0)
		victim_fail("no stack");
	on_stack.uc_stack.ss_sp = stack;
	on_stack.uc_stack.ss_size = STACK_BYTES;
	makecontext(&on_stack, allocate_for_ever, 0);
	for (;;) {
		if (atomic_load(&asked) && !atomic_load(&done))
			confine_now(by);
		(void)swapcontext(&on_thread, &on_stack);
		atomic_fetch_add(&rounds, 1);
		rest();
	}
	return NULL;
}

static bool goes_on(void)
{
	unsigned long before = atomic_load(&rounds);

	for (int i = 0; i < TRIES; i++) {
		if (atomic_load(&rounds) - before > 2)
			return true;
		rest();
	}
	return false;
}

static void sandbox(void)
{
	atomic_store(&asked, 1);
	for (int i = 0; i < TRIES && !atomic_load(&done); i++)
		rest();
	victim_say("sandbox %s\n", atomic_load(&done) ? "ok" : "failed");
}

int main(int argc, char *argv[])
{
	const struct sigaction action = { .sa_handler = on_sigsys };
	const char *by = victim_option(argv, "by", "prctl");
	pthread_t thread;
	char command;

	(void)argc;
	victim_setup();
	(void)sigaction(SIGSYS, &action, NULL);
	if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)by) != 0)
		victim_fail("pthread_create");
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 's')
			sandbox();
		if (command == 'c')
			victim_say("check %s\n", goes_on() ? "ok" : "failed");
	}
	victim_say("verdict %s\n", atomic_load(&failures) ? "failed" : "ok");
	_exit(atomic_load(&failures) ? 1 : 0);	/* join would be a call that is not listed */
}
