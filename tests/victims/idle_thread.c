/* SPDX-License-Identifier: MIT */
/*
 * idle_thread.c - a thread of SCHED_IDLE waits where another process takes the processor, and is
 * the only one that ever waits; one that works asks the loader for its modules, again and again.
 *
 *	idle_thread
 *
 * Commands: 'c' prints the longest of these calls so far, "check ok N us"; 'q' ends. "ready none"
 * where there is one processor only.
 */
#include "tests/victims/victim.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static int never[2];
static cpu_set_t one, other;

static int choose_processors(void)
{
	cpu_set_t may;
	int found = 0;

	if (sched_getaffinity(0, sizeof(may), &may))
		return -1;
	for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
		if (CPU_ISSET(i, &may))
			CPU_SET(i, found++ ? &other : &one);
	return found == 2 ? 0 : -1;
}

static void *wait_idle(void *argument)
{
	struct sched_param none = { .sched_priority = 0 };
	char byte;

	if (sched_setaffinity(0, sizeof(one), &one) || sched_setscheduler(0, SCHED_IDLE, &none))
		victim_fail("no SCHED_IDLE");
	(void)!read(never[0], &byte, 1);
	return argument;
}

/* Processes of their own: of the target's threads nobody else stands for long. */
static pid_t take_processor(void)
{
	pid_t child = fork();

	if (child)
		return child;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sched_setaffinity(0, sizeof(one), &one);
	for (;;)
		victim_seen(NULL);
}

static long long now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

static int next_module(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)info;
	(void)size;
	(void)context;
	return 0;
}

int main(void)
{
	long long longest = 0, took;
	pthread_t thread;
	pid_t child[2];
	char command = 0;

	victim_setup();
	if (choose_processors()) {
		victim_say("ready none\n");
		return 0;
	}
	if (pipe(never) || pthread_create(&thread, NULL, wait_idle, NULL))
		victim_fail("no thread");
	child[0] = take_processor();
	child[1] = take_processor();
	(void)sched_setaffinity(0, sizeof(other), &other);
	(void)fcntl(0, F_SETFL, O_NONBLOCK);
	victim_ready();
	while (command != 'q') {
		took = now_us();
		(void)dl_iterate_phdr(next_module, NULL);
		took = now_us() - took;
		longest = took > longest ? took : longest;
		for (int i = 0; i < 100000; i++)
			free(victim_seen(malloc(victim_size(100))));
		if (read(0, &command, 1) == 1 && command == 'c')
			victim_say("check ok %lld us\n", longest);
	}
	for (int i = 0; i < 2; i++)
		(void)kill(child[i], SIGKILL);
	return 0;
}
