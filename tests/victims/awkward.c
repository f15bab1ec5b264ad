/* SPDX-License-Identifier: MIT */
/*
 * awkward.c - processes that an attach could harm though they do nothing wrong.
 *
 *	awkward --kind=KIND
 *
 * altstack	'f': a thread faults in the middle of realloc, and its handler waits on an
 *		alternate stack; "fault ok" once it does. 'r': the handler returns;
 *		"return ok" once realloc has, with the block's contents intact
 * localstack	the same, the alternate stack being an array in one of the thread's own frames:
 *		what was interrupted lies below the handler's stack pointer
 * share	a process that shares our memory (CLONE_VM) allocates without a pause;
 *		'k' ends it: "child ok"
 * spawn	vfork children that allocate, and posix_spawn, without a pause
 * leader	the main thread has ended, workers go on
 * worker	one thread alone has a seccomp filter: mmap and memfd_create kill the process
 * norestart	a filter kills at restart_syscall; one thread sleeps for long
 * smallstack	threads with 64 KiB of stack wait; the main thread alone has more, and polls
 * ending	threads allocate, wait a few milliseconds, and end; others take their place
 * deep		one thread computes, then holds a block further down its stack in a call
 * Commands of all: 'q' ends and prints "verdict ok|failed".
 * Rejected: more kinds of processes.c, which is about relatives and states; these
 * need commands of their own.
 */
#include "tests/victims/victim.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE		4096
#define FAULT_BYTES	(256u << 10)
#define GROWN_BYTES	(2u << 20)
#define STACK_BYTES	(256u << 10)
#define ALLOCATORS	3
#define ENDING		16
#define DEEP_WORDS	1024
#define DEEP_BYTES	3000

extern char **environ;

static atomic_int failures, stop;

static void pause_ms(long ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		;
}

/* Until *flag is not 0, for 20 seconds at the most. */
static int await_flag(atomic_int *flag)
{
	for (int tries = 0; !atomic_load(flag) && tries < 20000; tries++)
		pause_ms(1);
	return atomic_load(flag);
}

static pthread_t start_thread(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) != 0)
		victim_fail("pthread_create");
	return thread;
}

static void *memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		victim_fail("mmap");
	return p;
}

static void heap_round(unsigned char fill)
{
	unsigned char *block = malloc(victim_size(3000));

	if (!block)
		victim_fail("malloc");
	memset(block, fill, 3000);
	block = realloc(block, victim_size(100000));
	if (!block || block[0] != fill || block[2999] != fill)
		atomic_fetch_add(&failures, 1);
	free(block);
}

static void *allocate(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop)) {
		heap_round(5);
		pause_ms(1);
	}
	return NULL;
}

/* --- altstack --------------------------------------------------------------- */

static struct {
	char *page;		/* within the block that is being copied */
	atomic_int wanted, inside, go, done;
} fault;

/* Waits while realloc is in the middle of its work, on a stack of its own. */
static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	if ((char *)info->si_addr < fault.page || (char *)info->si_addr >= fault.page + PAGE)
		_exit(4);
	atomic_store(&fault.inside, 1);
	(void)await_flag(&fault.go);
	if (mprotect(fault.page, PAGE, PROT_READ | PROT_WRITE) < 0)
		_exit(4);
}

static void fault_round(void)
{
	char *block = malloc(FAULT_BYTES), *neighbour = malloc(1000);

	if (!block || !neighbour)
		victim_fail("malloc");
	memset(block, 7, FAULT_BYTES);
	fault.page = (char *)(((uintptr_t)block + FAULT_BYTES / 2) & ~(uintptr_t)(PAGE - 1));
	if (mprotect(fault.page, PAGE, PROT_NONE) < 0)
		victim_fail("mprotect");
	block = realloc(block, GROWN_BYTES);
	for (size_t i = 0; i < FAULT_BYTES; i++)
		if (block[i] != 7)
			atomic_fetch_add(&failures, 1);
	free(block);
	free(neighbour);
	atomic_store(&fault.done, 1);
}

static void fault_rounds(void *alternate)
{
	stack_t stack = { .ss_sp = alternate, .ss_size = STACK_BYTES };
	struct sigaction action = { .sa_sigaction = on_fault,
				    .sa_flags = SA_ONSTACK | SA_SIGINFO };

	/* Blocks of the heap are copied when they grow; mappings would be moved. */
	if (mallopt(M_MMAP_THRESHOLD, 16 << 20) != 1 || sigaltstack(&stack, NULL) < 0 ||
	    sigaction(SIGSEGV, &action, NULL) < 0)
		victim_fail("altstack");
	while (!atomic_load(&stop)) {
		heap_round(3);
		if (atomic_exchange(&fault.wanted, 0))
			fault_round();
		pause_ms(1);
	}
}

