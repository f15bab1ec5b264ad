/* SPDX-License-Identifier: MIT */
/*
 * selfcheck.c - supervisor of the self-checking victim, and its threads' loop.
 *
 *	selfcheck --kind=KIND[,KIND...]|mix|waits|kept --threads=N [--wait=MS] [--stack=fiber]
 *
 * The printed pid is the victim's, a child of this process. Thread i does the
 * kind i modulo their number; thread 0 is the victim's only one with --threads=1, and works on
 * a fiber with --stack=fiber.
 * The supervisor kicks blocked readers and futexes, and sends real-time signals to
 * the threads that want them. Commands: 'c' waits until every thread has gone round
 * twice more and prints "check ok {JSON}" or "check failed ..."; 'q' stops the
 * victim, waits for it and prints "verdict ok|failed {JSON}"; the exit status
 * says the same (0, 1).
 * Rejected: one process that checks itself. It can't report its own crash.
 */
#include "tests/victims/selfcheck.h"
#include "tests/victims/victim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KICK_MS		3
#define ROUND_DEADLINE	30	/* seconds, generous: the machine may be loaded */

struct victim {
	struct selfcheck_page *page;
	const struct selfcheck_kind *kind[SELFCHECK_THREADS];	/* of each thread */
	_Atomic pid_t tid[SELFCHECK_THREADS];
	int threads;
	int on_fiber;		/* the first of them */
	pid_t pid;
};

static struct victim *victim;	/* shared memory too: the tids come from the victim */

static void *thread_main(void *argument)
{
	struct selfcheck_thread *self = argument;
	const struct selfcheck_kind *kind = victim->kind[self->index];

	selfcheck_thread_init(self);
	atomic_store(&victim->tid[self->index], (pid_t)syscall(SYS_gettid));
	while (!atomic_load(&self->page->stop)) {
		kind->round(self);
		selfcheck_thread_verify(self);
		atomic_fetch_add(&self->page->rounds[self->index], 1);
		selfcheck_fiber_rest(self);
	}
	atomic_store(&victim->tid[self->index], 0);	/* no more signals, please */
	return NULL;
}

static void victim_main(void)
{
	static struct selfcheck_thread threads[SELFCHECK_THREADS];
	static pthread_t ids[SELFCHECK_THREADS];

	victim_setup();
	victim_yield();
	selfcheck_handlers_install();
	for (int i = 0; i < victim->threads; i++) {
		threads[i].page = victim->page;
		threads[i].index = i;
		if (i > 0 && pthread_create(&ids[i], NULL, thread_main, &threads[i]) != 0)
			victim_fail("pthread_create");
	}
	if (victim->on_fiber)
		selfcheck_fiber_run(&threads[0], thread_main);
	else
		thread_main(&threads[0]);
	for (int i = 1; i < victim->threads; i++)
		pthread_join(ids[i], NULL);
	_exit(0);
}

/* One thread's turn; it gets its next signal only after a round since the last one. */
static void kick_signals(void)
{
	static unsigned long rounds_then[SELFCHECK_THREADS];
	static unsigned turn;
	int index = (int)(turn++ % (unsigned)victim->threads);
	pid_t tid = atomic_load(&victim->tid[index]);
	unsigned long rounds = atomic_load(&victim->page->rounds[index]) + 1;

	if (tid <= 0 || !victim->kind[index]->signals ||
	    (rounds == rounds_then[index] && !victim->kind[index]->insistent))
		return;
	rounds_then[index] = rounds;
	syscall(SYS_tgkill, victim->pid, tid, SIGRTMIN + victim->kind[index]->signals - 1);
}

