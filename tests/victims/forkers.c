/* SPDX-License-Identifier: MIT */
/*
 * forkers.c - a parent whose children live on without exec, and have children themselves.
 *
 *	forkers [--threads=N]
 *
 * Commands: 'f' forks a family: a child that works, one that does nothing, one
 * with N more threads (3), one that has a child of its own; says "family ok PID..."
 * once all of them are at it (a child's child first). 's' forks a child every
 * millisecond from then on, up to 60, every third of which forks another; says
 * "storming ok" after the first; 'p' says "storm ok PID..." which of those are there,
 * and stops it. 'l' forks one while another thread is in dl_iterate_phdr; says
 * "locked ok PID". 'x' ends at once, its children live on. 'q' has them all end and
 * says "verdict ok|failed".
 * A child ends on SIGTERM, has its own children end, and says "child ok PID" or
 * "child failed PID": its heap and what it inherited are as they should be.
 */
#include "tests/victims/victim.h"

#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define INHERITED 64
#define MAX_CHILDREN 128
#define STORM 60
#define WORK_MS 5	/* between two rounds: eighty at work leave processors for others */
#define CHILD_SECONDS 600	/* a child ends by itself when its test has gone */

static unsigned char *inherited[INHERITED];
static pid_t child[MAX_CHILDREN];
static int children, failures;
static volatile sig_atomic_t ending;
static atomic_int wrong;

static void on_end(int signal)
{
	(void)signal;
	ending = 1;
}

static void heap_round(unsigned char fill)
{
	unsigned char *block[32];

	for (size_t i = 0; i < 32; i++) {
		block[i] = realloc(malloc(100 + 10 * i), 200 + 10 * i);
		memset(block[i], fill, 200 + 10 * i);
	}
	for (size_t i = 0; i < 32; i++) {
		if (block[i][199 + 10 * i] != fill)
			atomic_store(&wrong, 1);
		free(block[i]);
	}
}

static void take_inheritance(void)
{
	for (size_t i = 0; i < INHERITED; i++) {
		inherited[i] = malloc(1000 + i);
		memset(inherited[i], (int)i, 1000 + i);
	}
}

static void check_inheritance(void)
{
	for (size_t i = 0; i < INHERITED; i++) {
		if (inherited[i][999 + i] != i)
			atomic_store(&wrong, 1);
		free(inherited[i]);
	}
}

static void *work(void *fill)
{
	for (unsigned char round = 0; !ending; round++) {
		heap_round((unsigned char)(round ^ (size_t)fill));
		poll(NULL, 0, WORK_MS);
	}
	return NULL;
}

static void wait_for_end(void)
{
	while (!ending)
		poll(NULL, 0, 100);
}

static void end_children(void)
{
	int status;

	for (int i = 0; i < children; i++)
		kill(child[i], SIGTERM);
	for (int i = 0; i < children; i++)
		if (waitpid(child[i], &status, 0) != child[i] || status != 0)
			failures++;
	children = 0;
}

enum kind { WORKING, IDLE, THREADED, PARENT };

static pid_t fork_child(enum kind kind, long threads, int ready);

static void child_main(enum kind kind, long threads, int ready)
{
	pthread_t thread[8];
	pid_t self = getpid();

	children = failures = 0;
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	alarm(CHILD_SECONDS);
	if (kind == PARENT)
		fork_child(WORKING, 0, ready);
	for (long i = 0; kind == THREADED && i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i) != 0)
			victim_fail("pthread_create");
	if (write(ready, &self, sizeof(self)) != sizeof(self))
		victim_fail("ready");
	if (kind == IDLE)
		wait_for_end();
	else
		work((void *)7);
	for (long i = 0; kind == THREADED && i < threads; i++)
		pthread_join(thread[i], NULL);
	end_children();
	check_inheritance();
	failures += atomic_load(&wrong);
	victim_say("child %s %d\n", failures ? "failed" : "ok", (int)self);
	_exit(failures != 0);
}

static pid_t fork_child(enum kind kind, long threads, int ready)
{
	pid_t pid = fork();

	if (pid < 0)
		victim_fail("fork");
	if (pid == 0) {
		victim_allow_tracers();
		child_main(kind, threads, ready);
	}
	child[children++] = pid;
	return pid;
}

/* Reads count process ids and says them. */
static void say_pids(const char *word, int ready, int count)
{
	char line[1024];
	int used = snprintf(line, sizeof(line), "%s ok", word);

	for (int i = 0; i < count; i++) {
		pid_t pid;

		if (read(ready, &pid, sizeof(pid)) != sizeof(pid))
			victim_fail("a child is not ready");
		used += snprintf(line + used, sizeof(line) - (size_t)used, " %d", (int)pid);
	}
	victim_say("%s\n", line);
}

static void family(long threads, const int ready[2])
{
	fork_child(WORKING, 0, ready[1]);
	fork_child(IDLE, 0, ready[1]);
	fork_child(THREADED, threads, ready[1]);
	fork_child(PARENT, 0, ready[1]);
	say_pids("family", ready[0], 5);
}

static atomic_int lock_wanted, lock_held;

static int hold_lock(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)info;
	(void)size;
	(void)context;
	atomic_store(&lock_held, 1);
	while (atomic_load(&lock_wanted))
		poll(NULL, 0, 1);
	return 1;
}

static void *lock_loader(void *unused)
{
	(void)dl_iterate_phdr(hold_lock, NULL);
	return unused;
}

/* What glibc 2.36 does not mend: the child's loader is locked by a thread that it hasn't got. */
static void locked(const int ready[2])
{
	pthread_t thread;

	atomic_store(&lock_wanted, 1);
	if (pthread_create(&thread, NULL, lock_loader, NULL) != 0)
		victim_fail("pthread_create");
	while (!atomic_load(&lock_held))
		poll(NULL, 0, 1);
	fork_child(WORKING, 0, ready[1]);
	atomic_store(&lock_wanted, 0);
	pthread_join(thread, NULL);
	say_pids("locked", ready[0], 1);
}

static int commanded(int ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, ms) > 0;
}

static void storm(const int ready[2])
{
	int count = 0;

	for (int i = 0; i < STORM && !commanded(1); i++) {
		heap_round(5);
		fork_child(i % 3 ? WORKING : PARENT, 0, ready[1]);
		count += i % 3 ? 1 : 2;
		if (i == 0)
			victim_say("storming ok\n");
	}
	while (victim_await() != 'p')
		;
	say_pids("storm", ready[0], count);
}

int main(int argc, char *argv[])
{
	long threads = victim_number(argv, "threads", 3);
	int ready[2];
	char command;

	(void)argc;
	victim_setup();
	signal(SIGTERM, on_end);
	if (threads > 8 || pipe(ready) < 0)
		victim_fail("setup");
	take_inheritance();
	victim_ready();
	while ((command = victim_await()) != 'q') {
		for (unsigned char round = 0; round < 20; round++)	/* something to be seen */
			heap_round(round);
		if (command == 'f')
			family(threads, ready);
		else if (command == 's')
			storm(ready);
		else if (command == 'l')
			locked(ready);
		else if (command == 'x')
			_exit(0);
	}
	end_children();
	check_inheritance();
	failures += atomic_load(&wrong);
	victim_say("verdict %s %d\n", failures ? "failed" : "ok", failures);
	return failures ? 1 : 0;
}
