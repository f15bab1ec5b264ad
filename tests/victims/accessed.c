/* SPDX-License-Identifier: MIT */
/*
 * accessed.c - blocks of known use, for --access. No pointer to a lost one is ever in a register
 * or on a stack: they are reached by base and index, which are both no pointers.
 *
 * quiet    lost, never touched                    hidden   lost, read every millisecond
 * hot      lost, written in a tight loop          called   lost, its first word is called
 * copied   lost, read by memcpy                   freed    lost, freed when 'f' is told
 * wide     lost, of 25 pages, one word far inside is written when 'w' is told
 * grown    a list that only grows, written by touch_session()
 * 'm' answers with how fast the tight loop is, in steps per millisecond of its own processor time;
 * 's' starts growing; --breakpoints=N takes so many debug registers for itself first.
 */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/victims/victim.h"

#define AWAY (1ull << 44)	/* base + AWAY is the block */

struct session {
	struct session *next;
	uint64_t touched, unused[6];
};

/* Bases: block - AWAY. */
static struct {
	uint64_t quiet, hidden, hot, called, copied, freed, wide, many[4];
} base;
static struct session *sessions;
static uint64_t steps;
static volatile int growing;
static pthread_t hot_thread;

/* ---- the only code that touches them ---- */

VICTIM_FRAME uint64_t read_hidden(uint64_t from)
{
	uint64_t word;

	__asm__ volatile("movq 8(%1,%2), %0" : "=r"(word) : "r"(from), "r"(AWAY));
	return word;
}

VICTIM_FRAME void write_hot(uint64_t to, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		__asm__ volatile("incq (%0,%1)" : : "r"(to), "r"(AWAY) : "memory");
}

VICTIM_FRAME void do_nothing(void)
{
	__asm__ volatile("");
}

VICTIM_FRAME void call_first_word(uint64_t from)
{
	/* below the red zone, on an aligned stack; do_nothing keeps all registers */
	__asm__ volatile("movq %%rsp, %%rbx\n\tsubq $128, %%rsp\n\tandq $-16, %%rsp\n\t"
			 "call *(%0,%1)\n\tmovq %%rbx, %%rsp"
			 : : "r"(from), "r"(AWAY) : "rbx", "memory", "cc");
}

VICTIM_FRAME void copy_block(uint64_t from, char *to)
{
	/* the pointer is made here and dies here; 64 bytes by a call of libc's memcpy */
	memcpy(to, victim_seen((void *)(uintptr_t)(from + AWAY)), victim_size(64));
	__asm__ volatile("" : : : "memory");	/* a call, not a jump */
}

VICTIM_FRAME void write_inside(uint64_t to)
{
	__asm__ volatile("incq 70008(%0,%1)" : : "r"(to), "r"(AWAY) : "memory");
}

VICTIM_FRAME void free_block(uint64_t from)
{
	free((void *)(uintptr_t)(from + AWAY));
}

VICTIM_FRAME void touch_session(struct session *session)
{
	session->touched++;
}

/* What the calls above may have left below us. */
VICTIM_FRAME static void wipe_stack(void)
{
	volatile char room[16384];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

/* ---- making them ---- */

VICTIM_FRAME void *make_block(size_t size)
{
	return victim_seen(calloc(1, size));
}

VICTIM_FRAME static void make_lost(uint64_t *ret, const char *name, size_t size)
{
	void *block = make_block(size);

	*ret = (uint64_t)(uintptr_t)block - AWAY;
	victim_say("block %s %p\n", name, block);
}

VICTIM_FRAME struct session *make_session(void)
{
	return victim_seen(calloc(1, sizeof(struct session)));
}

static void sleep_ms(long ms)
{
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&pause, &pause) < 0 && errno == EINTR)
		;
}

/* ---- threads ---- */

static void *hot_loop(void *unused)
{
	for (;;) {
		write_hot(base.hot, 100000);
		__atomic_add_fetch(&steps, 100000, __ATOMIC_RELAXED);
	}
	return unused;
}

static void *reader(void *unused)
{
	for (;;) {
		(void)read_hidden(base.hidden);
		for (size_t i = 0; i < 2; i++)
			(void)read_hidden(base.many[i]);
		call_first_word(base.called);
		wipe_stack();
		sleep_ms(1);
	}
	return unused;
}

static void *copier(void *unused)
{
	static char to[64];

	for (;;) {
		copy_block(base.copied, to);
		wipe_stack();
		sleep_ms(1);
	}
	return unused;
}

static void *grower(void *unused)
{
	for (unsigned int i = 0;; i++) {
		if (growing && i % 10 == 0) {
			struct session *session = make_session();

			session->next = sessions;
			sessions = session;
		}
		for (struct session *s = sessions; s; s = s->next)
			touch_session(s);
		sleep_ms(1);
	}
	return unused;
}

static pthread_t start(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		victim_fail("pthread_create");
	return thread;
}

/* Steps of the tight loop per millisecond of its thread's time, over 400 ms of it. */
static void measure(void)
{
	clockid_t clock;
	struct timespec t;
	uint64_t before, after;
	double begin, end;

	if (pthread_getcpuclockid(hot_thread, &clock))
		victim_fail("pthread_getcpuclockid");
	(void)clock_gettime(clock, &t);
	begin = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
	before = __atomic_load_n(&steps, __ATOMIC_RELAXED);
	do {
		sleep_ms(20);
		(void)clock_gettime(clock, &t);
		end = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
	} while (end - begin < 400);
	after = __atomic_load_n(&steps, __ATOMIC_RELAXED);
	victim_say("speed ok %.0f\n", (double)(after - before) / (end - begin));
}

/* Debug registers of this thread, as a program that traces itself has them. */
static void take_breakpoints(long count)
{
	static uint64_t word[4];

	for (long i = 0; i < count && i < 4; i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr),
			.bp_type = HW_BREAKPOINT_W, .bp_addr = (uint64_t)(uintptr_t)&word[i],
			.bp_len = HW_BREAKPOINT_LEN_8, .exclude_kernel = 1, .exclude_hv = 1,
		};

		if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0)
			victim_fail("perf_event_open");
	}
}

int main(int argc, char **argv)
{
	long breakpoints = victim_number(argv, "breakpoints", 0);
	char command;

	(void)argc;
	victim_setup();
	make_lost(&base.quiet, "quiet", 200);
	make_lost(&base.hidden, "hidden", 300);
	make_lost(&base.hot, "hot", 400);
	make_lost(&base.called, "called", 500);
	make_lost(&base.copied, "copied", 64);
	make_lost(&base.freed, "freed", 700);
	make_lost(&base.wide, "wide", 100000);
	for (size_t i = 0; i < 4; i++)	/* of equal size: two are read, two are not */
		make_lost(&base.many[i], "many", 1000);
	*(void (**)(void))(uintptr_t)(base.called + AWAY) = do_nothing;
	wipe_stack();
	take_breakpoints(breakpoints);
	if (!breakpoints) {	/* a thread has debug registers of its own */
		hot_thread = start(hot_loop);
		(void)start(reader);
		(void)start(copier);
		(void)start(grower);
	}
	wipe_stack();
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 'm')
			measure();
		else if (command == 's')
			growing = 1;
		else if (command == 'f')
			free_block(base.freed);
		else if (command == 'w')
			write_inside(base.wide);
		wipe_stack();
	}
	return 0;
}
