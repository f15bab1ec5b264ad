/* SPDX-License-Identifier: MIT */
/*
 * relatives.h - who descends from those that are watched: what is known of each while it lives.
 * Pure: where the news come from is another's matter.
 */
#ifndef MEMATTACH_SEVERAL_RELATIVES_H
#define MEMATTACH_SEVERAL_RELATIVES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

struct relative {
	pid_t pid;
	double since;		/* seconds: when it was forked, or called exec, as far as known */
	bool taken;		/* somebody watches it, or has tried to */
	bool spared;		/* not the target's own (a picture of memory): never missed */
	bool marked;		/* for the caller: marks of its session are known, */
	double checked;		/* and when they were looked for last */
};
/* A zeroed one is empty. */
struct relatives {
	size_t count, waiting;	/* waiting: neither taken nor spared */
	struct relative *of;	/* ascending by pid, each once */
	uint32_t missed;	/* that ended untaken */
};

void relatives_done(struct relatives *relatives);
/* NULL: it is none. Valid until the next change. */
struct relative *relatives_find(const struct relatives *relatives, pid_t pid);
/* A new one. taken: one that is known is taken from now on, with marks anew. 0 or -ENOMEM. */
int relatives_add(struct relatives *relatives, pid_t pid, double now, bool taken) _must_check_;
/* Somebody forked: adds child if parent is one. 0 or -ENOMEM. */
int relatives_fork(struct relatives *relatives, pid_t parent, pid_t child, double now)
	_must_check_;
/* It runs another program from now on. */
void relatives_exec(struct relatives *relatives, pid_t pid, double now);
/* It has ended; counts as missed unless it was taken or spared. */
void relatives_exit(struct relatives *relatives, pid_t pid);
/* Of one that was found. */
void relatives_take(struct relatives *relatives, struct relative *relative);
void relatives_spare(struct relatives *relatives, struct relative *relative, bool spared);
/* The watch is over: who waits is missed. */
void relatives_end(struct relatives *relatives);

#endif
