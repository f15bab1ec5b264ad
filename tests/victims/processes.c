/* SPDX-License-Identifier: MIT */
/*
 * processes.c - a process with awkward relatives, or in an awkward state.
 *
 *	processes --kind=KIND
 *
 * fork	children that allocate and live on for a while, always a few of them
 * vfork	vfork and exec of /bin/true in a loop
 * exec	'e' executes this program anew (with --after)
 * zombie	the printed pid is that of a child that nobody waits for
 * stopped	... of a child that stopped itself
 * traced	... of a child that this process traces
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
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN	4
#define CHILD_ROUNDS	300

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

/* --- states ----------------------------------------------------------------- */

static void child_in_state(const char *kind)
{
	if (strcmp(kind, "zombie") == 0)
		_exit(0);
	victim_setup();
	if (strcmp(kind, "stopped") == 0)
		raise(SIGSTOP);
	for (;;)
		pause();
}

static void await_state(const char *kind, pid_t pid)
{
	siginfo_t info;

	if (strcmp(kind, "zombie") == 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
		victim_fail("waitid");
	if (strcmp(kind, "stopped") == 0 && waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT) < 0)
		victim_fail("waitid");
	if (strcmp(kind, "traced") == 0 && ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		victim_fail("ptrace");
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
	       strcmp(kind, "traced") == 0;
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
