/* SPDX-License-Identifier: MIT */
/*
 * quiesce_races.c - why the shim may be unmapped once each thread was seen outside once: threads
 * that come and go through a hook, and the keeper that leaves, in every order (schedule.h).
 *
 * A model, as no thread of a test can be stopped between two of its instructions at will: a thread
 * is where it executes and the words on its stack. It calls the entry; finds it patched or not; is
 * in the island, the shim, the original with a return address into the shim below it, in the shim
 * again, outside. A handler may come at any of these and call the entry itself. The keeper reverts
 * the entry and then looks at each thread, one at a time, until each was seen outside once
 * (inject/quiesce/quiesce.c); then it unmaps. Nobody may execute what is unmapped.
 *
 * The rules that the keeper follows are each left out once: then there must be an order in which
 * somebody does. Else the model would show nothing.
 */
#include "tests/race/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum where { OUTSIDE, ISLAND, SHIM, ORIGINAL };

/* What the keeper may leave out. */
enum rule { ALL_RULES, REVERT_FIRST, LOOK_AT_WORDS, LOOK_BELOW_HANDLERS, LOOK_AT_EACH, RULES };

enum { THREADS = 3, FRAMES = 3, NEW = 2 /* the thread that another one makes */ };

struct frame {
	enum where where;
	bool returns_to_shim; /* a word on the stack */
	bool interrupted;     /* a handler's frame is above it, maybe on another stack */
};

static struct {
	struct frame frame[FRAMES]; /* the innermost last; [0]: the thread's own */
	int frames;
	bool exists;
} thread[THREADS];

static bool patched, mapped;
static enum rule left_out;
static bool crashed; /* in this run */
static unsigned long crashes;

static bool is_ours(enum where where)
{
	return where == ISLAND || where == SHIM;
}

/* From where it is, whose last instruction it executes first, to there. */
static void be(int t, enum where where)
{
	struct frame *frame = &thread[t].frame[thread[t].frames - 1];

	crashed = crashed || (!mapped && (is_ours(frame->where) || is_ours(where)));
	frame->where = where;
	schedule_point();
}

/* One call of malloc(); each step can be the last before anything else happens. */
static void call_entry(int t)
{
	struct frame *frame = &thread[t].frame[thread[t].frames - 1];

	schedule_point();
	if (patched) {
		be(t, ISLAND);
		be(t, SHIM);
		frame->returns_to_shim = true;
		be(t, ORIGINAL);
		frame->returns_to_shim = false;
		be(t, SHIM);
	}
	be(t, OUTSIDE);
}

static void make_thread(int t)
{
	memset(&thread[t], 0, sizeof(thread[t]));
	thread[t].frames = 1;
	thread[t].exists = true;
}

/* Allocates twice; the first one makes another thread in between. */
static void run_thread(struct schedule_task *task)
{
	call_entry(task->number);
	if (task->number == 0)
		make_thread(NEW);
	call_entry(task->number);
}

static bool new_exists(const void *unused)
{
	(void)unused;
	return thread[NEW].exists;
}

static void run_new(struct schedule_task *task)
{
	schedule_wait(new_exists, NULL);
	if (thread[NEW].exists)
		call_entry(task->number);
}

/* In the middle of thread 1, on a stack of its own. */
static void run_handler(struct schedule_task *task)
{
	int t = task->number;

	thread[t].frame[0].interrupted = true;
	thread[t].frame[1] = (struct frame){ OUTSIDE, false, false };
	thread[t].frames = 2;
	call_entry(t);
	thread[t].frames = 1;
	thread[t].frame[0].interrupted = false;
}

/* As quiesce.c does, of a thread that stands still: where it is, and the words of its stacks. */
static bool is_outside(int t)
{
	for (int i = 0; i < thread[t].frames; i++) {
		const struct frame *frame = &thread[t].frame[i];

		if (left_out == LOOK_BELOW_HANDLERS && frame->interrupted)
			continue;
		if (is_ours(frame->where) || (left_out != LOOK_AT_WORDS && frame->returns_to_shim))
			return false;
	}
	return true;
}

static bool is_outside_now(const void *t)
{
	return is_outside(*(const int *)t);
}

static void look_at_threads(void)
{
	for (int t = 0; t < (left_out == LOOK_AT_EACH ? 1 : THREADS); t++) {
		if (!thread[t].exists)
			continue; /* what comes later begins outside */
		schedule_wait(is_outside_now, &t);
		if (!is_outside(t))
			return; /* it never is: the shim stays */
		schedule_point();
	}
	mapped = false;
}

static void run_keeper(struct schedule_task *task)
{
	(void)task;
	if (left_out != REVERT_FIRST) {
		schedule_point();
		patched = false;
	}
	schedule_point();
	look_at_threads();
	patched = false;
}

static void begin(void)
{
	memset(thread, 0, sizeof(thread));
	make_thread(0);
	make_thread(1);
	patched = mapped = true;
	crashed = false;
}

static void end(void)
{
	crashes += crashed;
	if (!crashed || left_out != ALL_RULES)
		return;
	(void)fprintf(stderr, "FAIL: somebody executes what is unmapped; order %s\n",
		      schedule_trail());
	abort();
}

static void stalled(void)
{
}

static unsigned long explore(int preemptions)
{
	struct schedule schedule = {
		.task = { { run_thread, 0, 0, false, 0 },
			  { run_thread, 1, 0, false, 0 },
			  { run_new, NEW, 0, false, 0 },
			  { run_handler, 1, 0, false, 2 },
			  { run_keeper, 0, 0, false, 0 } },
		.tasks = 5,
		.preemptions = preemptions,
		.begin = begin,
		.end = end,
		.stalled = stalled,
	};

	crashes = 0;
	return schedule_explore(&schedule);
}

int main(void)
{
	static const char *const name[RULES] = {
		"as it is",
		"without reverting first",
		"without looking at words of stacks",
		"without looking below handlers",
		"without looking at each thread",
	};
	const char *more = getenv("RACE_PREEMPTIONS");
	int failed = 0;

	for (left_out = ALL_RULES; left_out < RULES; left_out++) {
		unsigned long runs = explore(2 + (more ? atoi(more) : 0));

		printf("%s: %lu orders, in %lu somebody executes what is unmapped\n",
		       name[left_out], runs, crashes);
		failed |= left_out != ALL_RULES && crashes == 0;
	}
	if (failed)
		printf("FAIL: a rule that can be left out shows nothing\n");
	return failed;
}
