/* SPDX-License-Identifier: MIT */
/*
 * waiter.c - processes that would notice a child that is not their own doing.
 *
 *	waiter --kind=KIND [--ballast=MEGABYTES]
 *
 * none		four ways to wait for children, of which there are none: ECHILD every time
 * all		the same with __WALL and __WCLONE: "still running" at the most, never a child
 * own		children with known statuses are waited for by waitpid(-1) and by pidfd
 * ignore	SIGCHLD is ignored; its children leave nothing
 * nocldwait	the same by SA_NOCLDWAIT, with a handler
 * forks	three threads fork and wait without a pause
 * threads	three threads make and join threads without a pause
 * vfork	a vfork child that sleeps 2 ms, again and again
 * vforks	eight threads that do so: hardly a moment without such a child
 * timers	timers of 50 (if signals are fast) and 200 us; their handlers interrupt reads that
 *		restart
 * group	kill(0, SIGTERM) without a pause; its handler runs once for each
 * busy		64 threads that compute
 * alone	one thread that computes; a command comes as SIGIO
 * runs		every turn of every thread marks the process that it runs in, in shared memory:
 *		there may never be a second one
 * held		'k' closes a connection and two locked files: "peer gone MS" comes from another
 *		process as soon as it has seen the end of all three; 'x' ends without closing,
 *		'e' starts /bin/sleep instead, which lets the locks go (close on exec), 'E' so
 *		that it keeps one
 * Commands of all: 'c' waits until each worker has gone round and says "check ok|failed";
 * 'q' ends and prints "verdict ok|failed {...}". SIGCHLD may come only for own children.
 */
#include "tests/victims/victim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#define MAX_WORKERS	64
#define BLOCK_BYTES	200
#define ROUND_LIMIT_MS	30000

static atomic_int failed, stop, forked, children_told, terminated, terms_sent;
static atomic_ulong rounds[MAX_WORKERS];
static int workers;
static char first_failure[160];

static void pause_us(long us)
{
	struct timespec time = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		;
}

static void wrong(const char *what, long value)
{
	if (atomic_fetch_add(&failed, 1) == 0)
		snprintf(first_failure, sizeof(first_failure), "%s: %ld", what, value);
}

static void on_child(int number)
{
	(void)number;
	atomic_fetch_add(&children_told, 1);
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	if (sigaction(number, &action, NULL) < 0)
		victim_fail("sigaction");
}

/* --- without children --------------------------------------------------------- */

static void expect_no_child(const char *call, long result)
{
	if (result != -1 || errno != ECHILD)
		wrong(call, result);
}

static void round_none(int worker)
{
	siginfo_t info;
	int status;

	switch (worker) {
	case 0:
		expect_no_child("waitpid(-1, WNOHANG)", waitpid(-1, &status, WNOHANG));
		break;
	case 1:
		expect_no_child("wait", wait(&status));
		break;
	case 2:
		expect_no_child("waitid(P_ALL)", waitid(P_ALL, 0, &info, WEXITED | WNOHANG));
		break;
	default:
		expect_no_child("waitid(P_PGID)", waitid(P_PGID, (id_t)getpgrp(), &info,
							 WEXITED | WSTOPPED | WCONTINUED));
		break;
	}
}

static void round_all(int worker)
{
	static const int flags[] = { __WALL | WNOHANG, __WCLONE | WNOHANG, __WALL, __WCLONE };
	int status;
	pid_t got = waitpid(-1, &status, flags[worker]);

	if (got > 0 || (got < 0 && errno != ECHILD))
		wrong("a child by __WALL or __WCLONE", got);
}

/* --- with children --------------------------------------------------------------- */

static pid_t fork_child(int status, long sleep_us)
{
	pid_t pid = fork();

	if (pid < 0)
		victim_fail("fork");
	if (pid == 0) {
		pause_us(sleep_us);
		_exit(status);
	}
	atomic_fetch_add(&forked, 1);
	return pid;
}

static void wait_by_pidfd(pid_t pid, int expected)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd end = { .fd = fd, .events = POLLIN };
	siginfo_t info = { 0 };
	int got;

	do
		got = poll(&end, 1, 10000);
	while (got < 0 && errno == EINTR);	/* by our own SIGCHLD */
	if (got != 1 || waitid((idtype_t)P_PIDFD, (id_t)fd, &info, WEXITED) < 0 ||
	    info.si_pid != pid || info.si_status != expected)
		wrong("waitid(P_PIDFD)", info.si_pid);
	close(fd);
}

