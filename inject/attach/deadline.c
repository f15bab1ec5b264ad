/* SPDX-License-Identifier: MIT */
/*
 * deadline.c - see deadline.h.
 *
 * A thread of its own, because the keeper's other work takes longer than the time after which
 * hooks must be inert, and real-time where that is allowed, because on a machine with more work
 * than processors the keeper waits for its turn behind the very threads that it watches. It
 * touches nothing but the control block and the address table.
 * A keeper that gets nowhere for long (it hangs) is taken for dead all the same. What stands in the
 * shared page may have been changed by the target: places and times come from our own books.
 * Should the deadline pass nevertheless (the machine stood still), frees were missed: the table
 * of addresses is emptied, a new epoch begun, and the reader told since when.
 */
#include "inject/attach/deadline.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inject/abi/marks_abi.h"
#include "inject/attach/ring_setup.h"

/* A keeper that is late by more than this is taken for dead. */
#define DEADLINE_MS	800u
#define TURN_MS		200u	/* each awakening costs: a target may be idle for days */
#define SLOW_DEADLINE_MS 8000u	/* where hundreds may be watched, and no thread ever waits */
#define SLOW_TURN_MS	6000u
#define HANG_MS		48000u
#define STACK_BYTES	(128u * 1024)

struct beat {
	unsigned int deadline, turn;	/* milliseconds */
};
static const struct beat fast = { DEADLINE_MS, TURN_MS }, slow = { SLOW_DEADLINE_MS, SLOW_TURN_MS };

struct deadline {
	struct ring_control *control;
	uint64_t *table;
	size_t table_slots;
	struct beat ms;
	uint64_t epoch, deadline, gap_cycles;	/* what control was told */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool end;		/* under lock */
	unsigned int idle;	/* turns since deadline_alive */
};

static void move_ahead(struct deadline *d)
{
	d->deadline = ring_setup_tsc() + ring_setup_tsc_hz() / 1000 * d->ms.deadline;
	__atomic_store_n(&d->control->deadline, d->deadline, __ATOMIC_RELEASE);
}

/* In exact mode it holds bits, and nothing is marked. */
static void empty_table(struct deadline *d)
{
	for (size_t i = 0; i < d->table_slots; i++)
		if (__atomic_load_n(&d->table[i], __ATOMIC_RELAXED))
			marks_remove(d->control, __atomic_exchange_n(&d->table[i], 0,
								     __ATOMIC_SEQ_CST));
}

/* After a lapse: the shim's threads pass by until they see the new epoch. */
static void begin_epoch(struct deadline *d)
{
	struct ring_control *control = d->control;
	uint64_t now = ring_setup_tsc();

	empty_table(d);
	d->gap_cycles += now > d->deadline ? now - d->deadline : 0;
	__atomic_store_n(&control->gap_cycles, d->gap_cycles, __ATOMIC_RELAXED);
	__atomic_store_n(&control->resumed, now, __ATOMIC_RELAXED);
	move_ahead(d);
	__atomic_store_n(&control->epoch, ++d->epoch, __ATOMIC_RELEASE);
}

static void take_turn(struct deadline *d)
{
	if (__atomic_load_n(&d->control->lapsed, __ATOMIC_ACQUIRE) >= d->epoch)
		begin_epoch(d);
	else
		move_ahead(d);
}

static struct timespec next_turn(const struct deadline *d)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += d->ms.turn / 1000;
	t.tv_nsec += d->ms.turn % 1000 * 1000000l;
	if (t.tv_nsec >= 1000000000l) {
		t.tv_nsec -= 1000000000l;
		t.tv_sec++;
	}
	return t;
}

static void *run(void *context)
{
	struct deadline *d = context;
	struct sched_param parameter = { .sched_priority = 1 };

	(void)sched_setscheduler(0, SCHED_FIFO, &parameter);	/* this thread's; or not */
	(void)pthread_mutex_lock(&d->lock);
	while (!d->end) {
		struct timespec until = next_turn(d);

		if (__atomic_add_fetch(&d->idle, 1, __ATOMIC_RELAXED) < HANG_MS / d->ms.turn)
			take_turn(d);
		(void)pthread_cond_timedwait(&d->ended, &d->lock, &until);
	}
	(void)pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* With all signals blocked: they are the keeper's. */
static int start_thread(struct deadline *d)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&d->thread, &attributes, run, d);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return -error;
}

static int prepare(struct deadline *d)
{
	pthread_condattr_t attributes;
	int error = pthread_condattr_init(&attributes);

	if (error)
		return -error;
	d->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	error = pthread_cond_init(&d->ended, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	return -error;
}

static void done(struct deadline *d)
{
	(void)pthread_cond_destroy(&d->ended);
	(void)pthread_mutex_destroy(&d->lock);
	free(d);
}

int deadline_start(struct attachment *a)
{
	struct deadline *d = calloc(1, sizeof(*d));
	struct ring_control ours = { 0 };
	int error;

	if (!d)
		return -ENOMEM;
	ring_setup_control(&ours, &a->geometry);
	d->control = a->control;
	d->table = (uint64_t *)((uint8_t *)a->control + ours.table_offset);
	d->table_slots = ours.table_slots;
	d->epoch = ours.epoch;
	d->ms = a->unhurried ? slow : fast;
	move_ahead(d);
	error = prepare(d);
	if (error) {
		free(d);
		return error;
	}
	error = start_thread(d);
	if (error) {
		done(d);
		return error;
	}
	a->clock = d;
	return 0;
}

void deadline_alive(struct deadline *d)
{
	if (d)
		__atomic_store_n(&d->idle, 0, __ATOMIC_RELAXED);
}

void deadline_stop(struct deadline *d)
{
	if (!d)
		return;
	(void)pthread_mutex_lock(&d->lock);
	d->end = true;
	(void)pthread_cond_signal(&d->ended);
	(void)pthread_mutex_unlock(&d->lock);
	(void)pthread_join(d->thread, NULL);
	done(d);
}
