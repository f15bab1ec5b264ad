/* SPDX-License-Identifier: MIT */
/*
 * family.c - a parent with children of every kind, whose books are known: fork, fork and exec, exec
 * in place, children that end at once, a parent that ends.
 *
 *	family [--member=1|2]
 *
 * Commands: 'g' works; 'f' forks a child, 'e' one that calls exec at once (its program: this one,
 * as a member, which says "stopped ok PID" and stops itself first), 'v' the same by vfork, and says
 * "child ok PID" when it is there; 'd' forks a daemon
 * (twice, and who is in between ends at once), 'D' one that calls exec; 'n' forks 20 that end at
 * once: "ended ok 20"; 's' forks 120 that live for 0 to 60 ms, without waiting, and says "storm ok
 * 120" when all have ended; 'x' calls exec itself and says "ready PID" again; 'p' ends, its
 * children live on; 'q' ends, and has the children end first: "verdict ok|failed". Everybody works
 * when told (a parent by 'g', a child by SIGUSR1), once, and says "worked PID": KEPT blocks of
 * KEPT_BYTES are kept in keep(), TOSSED are allocated and freed in toss(). A child ends on SIGTERM
 * and says "gone ok|failed PID": what it kept is as it was.
 */
#include "tests/victims/victim.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT 100
#define KEPT_BYTES 1000
#define TOSSED 50
#define MAX_CHILDREN 128
#define STORM 120
#define CHILD_SECONDS 200	/* a child ends by itself when its test has gone */

static unsigned char *kept[KEPT];
static int works;
static pid_t child[MAX_CHILDREN];
static int children;
static volatile sig_atomic_t ending, working;

static void on_signal(int signal)
{
	if (signal == SIGTERM)
		ending = 1;
	else
		working = 1;
}

VICTIM_FRAME static void keep(void)
{
	for (int i = 0; i < KEPT; i++) {
		kept[i] = victim_seen(malloc(victim_size(KEPT_BYTES)));
		memset(kept[i], i, KEPT_BYTES);
	}
}

VICTIM_FRAME static void toss(void)
{
	for (int i = 0; i < TOSSED; i++)
		free(victim_seen(malloc(victim_size(200))));
}

static void work(void)
{
	for (int i = 0; i < KEPT && works; i++)
		free(kept[i]);
	works++;
	keep();
	toss();
	victim_say("worked %d\n", (int)getpid());
}

static int is_damaged(void)
{
	for (int i = 0; i < KEPT && works; i++)
		if (kept[i][0] != i || kept[i][KEPT_BYTES - 1] != i)
			return 1;
	return 0;
}

/* Until SIGTERM. Signals are only let in here. */
static void live(const char *word)
{
	sigset_t none;

	(void)sigemptyset(&none);
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	victim_allow_tracers();
	alarm(CHILD_SECONDS);
	victim_say("%s ok %d\n", word, (int)getpid());
	while (!ending) {
		(void)ppoll(NULL, 0, NULL, &none);
		if (working) {
			working = 0;
			work();
		}
	}
	victim_say("gone %s %d\n", is_damaged() ? "failed" : "ok", (int)getpid());
	_exit(is_damaged());
}

static void take_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)sigaction(SIGUSR1, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

static void become_member(const char *option)
{
	execl("/proc/self/exe", "family", option, NULL);
	_exit(99);
}

static void remember(pid_t pid)
{
	if (pid < 0 || children == MAX_CHILDREN)
		victim_fail("fork");
	child[children++] = pid;
}

static void start(char kind)
{
	pid_t pid = kind == 'v' ? vfork() : fork();

	if (pid == 0 && kind != 'f')
		become_member("--member=2");
	if (pid == 0) {
		children = 0;
		live("child");
	}
	remember(pid);
}

/* Nobody's child: it is to be ended by who reads its id. */
static void start_daemon(bool calls_exec)
{
	pid_t pid = fork();

	if (pid == 0 && fork() != 0)
		_exit(0);
	if (pid == 0) {
		children = 0;
		(void)setsid();
		if (calls_exec)
			become_member("--member=1");
		live("child");
	}
	if (waitpid(pid, NULL, 0) != pid)
		victim_fail("waitpid");
}

static void storm(void)
{
	pid_t pid[STORM];

	for (int i = 0; i < STORM; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			poll(NULL, 0, i % 4 * 20);
			_exit(0);
		}
		poll(NULL, 0, 1);
	}
	for (int i = 0; i < STORM; i++)
		if (waitpid(pid[i], NULL, 0) != pid[i])
			victim_fail("waitpid");
	victim_say("storm ok %d\n", STORM);
}

static void start_short_ones(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (waitpid(pid, NULL, 0) != pid)
			victim_fail("waitpid");
	}
	victim_say("ended ok 20\n");
}

static int end_children(void)
{
	int status, failures = 0;

	for (int i = 0; i < children; i++)
		kill(child[i], SIGTERM);
	for (int i = 0; i < children; i++)
		failures += waitpid(child[i], &status, 0) != child[i] || status != 0;
	return failures;
}

int main(int argc, char *argv[])
{
	int failures;
	char command;

	(void)argc;
	victim_setup();
	take_signals();
	if (victim_number(argv, "member", 0) == 2) {
		victim_say("stopped ok %d\n", (int)getpid());
		(void)raise(SIGSTOP);
	}
	if (victim_number(argv, "member", 0))
		live("child");
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 'g')
			work();
		else if (command == 'f' || command == 'e' || command == 'v')
			start(command);
		else if (command == 'd' || command == 'D')
			start_daemon(command == 'D');
		else if (command == 's')
			storm();
		else if (command == 'n')
			start_short_ones();
		else if (command == 'x')
			execl("/proc/self/exe", "family", "--again=1", NULL);
		else if (command == 'p')
			_exit(0);
	}
	failures = end_children() + is_damaged();
	victim_say("verdict %s %d\n", failures ? "failed" : "ok", failures);
	return failures != 0;
}