static void round_own(int worker)
{
	pid_t child[4];
	int status, left = 4;

	(void)worker;
	for (int i = 0; i < 4; i++)
		child[i] = fork_child(10 + i, i * 300);
	wait_by_pidfd(child[0], 10);
	child[0] = 0;
	for (left = 3; left > 0; left--) {
		pid_t got = waitpid(-1, &status, 0);
		int i = 0;

		while (i < 4 && child[i] != got)
			i++;
		if (got <= 0 || i == 4 || !WIFEXITED(status) || WEXITSTATUS(status) != 10 + i)
			wrong("waitpid(-1)", got);
	}
	expect_no_child("waitpid after all", waitpid(-1, &status, WNOHANG));
}

static void round_ignore(int worker)
{
	int status;

	(void)worker;
	fork_child(3, 200);
	fork_child(4, 0);
	expect_no_child("wait of ignored children", wait(&status));
}

static void round_forks(int worker)
{
	int status = 0;
	pid_t pid = fork_child(worker + 1, 0);

	if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != worker + 1)
		wrong("waitpid", status);
}

static void *add_one(void *value) { return (char *)value + 1; }

static void round_threads(int worker)
{
	char base[9];
	pthread_t thread[8];
	void *value;

	(void)worker;
	for (int i = 0; i < 8; i++)
		if (pthread_create(&thread[i], NULL, add_one, &base[i]) != 0)
			victim_fail("pthread_create");
	for (int i = 0; i < 8; i++)
		if (pthread_join(thread[i], &value) != 0 || value != &base[i + 1])
			wrong("pthread_join", i);
}

static void round_vfork(int worker)
{
	int status = 0;
	pid_t pid = vfork();

	(void)worker;
	if (pid == 0) {
		pause_us(2000);
		_exit(5);
	}
	atomic_fetch_add(&forked, 1);
	if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 5)
		wrong("vfork", status);
	pause_us(3000);
}

/* --- computing ------------------------------------------------------------------------ */

static void round_busy(int worker)
{
	volatile unsigned long sum = (unsigned long)worker, expected = (unsigned long)worker;

	for (unsigned long i = 0; i < 100000; i++)
		sum = sum * 5 + i;
	for (unsigned long i = 0; i < 100000; i++)
		expected = expected * 5 + i;
	if (sum != expected)
		wrong("arithmetic", worker);
}

/* --- signals ------------------------------------------------------------------------ */

static int pipe_ends[2];

static void on_timer(int number) { (void)number; }

static void round_timers(int worker)
{
	char byte = 7;
	ssize_t got;

	if (worker == 0) {
		round_busy(worker);	/* a sleep might never end between so many signals */
		got = write(pipe_ends[1], &byte, 1);
	} else {
		got = read(pipe_ends[0], &byte, 1);
	}
	if (got != 1 || byte != 7)
		wrong("EINTR in spite of SA_RESTART", errno);
}

/* The reader may have begun one more round than the writer, which then has no byte for it. */
static void end_timers(void)
{
	char byte = 7;

	if (write(pipe_ends[1], &byte, 1) != 1)
		wrong("the last byte", errno);
}

/* Microseconds that a signal takes here; where it is 50, no worker gets anywhere between them. */
static long signal_us(void)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < 1000; i++)
		(void)raise(SIGALRM);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
}

static void begin_timers(void)
{
	struct itimerval real = { { 0, 50 }, { 0, 50 } }, cpu = { { 0, 200 }, { 0, 200 } };
	long least;

	if (pipe(pipe_ends) < 0)
		victim_fail("pipe");
	handle(SIGALRM, on_timer, SA_RESTART);
	handle(SIGPROF, on_timer, SA_RESTART);
	least = signal_us() * 8;
	if (real.it_interval.tv_usec < least)
		real.it_interval.tv_usec = least < 5000 ? least : 5000;
	setitimer(ITIMER_REAL, &real, NULL);
	setitimer(ITIMER_PROF, &cpu, NULL);
}

