/* SPDX-License-Identifier: MIT */
/*
 * front_family.h - who was forked by those that are watched, as the kernel's list of processes
 * shows.
 */
#ifndef MEMATTACH_FRONT_FAMILY_H
#define MEMATTACH_FRONT_FAMILY_H

#include "src/several/find.h"

/*
 * Every look lists all processes; of those that are new since the last one, the parents are asked
 * for. A child that is still there at the look after that is ready: who lives for less than two
 * looks, and who was left by its parent before the first, is never seen.
 */
struct family {
	struct process_set known;	/* at the last look */
	struct process_set children;	/* new then, and of the family */
	struct process_set ready;	/* of this look */
};

/* The first look: who is there already is nobody's new child. 0 or -errno. */
int family_begin(struct family *family) _must_check_;
/*
 * Sets ready to children of members, or of children of theirs, that are there for the second time
 * and that nobody traces (a picture of memory for a leak report is a child, too). 0 or -errno.
 */
int family_look(struct family *family, const struct process_set *members) _must_check_;
void family_done(struct family *family);

#endif
