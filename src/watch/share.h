/* SPDX-License-Identifier: MIT */
/*
 * share.h - how much of processors that are all busy the analyst may take while it can't keep up.
 *
 * What is lost at once costs the target little; to record more of it costs it processors, on a
 * small machine half of them. Where it can't be all anyway, it has to do with a quarter of them.
 */
#ifndef MEMATTACH_SHARE_H
#define MEMATTACH_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct share {
	int file;		/* /proc/loadavg, -1: there is none, nothing is held back */
	double processors;	/* online */
	double runnable;	/* threads that run or wait for a processor: a mean */
	double debt_ns;		/* CPU time beyond the share */
	uint64_t wall_ns, cpu_ns;	/* at the last turn; 0: there was none */
};

/* Where the machine can't be looked at, the share is all of it. */
void share_open(struct share *share);
void share_close(struct share *share);
/*
 * After each drain; losing: the target loses events, as there is no room for them. How long to
 * rest, in nanoseconds: 0 unless the machine's processors are all busy, too.
 */
uint64_t share_turn(struct share *share, bool losing);

/* The parts. Threads that are runnable, by the text of /proc/loadavg (proc(5)); -1 it isn't one. */
long share_runnable(const char *loadavg);
/* As share_turn(), by the clock, this process's CPU time and share_runnable(). */
uint64_t share_rest(struct share *share, uint64_t wall_ns, uint64_t cpu_ns, long runnable,
		    bool losing);

#endif
