/* SPDX-License-Identifier: MIT */
/*
 * schedule.h - every order in which tasks can come to their points, up to a number of preemptions.
 *
 * A task is a function with a stack of its own. It goes on until it comes to a point
 * (schedule_point), where each other task that can go on may take its turn: a preemption; or until
 * it waits or ends, which costs none. schedule_explore() runs the same tasks again and again, each
 * time in another order, depth first, until there is none that it has not tried. The order of
 * memory is that of the program: what weaker processors do is not seen here.
 */
#ifndef MEMATTACH_RACE_SCHEDULE_H
#define MEMATTACH_RACE_SCHEDULE_H

#include <stdbool.h>

#define SCHEDULE_TASKS 6

struct schedule_task {
	void (*run)(struct schedule_task *task);
	int number;       /* what it is told; the task's own */
	unsigned int cpu; /* likewise */
	bool mortal;      /* it may end for ever at any point, once in a run */
	int interrupts;   /* 1 + index: it comes in the middle of that task, which then waits
			     for its end, as a signal handler; 0: none */
};

struct schedule {
	struct schedule_task task[SCHEDULE_TASKS];
	int tasks;
	int preemptions;       /* the most in a run */
	void (*begin)(void);   /* before each run */
	void (*end)(void);     /* after it, when all have ended */
	void (*stalled)(void); /* all that are left wait: time passes, and they go on */
};

/* Runs them in all orders; how many runs that took. */
unsigned long schedule_explore(struct schedule *schedule);

/* Of the task at work: */
/* A point. */
void schedule_point(void);
/* Waits until done() says true; after stalled() in any case. */
void schedule_wait(bool (*done)(const void *context), const void *context);
/* The task at work; NULL: none, this is begin() or end(). */
struct schedule_task *schedule_current(void);
/* Has it ended, one way or the other? died: without its last word. */
bool schedule_ended(int index);
bool schedule_died(int index);
/* The order of this run, for a failure's message. */
const char *schedule_trail(void);

#endif
