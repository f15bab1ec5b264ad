/* SPDX-License-Identifier: MIT */
/*
 * handover.c - threads that free each other's blocks, and every kind of realloc, with books.
 *
 * Threads exist, with names, before anybody attaches: two are called "worker", one "sink".
 * Commands: 'g' runs all steps, one after the other, and says what each thread allocated, freed
 * and freed of others', by thread and by the function that allocated; then "handed ok". 'r' runs
 * every kind of realloc and says, by function, what became of it; then "done ok". 'q' ends.
 */
#include "tests/victims/victim.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS		3
#define BLOCKS		200
#define SITES		2

struct thread {
	const char *name;
	pthread_t thread;
	int tid;
	void *block[BLOCKS];
	size_t size[BLOCKS];
	int blocks;
	long allocs, bytes, frees, freed, others, live, live_bytes;
	long at_site[SITES], bytes_at_site[SITES], live_at_site[SITES];
	int site[BLOCKS];
	long given[THREADS], given_bytes[THREADS];	/* of its blocks, freed by that thread */
};

static struct thread threads[THREADS] = { { .name = "worker" }, { .name = "worker" },
					  { .name = "sink" } };
static pthread_barrier_t step;

VICTIM_FRAME static void *make_small(void)
{
	return victim_seen(malloc(victim_size(64)));
}

VICTIM_FRAME static void *make_large(size_t size)
{
	return victim_seen(malloc(victim_size(size)));
}

static void make(struct thread *self, int count, size_t size)
{
	for (int i = 0; i < count; i++) {
		int at = self->blocks++, site = size != 64;

		self->block[at] = site ? make_large(size) : make_small();
		self->size[at] = size;
		self->site[at] = site;
		self->allocs++;
		self->live++;
		self->bytes += (long)size;
		self->live_bytes += (long)size;
		self->at_site[site]++;
		self->live_at_site[site]++;
		self->bytes_at_site[site] += (long)size;
	}
}

/* self frees the last count blocks of owner. */
static void drop(struct thread *self, struct thread *owner, int count)
{
	for (int i = 0; i < count; i++) {
		int at = --owner->blocks;
		long size = (long)owner->size[at];

		free(owner->block[at]);
		self->frees++;
		self->freed += size;
		owner->live--;
		owner->live_bytes -= size;
		owner->live_at_site[owner->site[at]]--;
		if (self == owner)
			continue;
		self->others++;
		owner->given[self - threads]++;
		owner->given_bytes[self - threads] += size;
	}
}

/* What each thread does in each step. Only one thread touches another's in a step. */
static void act(struct thread *self, int at)
{
	int who = (int)(self - threads);

	if (at == 0) {
		make(self, who == 0 ? 100 : who == 1 ? 40 : 5, 64);
		make(self, who == 0 ? 50 : 10, 200 + 100 * (size_t)who);
	} else if (at == 1 && who == 2) {
		drop(self, &threads[0], 30);
		drop(self, &threads[1], 15);
		drop(self, self, 3);
	} else if (at == 2 && who == 1) {
		drop(self, &threads[0], 7);
		drop(self, self, 2);
	} else if (at == 3 && who == 0) {
		drop(self, self, 20);
		drop(self, &threads[2], 4);
	}
}

static void *run(void *argument)
{
	struct thread *self = argument;

	self->tid = (int)syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), self->name);
	pthread_barrier_wait(&step);
	for (;;)
		for (int at = 0; at < 4; at++) {
			pthread_barrier_wait(&step);
			act(self, at);
			pthread_barrier_wait(&step);
		}
	return NULL;
}

static void say_threads(void)
{
	for (int i = 0; i < THREADS; i++) {
		const struct thread *t = &threads[i];

		victim_say("thread %d %s %ld %ld %ld %ld %ld %ld %ld\n", t->tid, t->name,
			   t->allocs, t->bytes, t->frees, t->freed, t->others, t->live,
			   t->live_bytes);
		for (int site = 0; site < SITES; site++)
			victim_say("part %d %s %ld %ld %ld\n", t->tid,
				   site ? "make_large" : "make_small", t->at_site[site],
				   t->bytes_at_site[site], t->live_at_site[site]);
		for (int other = 0; other < THREADS; other++)
			if (t->given[other])
				victim_say("given %d %d %ld %ld\n", t->tid, threads[other].tid,
					   t->given[other], t->given_bytes[other]);
	}
	victim_say("handed ok\n");
}

/* ---- realloc ---- */

enum outcome { GROWN, SHRUNK, SAME, MOVED, FAILED, FROM_NULL, FREED, OUTCOMES };
static long resized[OUTCOMES], copied;

VICTIM_FRAME static void *resize(void *old, size_t from, size_t to)
{
	volatile uintptr_t before = (uintptr_t)old;	/* the compiler need not know what it is */
	void *block = victim_seen(realloc(old, victim_size(to)));

	if (!before)
		resized[FROM_NULL]++;
	else if (!block)
		resized[to ? FAILED : FREED]++;
	else if ((uintptr_t)block != before)
		resized[MOVED]++, copied += (long)(from < to ? from : to);
	else
		resized[to > from ? GROWN : to < from ? SHRUNK : SAME]++;
	return block ? block : to ? (void *)before : NULL;
}

VICTIM_FRAME static void *resize_array(void *old, size_t count)
{
	return victim_seen(reallocarray(old, victim_size(count), 16));
}

static void say_resized(const char *function)
{
	victim_say("resized %s %ld %ld %ld %ld %ld %ld %ld %ld\n", function, resized[GROWN],
		   resized[SHRUNK], resized[SAME], resized[MOVED], copied, resized[FAILED],
		   resized[FROM_NULL], resized[FREED]);
}

static void resize_all(void)
{
	void *kept[20];

	for (int i = 0; i < 20; i++) {
		void *p = resize(NULL, 0, 100);

		p = resize(p, 100, 104);		/* in the same chunk */
		p = resize(p, 104, 104);
		p = resize(p, 104, 40);
		kept[i] = resize(p, 40, 3000);		/* the next one is in its way, or not */
		kept[i] = resize(kept[i], 3000, SIZE_MAX / 4);
	}
	for (int i = 0; i < 20; i++)
		kept[i] = resize(kept[i], 3000, i % 2 ? 0 : 50);
	if (resize(NULL, 0, SIZE_MAX / 4))
		victim_fail("there is no such block");
	resized[FROM_NULL]--;
	resized[FAILED]++;
	say_resized("resize");
	kept[0] = resize_array(NULL, 4);
	if (resize_array(kept[0], SIZE_MAX / 2) || !kept[0])
		victim_fail("an overflow went unnoticed");
	memset(resized, 0, sizeof(resized));
	copied = 0;
	resized[FROM_NULL] = resized[FAILED] = 1;
	say_resized("resize_array");
	victim_say("done ok\n");
}

int main(int argc, char *argv[])
{
	char command;

	(void)argc;
	(void)argv;
	victim_setup();
	pthread_barrier_init(&step, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i].thread, NULL, run, &threads[i]))
			victim_fail("no thread");
	pthread_barrier_wait(&step);
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 'r') {
			resize_all();
			continue;
		}
		for (int at = 0; at < 2 * 4; at++)
			pthread_barrier_wait(&step);
		say_threads();
	}
	return 0;
}
