/* SPDX-License-Identifier: MIT */
/*
 * storm.c - sends signals to another process without a pause. Not a victim itself.
 *
 *	storm --kind=stop|each --pid=PID [--signals=N,N...]
 *
 * stop	SIGSTOP and soon after SIGCONT to the process; its last one is a SIGCONT
 * each	the signals, in turn, to each thread of the process
 * Commands: 'q' ends and prints "verdict ok COUNT".
 * A loop in the shell was the alternative: kill reaches no single thread there.
 */
#include "tests/victims/victim.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void pause_us(long us)
{
	struct timespec time = { .tv_nsec = us * 1000 };

	nanosleep(&time, NULL);
}

static int is_commanded(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, 0) > 0;
}

/* Stops of 0.3 ms, with 0.2 to 5 ms between them. */
static long stop_once(pid_t pid, unsigned turn)
{
	kill(pid, SIGSTOP);
	pause_us(300);
	kill(pid, SIGCONT);
	pause_us(200 + (long)(turn * 617u % 4800u));
	return 1;
}

/* The numbers in a list with commas, in turn; the list is not empty. */
static int signal_of(const char *list, unsigned turn)
{
	const char *at = list;

	for (; turn > 0; turn--) {
		at = strchr(at, ',');
		at = at ? at + 1 : list;
	}
	return atoi(at);
}

static long signal_each(pid_t pid, int number)
{
	char path[64];
	struct dirent *entry;
	long sent = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		int tid = atoi(entry->d_name);

		if (tid > 0 && syscall(SYS_tgkill, pid, tid, number) == 0)
			sent++;
	}
	if (tasks)
		closedir(tasks);
	pause_us(100);
	return sent;
}

int main(int argc, char *argv[])
{
	const char *signals = victim_option(argv, "signals", "28");
	int is_stop = strcmp(victim_option(argv, "kind", "stop"), "stop") == 0;
	pid_t pid = (pid_t)victim_number(argv, "pid", 0);
	long sent = 0;

	(void)argc;
	victim_setup();
	if (pid <= 1)
		victim_fail("--pid");
	victim_ready();
	for (unsigned turn = 0; !is_commanded(); turn++)
		sent += is_stop ? stop_once(pid, turn)
				: signal_each(pid, signal_of(signals, turn % 1000));
	victim_say("verdict ok %ld\n", sent);
	return 0;
}
