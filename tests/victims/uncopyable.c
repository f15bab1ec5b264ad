/* SPDX-License-Identifier: MIT */
/*
 * uncopyable.c - processes of which no copy may be made, each for another reason.
 *
 *	uncopyable --kind=KIND
 *
 * userfaultfd	has one, which would have to answer for the copy's pages, too
 * errno, kill	a seccomp filter refuses clone, or ends the process at it
 * nproc	its user may have a few more processes only (RLIMIT_NPROC, as nobody)
 * pidns	its next child founds a pid namespace: when that ends, it can't fork any more
 * share	another process shares its memory (CLONE_VM)
 * sparse	has reserved terabytes, as some runtimes do; that is no reason
 * file		maps half a terabyte of a file, to write to it privately
 * kept		keeps memory from its children (MADV_DONTFORK); one block is lost
 * remapped	a thread maps and unmaps the same memory in turn; one block is lost
 * Commands: 'q' ends and prints "verdict ok|failed": pidns must still be able to fork, the
 * others see that their waits were never interrupted. A kind that can't be had here
 * prints "ready none".
 */
#include "tests/victims/victim.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES	65536
#define NOBODY		65534

static void not_here(void)
{
	victim_say("ready none\n");
	_exit(0);
}

static void begin_userfaultfd(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0)
		not_here();
}

static void refuse_clone(unsigned verdict)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, verdict),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		victim_fail("seccomp");
}

static void begin_errno(void) { refuse_clone(SECCOMP_RET_ERRNO | EPERM); }
static void begin_kill(void) { refuse_clone(SECCOMP_RET_KILL_PROCESS); }

static void begin_nproc(void)
{
	struct rlimit few = { 10, 10 };	/* a copy would not be refused by the kernel */

	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	    setresuid(NOBODY, NOBODY, NOBODY) < 0)
		not_here();
	if (setrlimit(RLIMIT_NPROC, &few) < 0)
		victim_fail("RLIMIT_NPROC");
	victim_setup();		/* the change of user has undone it */
}

static void begin_pidns(void)
{
	if (unshare(CLONE_NEWPID) < 0)
		not_here();
}

static int wait_for_end(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	while (pause() < 0)	/* as it always is */
		;
	return 0;
}

static pid_t sharer;

static void begin_share(void)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	if (stack == MAP_FAILED)
		victim_fail("mmap");
	sharer = clone(wait_for_end, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);
	if (sharer < 0)
		victim_fail("clone");
}

static void begin_sparse(void)
{
	char *memory = mmap(NULL, 4ull << 40, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		not_here();
	memory[1ull << 40] = 1;
}

static void begin_file(void)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	off_t bytes = 512ll << 30;

	if (fd < 0 || ftruncate(fd, bytes) < 0 ||
	    mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd,
		 0) == MAP_FAILED)
		not_here();
}

/* Nothing else is near, with which the kernel would make one mapping of it. */
#define MAPPED_PLACE	((void *)0x200000000000ul)
#define MAPPED_BYTES	(1ul << 20)
#define MAPPED_NS	300000		/* less than from a copy to the next look at the maps */

static void map_place(void)
{
	void *memory = mmap(MAPPED_PLACE, MAPPED_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (memory != MAPPED_PLACE)
		victim_fail("mmap");
	memset(memory, 1, MAPPED_BYTES);
}

static void __attribute__((noinline)) lose(void)
{
	char *volatile block = malloc(4000);

	memset(block, 1, 4000);
	block = NULL;
}

static void begin_kept(void)
{
	map_place();
	if (madvise(MAPPED_PLACE, MAPPED_BYTES, MADV_DONTFORK) < 0)
		victim_fail("MADV_DONTFORK");
	lose();
}

static void *remap(void *unused)
{
	struct timespec time = { .tv_nsec = MAPPED_NS };

	(void)unused;
	for (;; nanosleep(&time, NULL)) {
		munmap(MAPPED_PLACE, MAPPED_BYTES);
		nanosleep(&time, NULL);	/* here it should be copied, and nowhere else looked at */
		map_place();
	}
	return NULL;
}

static void begin_remapped(void)
{
	pthread_t thread;

	map_place();
	lose();
	if (pthread_create(&thread, NULL, remap, NULL))
		victim_fail("pthread_create");
}

static const struct {
	const char *name;
	void (*begin)(void);
} kinds[] = {
	{ "userfaultfd", begin_userfaultfd }, { "errno", begin_errno }, { "kill", begin_kill },
	{ "nproc", begin_nproc }, { "pidns", begin_pidns }, { "share", begin_share },
	{ "sparse", begin_sparse }, { "file", begin_file },
	{ "kept", begin_kept }, { "remapped", begin_remapped },
};

/* As the init of the new namespace; it would be ENOMEM if there had been one before. */
static int can_fork(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char *argv[])
{
	const char *kind = victim_option(argv, "kind", "");
	int good;

	(void)argc;
	victim_setup();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, kind) == 0)
			kinds[i].begin();
	victim_ready();
	while (victim_await() != 'q')
		;
	if (sharer) {
		kill(sharer, SIGKILL);
		waitpid(sharer, NULL, 0);
	}
	good = victim_interrupts() == 0 && (strcmp(kind, "pidns") != 0 || can_fork());
	victim_say("verdict %s\n", good ? "ok" : "failed");
	return good ? 0 : 1;
}
