/* SPDX-License-Identifier: MIT */
/*
 * crowd.c - very many threads, most of which wait.
 *
 *	crowd --idle=N --busy=N --stack=BYTES
 *
 * Idle threads wait in one of four ways (condition, read, poll, nanosleep again and again), on
 * stacks as small as is said (16 KiB), and at each turn allocate a block, check it and free it.
 * Busy ones do so without a pause. Commands: 'c' has everybody take a turn and says "check ok"
 * when each has; 'q' ends and prints "verdict ok|failed {"eintr":N}".
 */
#include "tests/victims/victim.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define MOST	4096

struct member {
	pthread_t thread;
	int number, gate;	/* gate: an eventfd, written for a turn */
	atomic_ulong turns;
};

static struct member members[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long wanted;		/* turns; under lock */
static atomic_ulong turns_wanted;
static atomic_int stop, failures, interrupted;
static long idle, busy;

static void turn(struct member *self)
{
	size_t size = victim_size(100 + (size_t)self->number % 900);
	unsigned char *block = victim_seen(malloc(size));

	if (!block) {
		atomic_fetch_add(&failures, 1);
		return;
	}
	memset(block, self->number & 0xff, size);
	for (size_t i = 0; i < size; i++)
		if (block[i] != (self->number & 0xff)) {
			atomic_fetch_add(&failures, 1);
			break;
		}
	free(block);
	atomic_fetch_add(&self->turns, 1);
}

static void wait_condition(struct member *self)
{
	pthread_mutex_lock(&lock);
	while (wanted <= atomic_load(&self->turns) && !atomic_load(&stop))
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void note_error(long result)
{
	if (result < 0)
		atomic_fetch_add(errno == EINTR ? &interrupted : &failures, 1);
}

static void wait_read(struct member *self)
{
	eventfd_t value;

	note_error(eventfd_read(self->gate, &value));
}

static void wait_poll(struct member *self)
{
	struct pollfd gate = { .fd = self->gate, .events = POLLIN };
	eventfd_t value;
	int ready = poll(&gate, 1, -1);

	note_error(ready);
	if (ready > 0)
		note_error(eventfd_read(self->gate, &value));
}

static void wait_sleep(struct member *self)
{
	struct timespec time = { .tv_nsec = 200000000 };

	while (atomic_load(&turns_wanted) <= atomic_load(&self->turns) && !atomic_load(&stop))
		note_error(nanosleep(&time, NULL));
}

static void *be_idle(void *argument)
{
	static void (*const waits[])(struct member *) = { wait_condition, wait_read, wait_poll,
							  wait_sleep };
	struct member *self = argument;

	while (!atomic_load(&stop)) {
		waits[self->number % 4](self);
		turn(self);
	}
	return NULL;
}

static void *be_busy(void *argument)
{
	while (!atomic_load(&stop))
		turn(argument);
	return NULL;
}

static void begin(long stack)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, (size_t)stack) != 0)
		victim_fail("--stack");
	for (long i = 0; i < idle + busy; i++) {
		members[i].number = (int)i;
		members[i].gate = i < idle && (i % 4 == 1 || i % 4 == 2) ? eventfd(0, EFD_CLOEXEC) :
									     -1;
		if (pthread_create(&members[i].thread, &attributes, i < idle ? be_idle : be_busy,
				   &members[i]) != 0)
			victim_fail("pthread_create");
	}
}

static void call_all(void)
{
	pthread_mutex_lock(&lock);
	wanted++;
	atomic_store(&turns_wanted, wanted);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (long i = 0; i < idle; i++)
		if (members[i].gate >= 0)
			note_error(eventfd_write(members[i].gate, 1));
}

static int all_took_turns(const unsigned long *before)
{
	for (long i = 0; i < idle + busy; i++)
		if (atomic_load(&members[i].turns) <= before[i])
			return 0;
	return 1;
}

static void check(void)
{
	static unsigned long before[MOST];

	for (long i = 0; i < idle + busy; i++)
		before[i] = atomic_load(&members[i].turns);
	call_all();
	for (int tries = 0; tries < 5000 && !all_took_turns(before); tries++)
		poll(NULL, 0, 10);
	victim_say("check %s\n", all_took_turns(before) && !failures ? "ok" : "failed");
}

int main(int argc, char *argv[])
{
	(void)argc;
	victim_setup();
	idle = victim_number(argv, "idle", 1000);
	busy = victim_number(argv, "busy", 0);
	if (idle < 0 || busy < 0 || idle + busy > MOST)
		victim_fail("--idle and --busy: 4096 at the most");
	victim_yield();
	begin(victim_number(argv, "stack", 16384));
	victim_ready();
	while (victim_await() == 'c')
		check();
	atomic_store(&stop, 1);
	call_all();
	for (long i = 0; i < idle + busy; i++)
		pthread_join(members[i].thread, NULL);
	victim_say("verdict %s {\"eintr\":%d}\n",
		   failures || victim_interrupts() ? "failed" : "ok", interrupted);
	return failures ? 1 : 0;
}
