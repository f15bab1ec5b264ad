/* SPDX-License-Identifier: MIT */
/*
 * access_plan.h - which words of which blocks are watched next: a processor has four debug
 * registers, and a report has more blocks than that.
 */
#ifndef MEMATTACH_ACCESS_PLAN_H
#define MEMATTACH_ACCESS_PLAN_H

#include "inject/snapshot/access_watch.h"
#include "src/leak/findings/leak_report.h"

enum access_state {
	ACCESS_QUIET = 0,	/* not seen to be used */
	ACCESS_TOUCHED,		/* read or written */
	ACCESS_FREED,		/* or moved: its words are another block's, or nobody's */
	ACCESS_CHANGED,		/* written or freed, but not when one of the words was watched */
	ACCESS_GONE,		/* its memory is not there any more */
};
/* An example of a group. */
struct access_block {
	uint64_t address, bytes;	/* bytes: 0 unknown */
	size_t group;			/* index in the report */
	uint32_t example;		/* index in the group's addresses */
	enum access_state state;
	uint64_t contents;		/* hash of its first bytes before anything was watched */
	uint64_t turn;			/* how many of its words were chosen so far */
	uint64_t touched;		/* address of the word that was */
	uint32_t confirmed;		/* slices in which that one was watched again */
	uint32_t more;			/* how many other words were chosen since */
	bool capped;			/* it had more hits than were counted */
	double armed;			/* seconds in which some word of it was watched */
};
/* Those of one group; watched in turn. */
struct access_turns {
	size_t begin, end, turn;	/* of access_plan.block */
};
struct access_plan {
	struct access_block *block;
	size_t count;
	struct access_turns *group;
	size_t group_count, cursor, pair_cursor, more_cursor;
};

/* A word of a block. Paired ones come in two: all accesses, then writes only. */
struct access_target {
	size_t block;
	uint64_t address;
	bool paired, writes_only;
};
struct access_slice {
	uint32_t count;
	struct access_target target[ACCESS_SLOTS];
};

/* The examples of all groups of report that are lost or suspect. 0 or -ENOMEM. */
int access_plan_new(const struct leak_report *report, struct access_plan *ret) _must_check_;
void access_plan_done(struct access_plan *plan);
/*
 * What to watch next with slots (1 to ACCESS_SLOTS) debug registers; count 0: nothing is left to
 * be found out.
 */
void access_plan_next(struct access_plan *plan, uint32_t slots, struct access_slice *ret);

#endif
