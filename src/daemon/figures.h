/* SPDX-License-Identifier: MIT */
/*
 * figures.h - what a session tells of itself while it runs: the last figures of its analyst, which
 * takes us for a live screen (src/screen/wire.h) and is believed as little as by one.
 */
#ifndef MEMATTACH_DAEMON_FIGURES_H
#define MEMATTACH_DAEMON_FIGURES_H

#include <stdbool.h>

#include "src/daemon/top_sites.h"
#include "src/screen/wire.h"

/* The last search for leaks that figures_search() asked for. */
struct figures_search {
	bool under_way;
	uint32_t answers;		/* so far; each one is either of these: */
	struct screen_leaks found;	/* as sent, but that what is no number is 0 */
	char why[200];			/* there is no result; "" there is one */
	double time;			/* when it came, as the caller counts */
	bool known;			/* some search, whoever asked for it, had a result; */
	double found_time;		/* found is that of the last one, of this time */
};

/* What was asked of the analyst, one thing at a time. */
struct figures_asked {
	uint64_t id;			/* who asked, as the caller counts; 0: nobody */
	bool there;			/* the answer */
	int error;			/* 0 or -errno; */
	int file;			/* -1, or what it is: the caller's to take */
};

struct figures {
	int socket;			/* -1: nothing more comes */
	bool attached;			/* the process is watched */
	struct figures_asked asked;
	struct screen_inbox in;
	bool known;
	double time;			/* when they came, as the caller counts */
	struct screen_state state;	/* as sent, but that what is no number is 0 */
	uint32_t growing;		/* sites that grow, and not by chance */
	uint32_t too_few;		/* of which too few samples are known to say */
	double growth;			/* of these, bytes a second */
	struct top_sites top;		/* none, unless some are to be kept */
	struct figures_search search;
};

/* ret_theirs: the analyst's end, the caller's to close. 0 or -errno. */
int figures_open(struct figures *figures, int *ret_theirs) _must_check_;
/* Takes what has come, without waiting. True: there are new figures. */
bool figures_take(struct figures *figures, double now);
/*
 * Has its analyst search for leaks, beside the session; one that is under way already will do. What
 * it found is in figures->search, once figures_take() has heard more answers than before, that of a
 * session which ended before it was done included. 0; -EPIPE nothing more comes.
 */
int figures_search(struct figures *figures) _must_check_;
/*
 * Asks for a snapshot now: a JSON document (docs/snapshot.schema.json), which the analyst writes
 * into file_take. 0; -EBUSY something was asked already; -EPIPE, -EAGAIN it can't be asked.
 */
int figures_ask_snapshot(struct figures *figures, uint64_t id, int file_take) _must_check_;
/*
 * Asks for a search for leaks. The answer is a file in memory: a struct screen_header and what
 * follows it, SCREEN_LEAKS_FOUND or SCREEN_LEAKS_NONE, which is not looked at here. As above.
 */
int figures_ask_leaks(struct figures *figures, uint64_t id) _must_check_;
/*
 * Lets it spend so many percent of its process's own time from now on. 0; -EPIPE nothing more
 * comes, -EAGAIN it can't be told now.
 */
int figures_set_budget(struct figures *figures, double percent) _must_check_;
/*
 * Somebody reads its recording: names are written to it from now on, for two minutes. As above.
 */
int figures_want_names(struct figures *figures) _must_check_;
/* The answer was taken, or nobody wants it. */
void figures_asked_done(struct figures *figures);
/* Nothing more is heard; the last figures stay. */
void figures_close(struct figures *figures);
/* The same, and nothing stays. */
void figures_done(struct figures *figures);

#endif