/* Lets the blocked ones go round: a byte for a reader, a wake for all futexes. */
static void kick(void)
{
	static const char byte = 42;

	/* A full pipe (EAGAIN) is as good: nobody is waiting then. */
	if (write(victim->page->pipe_write, &byte, 1) < 0 && errno != EAGAIN)
		victim_fail("pipe");
	atomic_fetch_add(&victim->page->wake, 1);
	syscall(SYS_futex, &victim->page->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	selfcheck_waits_kick();
	kick_signals();
}

/* 1 once the victim has ended; then *ret_status is its wait status. */
static int victim_ended(int *ret_status)
{
	return waitpid(victim->pid, ret_status, WNOHANG) == victim->pid;
}

static int all_went_round(const unsigned long *since)
{
	for (int i = 0; i < victim->threads; i++) {
		if (atomic_load(&victim->page->rounds[i]) < since[i] + 2)
			return 0;
	}
	return 1;
}

/* Kicks until every thread went round twice. NULL, or what is wrong. */
static const char *await_rounds(void)
{
	unsigned long since[SELFCHECK_THREADS];
	time_t deadline = time(NULL) + ROUND_DEADLINE;
	int status;

	for (int i = 0; i < victim->threads; i++)
		since[i] = atomic_load(&victim->page->rounds[i]);
	while (!all_went_round(since)) {
		if (victim_ended(&status))
			return "victim died";
		if (time(NULL) > deadline)
			return "a thread is stuck";
		kick();
		poll(NULL, 0, KICK_MS);
	}
	return atomic_load(&victim->page->failed) ? "failed" : NULL;
}

static void say_state(const char *what, const char *wrong)
{
	struct selfcheck_page *page = victim->page;
	unsigned long rounds = 0;

	for (int i = 0; i < victim->threads; i++)
		rounds += atomic_load(&page->rounds[i]);
	victim_say("%s %s {\"pid\":%d,\"rounds\":%lu,\"eintr\":%d,\"handlers\":%d,\"jumps\":%d,"
		   "\"missing\":\"%s\",\"wrong\":\"%s\",\"failure\":\"%s\"}\n",
		   what, wrong ? "failed" : "ok", (int)victim->pid, rounds,
		   atomic_load(&page->eintr), atomic_load(&page->handlers),
		   atomic_load(&page->jumps), page->missing, wrong ? wrong : "", page->failure);
}

/* Next command, kicking while there is none. 'd' when the victim died. */
static char next_command(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	siginfo_t info = { 0 };

	while (poll(&input, 1, KICK_MS) <= 0) {
		kick();
		if (waitid(P_PID, (id_t)victim->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    info.si_pid == victim->pid)
			return 'd';
	}
	return victim_await();
}

static int finish(void)
{
	const char *wrong = NULL;
	static char text[64];
	int status = 0;

	atomic_store(&victim->page->stop, 1);
	for (time_t deadline = time(NULL) + ROUND_DEADLINE; !victim_ended(&status);) {
		kick();
		poll(NULL, 0, KICK_MS);
		if (time(NULL) <= deadline)
			continue;
		wrong = "did not stop";
		kill(victim->pid, SIGKILL);
		waitpid(victim->pid, &status, 0);
		break;
	}
	if (!wrong && status != 0) {
		snprintf(text, sizeof(text), "wait status 0x%x", (unsigned)status);
		wrong = text;
	}
	selfcheck_waits_end();
	say_state("verdict", wrong);
	return wrong ? 1 : 0;
}

static int supervise(void)
{
	const char *wrong = await_rounds();

	if (wrong)
		return finish();
	victim_say("ready %d\n", (int)victim->pid);
	for (;;) {
		char command = next_command();

		if (command == 'c')
			say_state("check", await_rounds());
		else
			return finish();
	}
}

static const struct selfcheck_kind *kind_named(const char *name, size_t length)
{
	const struct selfcheck_kind *const tables[] = { selfcheck_kinds, selfcheck_waits };

	for (int i = 0; i < 2; i++)
		for (const struct selfcheck_kind *kind = tables[i]; kind->name; kind++)
			if (strncmp(kind->name, name, length) == 0 && !kind->name[length])
				return kind;
	victim_fail("unknown --kind");
}

/* The kinds that the list means, at most `most`: returns their number. */
static int choose_kinds(const char *list, const struct selfcheck_kind *chosen[], int most)
{
	const struct selfcheck_kind *kind = selfcheck_waits;
	int count = 0, kept = strcmp(list, "kept") == 0;

	if (strcmp(list, "mix") == 0)
		kind = selfcheck_kinds;
	else if (!kept && strcmp(list, "waits") != 0)
		kind = NULL;
	for (; kind && kind->name && count < most; kind++)
		if (!kept || kind->kept)
			chosen[count++] = kind;
	while (!kind && *list && count < most) {
		size_t length = strcspn(list, ",");

		chosen[count++] = kind_named(list, length);
		list += length + (list[length] == ',');
	}
	return count;
}

/* Deals the kinds of a comma-separated list (or all of a group) to the threads. 1: waits, too. */
static int deal_kinds(const char *list)
{
	const struct selfcheck_kind *chosen[48];
	int count = choose_kinds(list, chosen, 48), waits = 0;

	for (int i = 0; i < victim->threads; i++) {
		victim->kind[i] = chosen[i % count];
		waits |= strncmp(chosen[i % count]->name, "wait-", 5) == 0;
	}
	return waits;
}

static void *shared_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		victim_fail("mmap");
	return memory;
}

static void prepare(char *const argv[])
{
	int ends[2];

	victim = shared_memory(sizeof(*victim));
	victim->page = shared_memory(sizeof(*victim->page));
	victim->threads = (int)victim_number(argv, "threads", 1);
	if (victim->threads < 1 || victim->threads > SELFCHECK_THREADS)
		victim_fail("--threads=1..128");
	victim->on_fiber = strcmp(victim_option(argv, "stack", "own"), "fiber") == 0;
	if (deal_kinds(victim_option(argv, "kind", "mix")))
		selfcheck_waits_prepare((int)victim_number(argv, "wait", 50));
	if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0)
		victim_fail("pipe");
	victim->page->pipe_read = ends[0];
	victim->page->pipe_write = ends[1];
}

int main(int argc, char *argv[])
{
	pid_t pid;

	(void)argc;
	victim_setup();
	prepare(argv);
	pid = fork();
	if (pid < 0)
		victim_fail("fork");
	if (pid == 0)
		victim_main();
	victim->pid = pid;
	return supervise();
}
