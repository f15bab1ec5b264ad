/* SPDX-License-Identifier: MIT */
/*
 * schedule.c - see schedule.h. A run is told by its choices: at each point with more than one way
 * to go on, which was taken. The next run takes the same ones up to the last that has another way.
 */
#include "tests/race/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK_BYTES = 256 * 1024, CHOICES = 4096, WAYS = 2 * SCHEDULE_TASKS };

struct state {
	ucontext_t context;
	char *stack;
	bool begun, ended, died;
	bool (*waits_for)(const void *context);
	const void *waits_with;
};

/* A way to go on: that task; or it, once this one has died. */
struct way {
	int task;
	bool dies;
};

static struct schedule *now;
static struct state state[SCHEDULE_TASKS];
static ucontext_t outside;
static int current;   /* -1: outside */
static int preempted; /* so often in this run */
static bool somebody_died;

static struct {
	unsigned char taken, ways;
} choice[CHOICES];
static int choices, depth; /* made in all; come to in this run */
static char trail[2 * CHOICES];

static void die(const char *what)
{
	(void)fprintf(stderr, "schedule: %s\n", what);
	abort();
}

struct schedule_task *schedule_current(void)
{
	return current < 0 ? NULL : &now->task[current];
}

bool schedule_ended(int index)
{
	return state[index].ended;
}

bool schedule_died(int index)
{
	return state[index].died;
}

const char *schedule_trail(void)
{
	int length = 0;

	trail[0] = '\0';
	for (int i = 0; i < depth && length < (int)sizeof(trail) - 4; i++)
		length += snprintf(trail + length, sizeof(trail) - (size_t)length, "%u",
				   choice[i].taken % 10u);
	return trail;
}

/* Is somebody in the middle of this task, or would this one be out of place now? */
static bool is_interrupted(int task)
{
	for (int i = 0; i < now->tasks; i++)
		if (now->task[i].interrupts == task + 1 && state[i].begun && !state[i].ended)
			return true;
	return false;
}

static bool can_go_on(int task)
{
	int below = now->task[task].interrupts - 1;

	if (state[task].ended || is_interrupted(task))
		return false;
	if (below >= 0 && !state[task].begun && (!state[below].begun || state[below].ended))
		return false;
	return !state[task].waits_for || state[task].waits_for(state[task].waits_with);
}

static bool may_die(int task)
{
	return task >= 0 && now->task[task].mortal && !somebody_died && !state[task].ended &&
	       !state[task].waits_for;
}

/* All ways, the present task's going on first. */
static int list_ways(struct way *way)
{
	bool goes_on = current >= 0 && can_go_on(current);
	int count = 0;

	if (goes_on)
		way[count++] = (struct way){ current, false };
	for (int i = 0; i < now->tasks && (!goes_on || preempted < now->preemptions); i++)
		if (i != current && can_go_on(i))
			way[count++] = (struct way){ i, false };
	if (may_die(current))
		for (int i = 0; i < now->tasks; i++)
			if (i != current && can_go_on(i))
				way[count++] = (struct way){ i, true };
	return count;
}

/* As in the run before up to its last choice that has another way, then the first of each. */
static int take(int ways)
{
	if (ways == 1)
		return 0;
	if (depth == CHOICES)
		die("too many choices");
	if (depth == choices) {
		choice[choices].taken = 0;
		choice[choices++].ways = (unsigned char)ways;
	}
	if (choice[depth].ways != ways)
		die("a run does not repeat");
	return choice[depth++].taken;
}

/* Nobody may hold on to a wait that is over. */
static void switch_to(int task)
{
	int before = current;

	current = task;
	state[task].begun = true;
	state[task].waits_for = NULL;
	if (before == task)
		return;
	if (before < 0)
		(void)swapcontext(&outside, &state[task].context);
	else
		(void)swapcontext(&state[before].context, &state[task].context);
}

static void leave(void)
{
	int before = current;

	current = -1;
	(void)swapcontext(&state[before].context, &outside);
}

/* True if some task is left that waits. */
static bool stall(void)
{
	bool any = false;

	for (int i = 0; i < now->tasks; i++)
		any |= !state[i].ended && state[i].waits_for && !is_interrupted(i);
	if (!any)
		return false;
	now->stalled();
	for (int i = 0; i < now->tasks; i++)
		if (!is_interrupted(i))
			state[i].waits_for = NULL;
	return true;
}

/* A handler that has not come by then never does. */
static void end_task(int task, bool dies)
{
	state[task].ended = true;
	state[task].died = dies;
	somebody_died |= dies;
	for (int i = 0; i < now->tasks; i++)
		if (now->task[i].interrupts == task + 1 && !state[i].begun)
			state[i].ended = true;
}

static void go_on(void)
{
	struct way way[WAYS], taken;
	bool could = current >= 0 && can_go_on(current);
	int ways = list_ways(way);

	if (!ways && stall())
		ways = list_ways(way);
	if (!ways) {
		leave();
		return;
	}
	taken = way[take(ways)];
	if (taken.dies) {
		end_task(current, true);
	} else if (could && taken.task != current) {
		preempted++;
	}
	switch_to(taken.task);
}

void schedule_point(void)
{
	if (current >= 0)
		go_on();
}

void schedule_wait(bool (*done)(const void *context), const void *context)
{
	if (current < 0)
		return;
	state[current].waits_for = done;
	state[current].waits_with = context;
	go_on();
}

static void run_task(void)
{
	struct schedule_task *task = schedule_current();

	task->run(task);
	end_task(current, false);
	go_on();
	die("a task that has ended goes on");
}

static void make_context(struct state *s)
{
	if (!s->stack || getcontext(&s->context))
		die("no stack");
	s->context.uc_stack.ss_sp = s->stack;
	s->context.uc_stack.ss_size = STACK_BYTES;
	s->context.uc_link = NULL;
	makecontext(&s->context, run_task, 0);
}

static void begin_run(void)
{
	current = -1;
	depth = preempted = 0;
	somebody_died = false;
	for (int i = 0; i < now->tasks; i++) {
		char *stack = state[i].stack ? state[i].stack : malloc(STACK_BYTES);

		state[i] = (struct state){ .stack = stack };
		make_context(&state[i]);
	}
}

/* To the next order; false: that was the last one. */
static bool next_order(void)
{
	while (choices > 0 && choice[choices - 1].taken + 1 == choice[choices - 1].ways)
		choices--;
	if (choices == 0)
		return false;
	choice[choices - 1].taken++;
	return true;
}

unsigned long schedule_explore(struct schedule *schedule)
{
	unsigned long runs = 0;

	now = schedule;
	choices = 0;
	do {
		begin_run();
		now->begin();
		go_on();
		if (depth < choices)
			die("a run ends before it did");
		now->end();
		runs++;
	} while (next_order());
	return runs;
}
