/* SPDX-License-Identifier: MIT */
/*
 * front_family.h - who descends from those that are watched: by the kernel's events where it tells
 * them, else as its list of processes shows.
 */
#ifndef MEMATTACH_FRONT_FAMILY_H
#define MEMATTACH_FRONT_FAMILY_H

#include "src/several/find.h"
#include "src/several/marks.h"
#include "src/several/relatives.h"

struct family {
	int events;			/* the kernel's (process_events.h); -1: it tells us none */
	int found[2];			/* sockets: who was found by its marks by who watches */
	double listed;			/* when all processes were listed last; front_now */
	struct process_set known;	/* then */
	struct marks marks;		/* of sessions: copies of them are in who was forked */
	struct relatives relatives;	/* those that are watched, too */
	struct process_set ready;	/* of this look */
};
#define FAMILY_NONE ((struct family){ .events = -1, .found = { -1, -1 } })

/* From now on. Who is there already is nobody's new child. 0 or -errno. */
int family_begin(struct family *family) _must_check_;
/* pid is watched. 0 or -ENOMEM. */
int family_add(struct family *family, pid_t pid) _must_check_;
/* Where those that watch write whom they have restored (session_options.tell_children). */
int family_found(const struct family *family);
/* Seconds from one look to the next. */
double family_pause(const struct family *family);
/*
 * Sets ready to new descendants that have lived for a moment since they were forked, or called
 * exec, and that nobody traces (a picture of memory for a leak report is a child, too). Each is
 * ready once. 0 or -errno.
 */
int family_look(struct family *family) _must_check_;
/* Those that may be ready at a later look. */
size_t family_waiting(const struct family *family);
/* The watch is over: whoever is not ready by now never will be. 0 or -errno. */
int family_end(struct family *family) _must_check_;
/* Descendants that ended before they were ready, or were not when the watch was over. */
uint32_t family_missed(const struct family *family);
void family_done(struct family *family);

#endif
