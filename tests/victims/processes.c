/* SPDX-License-Identifier: MIT */
/*
 * processes.c - a process with awkward relatives, or in an awkward state.
 *
 *	processes --kind=KIND
 *
 * fork	children that allocate and live on for a while, always a few of them
 * vfork	vfork and exec of /bin/true in a loop
 * waiting	sleeps uninterruptibly for a vfork child, which takes the commands
 * exec	'e' executes this program anew (with --after)
 * zombie	the printed pid is that of a child that nobody waits for
 * stopped	... of a child that stopped itself
 * traced	... of a child that this process traces
 * dumping	... of a child that writes a core dump of 4 GiB to the working folder
 * idle	waits
 * Commands: 'q' ends and prints "verdict ok|failed". Children that misbehave
 * (their heap was damaged, they died of a signal) make it fail.
 */
#include "tests/victims/victim.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN	4
#define CHILD_ROUNDS	300
#define DUMPED_BYTES	(16 << 20)
#define DUMPED_TIMES	256

static int failures;

/* 1 once a command waits on descriptor 0, asked at most every ms milliseconds. */
static int commanded(int ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, ms) > 0;
}

static void judge(int status)
{
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		failures++;
}

/* --- fork ------------------------------------------------------------------- */

static int heap_round(unsigned char fill)
{
	unsigned char *block[32];
	int wrong = 0;

	for (size_t i = 0; i < 32; i++) {
		block[i] = malloc(100 + 10 * i);
		memset(block[i], fill, 100 + 10 * i);
	}
	for (size_t i = 0; i < 32; i++) {
		wrong |= block[i][99 + 10 * i] != fill;
		free(block[i]);
	}
	return wrong;
}

static void child_main(void)
{
	int wrong = 0;

	victim_setup();	/* fork clears the parent-death signal */
	for (int round = 0; round < CHILD_ROUNDS; round++) {
		wrong |= heap_round((unsigned char)round);
		poll(NULL, 0, 1);
	}
	_exit(wrong);
}

static pid_t spawn_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		child_main();
	if (pid < 0)
		victim_fail("fork");
	return pid;
}

static void run_fork(void)
{
	int alive = 0, status;

	while (!commanded(1)) {
		failures += heap_round(7);
		while (alive < CHILDREN)
			alive += spawn_child() > 0;
		while (waitpid(-1, &status, WNOHANG) > 0) {
			judge(status);
			alive--;
		}
	}
	while (waitpid(-1, &status, 0) > 0)
		judge(status);
}

/* --- vfork ------------------------------------------------------------------ */

static void run_vfork(void)
{
	int status;

	while (!commanded(1)) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(9);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			victim_fail("vfork");
		judge(status);
		failures += heap_round(9);
	}
}

static void run_waiting(void)
{
	pid_t self = getpid(), pid = vfork();

	if (pid == 0) {
		victim_say("ready %d\n", (int)self);
		while (victim_await() != 'q')
			;
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		victim_fail("vfork");
}

/* --- states ----------------------------------------------------------------- */

/* Much to write, of little memory: the same pages everywhere. */
static void dump_much(void)
{
	struct rlimit limit;
	int fd = memfd_create("pages", 0);

	if (fd < 0 || ftruncate(fd, DUMPED_BYTES) < 0 || getrlimit(RLIMIT_CORE, &limit) < 0)
		victim_fail("memfd_create");
	limit.rlim_cur = limit.rlim_max;
	for (int i = 0; i < DUMPED_TIMES; i++) {
		char *pages = mmap(NULL, DUMPED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (pages == MAP_FAILED)
			victim_fail("mmap");
		memset(pages, i, i == 0 ? DUMPED_BYTES : 1);
	}
	if (setrlimit(RLIMIT_CORE, &limit) == 0)
		abort();
}

static int is_dumping(pid_t pid)
{
	char path[64], line[128];
	FILE *file;
	int dumping = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		dumping |= strcmp(line, "CoreDumping:\t1\n") == 0;
	if (file)
		fclose(file);
	return dumping;
}

static void child_in_state(const char *kind)
{
	if (strcmp(kind, "zombie") == 0)
		_exit(0);
	victim_setup();
	if (strcmp(kind, "stopped") == 0)
		raise(SIGSTOP);
	if (strcmp(kind, "dumping") == 0)
		dump_much();
	for (;;)
		pause();
}

static void await_state(const char *kind, pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	if (strcmp(kind, "zombie") == 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
		victim_fail("waitid");
	if (strcmp(kind, "stopped") == 0 && waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT) < 0)
		victim_fail("waitid");
	if (strcmp(kind, "traced") == 0 && ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		victim_fail("ptrace");
	while (strcmp(kind, "dumping") == 0 && !is_dumping(pid))
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		    info.si_pid == pid)
			victim_fail("no core is dumped");
}

static void run_state(const char *kind)
{
	pid_t pid = fork();

	if (pid < 0)
		victim_fail("fork");
	if (pid == 0)
		child_in_state(kind);
	await_state(kind, pid);
	victim_say("ready %d\n", (int)pid);
	while (victim_await() != 'q')
		;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* --- exec ------------------------------------------------------------------- */

static void run_exec(char *argv[])
{
	char *again[] = { argv[0], (char *)(size_t)"--kind=idle", (char *)(size_t)"--after=1",
			  NULL };

	if (victim_await() != 'e')
		return;
	execv("/proc/self/exe", again);
	victim_fail("execv");
}

static int is_state(const char *kind)
{
	return strcmp(kind, "zombie") == 0 || strcmp(kind, "stopped") == 0 ||
	       strcmp(kind, "traced") == 0 || strcmp(kind, "dumping") == 0;
}

int main(int argc, char *argv[])
{
	const char *kind = victim_option(argv, "kind", "idle");

	(void)argc;
	victim_setup();
	if (is_state(kind)) {
		run_state(kind);
		return 0;
	}
	if (strcmp(kind, "waiting") == 0) {
		run_waiting();
		return 0;
	}
	victim_ready();
	if (strcmp(kind, "fork") == 0)
		run_fork();
	else if (strcmp(kind, "vfork") == 0)
		run_vfork();
	else if (strcmp(kind, "exec") == 0)
		run_exec(argv);
	while (victim_await() != 'q')
		;
	victim_say("verdict %s %d\n", failures ? "failed" : "ok", failures);
	return failures ? 1 : 0;
}