static void *fault_thread(void *unused)
{
	(void)unused;
	fault_rounds(memory(STACK_BYTES));
	return NULL;
}

static void *fault_thread_on_local_stack(void *unused)
{
	char alternate[STACK_BYTES];

	(void)unused;
	fault_rounds(alternate);
	return NULL;
}

static void fault_begin(void)
{
	atomic_store(&fault.inside, 0);
	atomic_store(&fault.go, 0);
	atomic_store(&fault.done, 0);
	atomic_store(&fault.wanted, 1);
	victim_say("fault %s\n", await_flag(&fault.inside) ? "ok" : "failed");
}

static void fault_end(void)
{
	atomic_store(&fault.go, 1);
	victim_say("return %s\n",
		   await_flag(&fault.done) && !atomic_load(&failures) ? "ok" : "failed");
}

static void answer_faults(pthread_t thread)
{
	char command;

	heap_round(1);
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 'f')
			fault_begin();
		else
			fault_end();
	}
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
}

static void run_altstack(void) { answer_faults(start_thread(fault_thread)); }
static void run_localstack(void) { answer_faults(start_thread(fault_thread_on_local_stack)); }

/* --- share ------------------------------------------------------------------ */

/* Our thread pointer is the child's, too: we must not allocate while it lives. */
static int share_child(void *unused)
{
	(void)unused;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return 9;
	while (!atomic_load(&stop))
		heap_round(9);
	return 0;
}

static void run_share(void)
{
	char *stack = memory(STACK_BYTES);
	int status = -1;
	pid_t child = clone(share_child, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);

	if (child < 0)
		victim_fail("clone");
	victim_ready();
	while (victim_await() != 'k')
		;
	atomic_store(&stop, 1);
	if (waitpid(child, &status, 0) != child || status != 0)
		atomic_fetch_add(&failures, 1);
	victim_say("child %s 0x%x\n", status == 0 ? "ok" : "failed", (unsigned)status);
	while (victim_await() != 'q')
		;
}

/* --- spawn ------------------------------------------------------------------ */

static void judge(pid_t pid)
{
	int status = -1;

	if (waitpid(pid, &status, 0) != pid || status != 0)
		atomic_fetch_add(&failures, 1);
}

/* The thread waits in vfork while the child is inside our hooks. */
static void *vfork_thread(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop)) {
		pid_t pid = vfork();

		if (pid == 0) {
			for (int i = 0; i < 200; i++)
				heap_round(2);
			_exit(0);
		}
		if (pid < 0)
			victim_fail("vfork");
		judge(pid);
	}
	return NULL;
}

static void *spawn_thread(void *unused)
{
	char name[] = "true", *arguments[] = { name, NULL };
	pid_t pid;

	(void)unused;
	while (!atomic_load(&stop)) {
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) != 0)
			victim_fail("posix_spawn");
		judge(pid);
		heap_round(6);
	}
	return NULL;
}

static void run_spawn(void)
{
	pthread_t thread[] = { start_thread(vfork_thread), start_thread(spawn_thread),
			       start_thread(allocate) };

	victim_ready();
	while (victim_await() != 'q')
		;
	atomic_store(&stop, 1);
	for (size_t i = 0; i < sizeof(thread) / sizeof(*thread); i++)
		pthread_join(thread[i], NULL);
}

/* --- leader ----------------------------------------------------------------- */

static void say_verdict(void)
{
	int failed = atomic_load(&failures);

	victim_say("verdict %s %d\n", failed ? "failed" : "ok", failed);
}

static void *follow(void *leader)
{
	pthread_join(*(pthread_t *)leader, NULL);
	victim_ready();
	while (victim_await() != 'q')
		;
	say_verdict();
	_exit(atomic_load(&failures) ? 1 : 0);
}

static void run_leader(void)
{
	static pthread_t self;
	pthread_t follower;

	self = pthread_self();
	for (int i = 0; i < ALLOCATORS; i++)
		start_thread(allocate);
	if (pthread_create(&follower, NULL, follow, &self) != 0)
		victim_fail("pthread_create");
	pthread_exit(NULL);
}

