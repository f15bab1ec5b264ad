/* SPDX-License-Identifier: MIT */
/*
 * children.h - processes that the target forked off while memattach was in it.
 *
 * A child that did not exec has a copy of everything: patched text, shim,
 * islands. It records nothing (its shim finds no ring), but its hooks are there,
 * and its own children inherit them. What is found here is restored as the
 * target itself is, by inject_leave.
 */
#ifndef MEMATTACH_CHILDREN_H
#define MEMATTACH_CHILDREN_H

#include <dirent.h>
#include <sys/types.h>

#include "inject/attach/inject.h"

#define CHILDREN_LISTED 16u

/* A process that keeps something of ours, and why. Crosses to the analyst as it is. */
struct child_left {
	int32_t pid;
	char reason[252];	/* one line, no newline */
};
struct children_left {
	uint32_t restored;
	uint32_t alive_count;	/* of the restored: they run on; CHILDREN_LISTED in alive */
	int32_t alive[CHILDREN_LISTED];
	uint32_t count;		/* of those left; the first CHILDREN_LISTED are named */
	int32_t unread;		/* errno by which not all processes could be looked at; 0: all */
	struct child_left child[CHILDREN_LISTED];
};
/* May there be any? */
static inline bool children_are_left(const struct children_left *left)
{
	return left->count || left->unread;
}

/* Which file is mapped: device and inode. */
struct child_file {
	uint32_t dev_major, dev_minor;
	uint64_t inode;		/* 0: none */
};
struct child_seen {
	pid_t pid;
	uint64_t start_time;
	bool busy;		/* another memattach was at it: to be looked at again */
};
struct children {
	bool known;			/* children_remember found something to look for */
	bool adopted;			/* the journal is the target's, not ours */
	struct attachment from;		/* the target's when the way out began; no target in it */
	struct child_file shim, ring;
	struct child_file own;		/* our program, unless the target runs it: never copies */
	uint64_t since;			/* start time of our keeper: all children are younger */
	uint64_t deadline_ns;		/* for all together; 0: not begun */
	struct child_seen *seen;	/* tried already, owned */
	size_t seen_count;
	DIR *pass;			/* over all processes; NULL: between two passes */
	bool pass_found;		/* it found one: there will be another pass */
	int blind;			/* errno by which some could not be looked at in it; or 0 */
	unsigned int blind_passes;
	struct children_left left;
};

/*
 * Notes what may have been copied, before any of it is taken out: to be called when
 * the way out begins. Calls after the first that found something do nothing.
 */
void children_remember(struct children *children, const struct inject *inject);
/* A copy that is ours, and dies by another hand: never found by children_next. 0 or -ENOMEM. */
int children_skip(struct children *children, pid_t pid);
/*
 * The next process that has our memory mapped and was not tried yet, other than
 * target (which may have ended) and those that share its very memory. 1: *ret
 * can be left as if it had been entered, its lock is taken, inject_done is the
 * caller's; 0: a whole pass over all processes found none, or the time is over. One that another
 * memattach has in hand (which may be restoring it, to watch it itself) is waited for.
 * Those that can't even be opened are noted as left; left.unread: not all could be looked at.
 */
int children_next(struct children *children, const struct target *target, struct inject *ret)
	_must_check_;
/* Books what became of it: error 0 or what stood in the way, with child->problem. */
void children_note(struct children *children, const struct inject *child, int error);
void children_done(struct children *children);

#endif