/* They are for the workers: what is left of the main thread's short sleeps might never end. */
static void block_timers(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigaddset(&set, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void on_term(int number)
{
	(void)number;
	atomic_fetch_add(&terminated, 1);
}

static void round_group(int worker)
{
	int before = atomic_load(&terminated);

	(void)worker;
	if (kill(0, SIGTERM) < 0)
		wrong("kill(0)", errno);
	atomic_fetch_add(&terms_sent, 1);
	for (int i = 0; atomic_load(&terminated) == before && i < 10000; i++)
		pause_us(500);
	if (atomic_load(&terminated) != before + 1)
		wrong("runs of the handler", atomic_load(&terminated) - before);
}

static void begin_group(void)
{
	if (setpgid(0, 0) < 0)
		victim_fail("setpgid");
	handle(SIGTERM, on_term, SA_RESTART);
}

/* --- who runs ------------------------------------------------------------------------- */

static struct {
	_Atomic long other;	/* a process that ran our code and is not us */
	pid_t self;
} *runners;

/* The kernel's word, not libc's: a child by a bare clone. */
static void round_runs(int worker)
{
	long pid = syscall(SYS_getpid);

	if (pid != runners->self)
		atomic_store(&runners->other, pid);
	for (long i = 0; i < 20000L * (worker + 1); i++)
		__asm__ volatile("" : : "r"(i));	/* runs, and does nothing */
	if (worker % 2)
		pause_us(1000);
	if (atomic_load(&runners->other))
		wrong("another process ran our code", atomic_load(&runners->other));
}

static void begin_runs(void)
{
	runners = mmap(NULL, sizeof(*runners), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (runners == MAP_FAILED)
		victim_fail("mmap");
	runners->self = getpid();
}

/* --- connections and locks ------------------------------------------------------------- */

static struct {
	int connection, flocked, locked;
	char path[2][64];
} held;

static int now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

static void open_locked(void)
{
	struct flock whole = { .l_type = F_WRLCK };

	held.flocked = open(held.path[0], O_RDWR | O_CLOEXEC);
	held.locked = open(held.path[1], O_RDWR | O_CLOEXEC);
	if (flock(held.flocked, LOCK_EX) < 0 || fcntl(held.locked, F_SETLK, &whole) < 0)
		victim_fail("locks");
}

/* Another process: what does the world see of the target's end? */
static void be_peer(int connection)
{
	struct flock whole = { .l_type = F_WRLCK };
	int flocked = open(held.path[0], O_RDWR), locked = open(held.path[1], O_RDWR);
	int begin = now_ms();
	char byte;

	setpgid(0, 0);
	while (read(connection, &byte, 1) > 0)	/* the last byte: I am about to let go */
		begin = now_ms();
	while (flock(flocked, LOCK_EX | LOCK_NB) < 0 || fcntl(locked, F_SETLK, &whole) < 0)
		pause_us(1000);
	victim_say("peer gone %d\n", now_ms() - begin);
	unlink(held.path[0]);
	unlink(held.path[1]);
	_exit(0);
}

static void begin_held(void)
{
	int ends[2];

	for (int i = 0; i < 2; i++) {
		snprintf(held.path[i], sizeof(held.path[i]), "/tmp/memattach-waiter.XXXXXX");
		close(mkostemp(held.path[i], O_CLOEXEC));
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		victim_fail("socketpair");
	if (fork() == 0) {
		close(ends[0]);
		be_peer(ends[1]);
	}
	atomic_fetch_add(&forked, 1);
	close(ends[1]);
	held.connection = ends[0];
	open_locked();
}

static void on_held(char command)
{
	char byte = 1;

	if (write(held.connection, &byte, 1) != 1)
		victim_fail("peer");
	if (command == 'x')
		_exit(0);
	if (command == 'E' && fcntl(held.locked, F_SETFD, 0) < 0)
		victim_fail("F_SETFD");
	if (command == 'e' || command == 'E') {
		execl("/bin/sleep", "sleep", "60", (char *)NULL);
		victim_fail("exec");
	}
	close(held.connection);
	close(held.flocked);
	close(held.locked);
}

/* --- the whole ------------------------------------------------------------------------------ */

struct kind {
	const char *name;
	int workers;
	void (*round)(int worker);
	void (*begin)(void);
	void (*command)(char command);
};

static void ignore_children(void) { handle(SIGCHLD, SIG_IGN, 0); }
static void drop_children(void) { handle(SIGCHLD, on_child, SA_NOCLDWAIT | SA_RESTART); }

static const struct kind kinds[] = {
	{ "none", 4, round_none, NULL, NULL },
	{ "all", 4, round_all, NULL, NULL },
	{ "own", 1, round_own, NULL, NULL },
	{ "ignore", 1, round_ignore, ignore_children, NULL },
	{ "nocldwait", 1, round_ignore, drop_children, NULL },
	{ "forks", 3, round_forks, NULL, NULL },
	{ "threads", 3, round_threads, NULL, NULL },
	{ "vfork", 1, round_vfork, NULL, NULL },
	{ "vforks", 8, round_vfork, NULL, NULL },
	{ "timers", 2, round_timers, begin_timers, NULL },
	{ "group", 1, round_group, begin_group, NULL },
	{ "busy", 64, round_busy, NULL, NULL },
	{ "alone", 0, round_busy, NULL, NULL },
	{ "runs", 4, round_runs, begin_runs, NULL },
	{ "held", 0, NULL, begin_held, on_held },
};
static const struct kind *kind;

static void *work(void *number)
{
	int worker = (int)(long)number;

	while (!atomic_load(&stop)) {
		kind->round(worker);
		atomic_fetch_add(&rounds[worker], 1);
	}
	return NULL;
}

static void await_rounds(void)
{
	unsigned long then[MAX_WORKERS];

	for (int i = 0; i < workers; i++)
		then[i] = atomic_load(&rounds[i]);
	for (int i = 0, waited = 0; i < workers; i++)
		for (; atomic_load(&rounds[i]) < then[i] + 2; waited++) {
			if (waited > ROUND_LIMIT_MS)
				return wrong("a worker that does not go round", i);
			pause_us(1000);
		}
}

static void say_state(const char *what)
{
	if (atomic_load(&children_told) > atomic_load(&forked))
		wrong("SIGCHLD too often", atomic_load(&children_told));
	victim_say("%s %s {\"failed\":%d,\"forked\":%d,\"sigchld\":%d,\"interrupts\":%d,"
		   "\"first\":\"%s\"}\n", what,
		   atomic_load(&failed) || victim_interrupts() ? "failed" : "ok",
		   atomic_load(&failed), atomic_load(&forked), atomic_load(&children_told),
		   victim_interrupts(), first_failure);
}

static void obey(char command)
{
	if (command == 'c') {
		await_rounds();
		say_state("check");
	} else if (command != 'q' && kind->command) {
		kind->command(command);
	}
}

static void on_command(int number)
{
	char command = victim_await();

	(void)number;
	if (command != 'q')
		return obey(command);
	say_state("verdict");
	_exit(atomic_load(&failed) ? 1 : 0);
}

/* Not one system call, between two commands. */
static void be_alone(void)
{
	handle(SIGIO, on_command, SA_RESTART);
	if (fcntl(STDIN_FILENO, F_SETOWN, getpid()) < 0 ||
	    fcntl(STDIN_FILENO, F_SETFL, O_ASYNC) < 0)
		victim_fail("SIGIO");
	victim_ready();
	for (;;)
		round_busy(1);
}

/* Work for a leak report: so many megabytes in small blocks, none of them lost. */
static void make_ballast(long megabytes)
{
	static void **last;

	for (long i = 0; i < megabytes * (1 << 20) / BLOCK_BYTES; i++) {
		void **block = malloc(BLOCK_BYTES - 16);

		if (!block)
			victim_fail("malloc");
		*block = (void *)last;
		last = block;
	}
}

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	victim_fail("--kind");
}

int main(int argc, char *argv[])
{
	static pthread_t threads[MAX_WORKERS];
	char command;

	(void)argc;
	victim_setup();
	kind = find_kind(victim_option(argv, "kind", ""));
	make_ballast(victim_number(argv, "ballast", 0));
	workers = kind->workers;
	handle(SIGCHLD, on_child, SA_RESTART);
	if (kind->begin)
		kind->begin();
	if (strcmp(kind->name, "alone") == 0)
		be_alone();
	for (long i = 0; i < workers; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
			victim_fail("pthread_create");
	block_timers();
	victim_ready();
	while ((command = victim_await()) != 'q')
		obey(command);
	atomic_store(&stop, 1);
	if (kind->begin == begin_timers)
		end_timers();
	for (int i = 0; i < workers; i++)
		pthread_join(threads[i], NULL);
	say_state("verdict");
	return atomic_load(&failed) ? 1 : 0;
}