/* --- filters ---------------------------------------------------------------- */

/* In this thread and those that it creates, calls first and second end the process. */
static void filter_install(unsigned first, unsigned second)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		victim_fail("seccomp");
}

static atomic_int filtered;

static void *filtered_thread(void *unused)
{
	(void)unused;
	filter_install(SYS_mmap, SYS_memfd_create);
	atomic_store(&filtered, 1);
	for (;;)
		poll(NULL, 0, -1);
	return NULL;
}

static void run_worker(void)
{
	start_thread(filtered_thread);
	if (!await_flag(&filtered))
		victim_fail("no filter");
	victim_ready();
	while (victim_await() != 'q')
		;
}

/* Any EINTR is wrong: nobody sends a signal. */
static void *sleep_thread(void *unused)
{
	struct timespec time = { .tv_sec = 1000 };

	(void)unused;
	if (nanosleep(&time, NULL) < 0)
		atomic_fetch_add(&failures, 1);
	return NULL;
}

static void run_norestart(void)
{
	filter_install(SYS_restart_syscall, SYS_restart_syscall);
	start_thread(sleep_thread);
	victim_ready();
	while (victim_await() != 'q')
		;
}

static void *wait_thread(void *unused)
{
	(void)unused;
	for (;;)
		poll(NULL, 0, -1);
	return NULL;
}

static void run_smallstack(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, 64u << 10))
		victim_fail("pthread_attr_setstacksize");
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread, &attributes, wait_thread, NULL) != 0)
			victim_fail("pthread_create");
	victim_ready();
	do
		while (poll(&input, 1, 500) == 0)
			;
	while (victim_await() != 'q');
}

static void *ending_thread(void *number)
{
	char *volatile block = malloc(100);

	poll(NULL, 0, (int)(intptr_t)number % 4);
	free(block);
	return NULL;
}

static void *replace_thread(void *unused)
{
	pthread_t thread[ENDING];

	(void)unused;
	while (!atomic_load(&stop)) {
		for (intptr_t i = 0; i < ENDING; i++)
			if (pthread_create(&thread[i], NULL, ending_thread, (void *)i) != 0)
				victim_fail("pthread_create");
		for (intptr_t i = 0; i < ENDING; i++)
			pthread_join(thread[i], NULL);
	}
	return NULL;
}

static void run_ending(void)
{
	start_thread(replace_thread);
	victim_ready();
	while (victim_await() != 'q')
		;
	atomic_store(&stop, 1);
}

/* The block is known to this frame alone, which is below everything at the time of a spin. */
static void __attribute__((noinline)) hold_deep(void)
{
	char *volatile frame[DEEP_WORDS];

	for (int i = 0; i < DEEP_WORDS; i++)
		frame[i] = NULL;
	frame[0] = malloc(DEEP_BYTES);
	(void)syscall(SYS_getppid);
	free(frame[0]);
}

/* What a call left in the registers that calls may change. */
static void forget_registers(void)
{
	__asm__ volatile("xor %%eax, %%eax\n xor %%ecx, %%ecx\n xor %%edx, %%edx\n"
			 "xor %%esi, %%esi\n xor %%edi, %%edi\n xor %%r8d, %%r8d\n"
			 "xor %%r9d, %%r9d\n xor %%r10d, %%r10d\n xor %%r11d, %%r11d\n"
			 ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
}

/* The one thread there is: it is never found blocked. */
static void run_deep(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	victim_ready();
	do {
		for (int i = 0; i < 100; i++) {
			hold_deep();
			forget_registers();
			for (volatile int spin = 0; spin < 100000; spin++)
				;
		}
	} while (poll(&input, 1, 0) == 0);
	while (victim_await() != 'q')
		;
}

int main(int argc, char *argv[])
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = { { "altstack", run_altstack }, { "localstack", run_localstack },
		      { "share", run_share },
		      { "spawn", run_spawn },	    { "leader", run_leader },
		      { "worker", run_worker },	    { "norestart", run_norestart },
		      { "smallstack", run_smallstack }, { "ending", run_ending },
		      { "deep", run_deep } };
	const char *kind = victim_option(argv, "kind", "");

	(void)argc;
	victim_setup();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, kind) != 0)
			continue;
		kinds[i].run();
		say_verdict();
		_exit(atomic_load(&failures) ? 1 : 0);
	}
	victim_fail("unknown --kind");
}
