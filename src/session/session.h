/* SPDX-License-Identifier: MIT */
/*
 * session.h - one target from attach to report: the product's state machine,
 * as the analyst runs it.
 */
#ifndef MEMATTACH_SESSION_H
#define MEMATTACH_SESSION_H

#include "inject/attach/attachment.h"
#include "inject/attach/children.h"
#include "src/live/snapshot.h"
#include "src/plan/custom_functions.h"
#include "src/sandbox/opener_rules.h"
#include "src/trace/filter.h"
#include "src/view/view.h"

struct recording_unnamed;

/* How a program ends (DESIGN: the command line's contract). */
enum session_exit {
	SESSION_OK = 0,
	SESSION_LEAKS = 1,
	SESSION_USAGE = 2,
	SESSION_REFUSED = 3,
	SESSION_TARGET_ENDED = 4,
	SESSION_DORMANT = 5,
	SESSION_FAILED = 6,
};

enum session_task {
	SESSION_WATCH = 0,	/* attach, watch, detach, report */
	SESSION_CHECK,		/* say what would be done; touch nothing */
	SESSION_RUN,		/* the same for a program that is just being started */
	SESSION_CLEANUP,	/* finish a detach that was interrupted */
};

/* How call paths come here: --stacks. */
enum session_stacks {
	STACKS_USUAL = 0,	/* by name with --exact and --counts=sites, else as copies */
	STACKS_RECOGNISE,
	STACKS_COPY,
};

struct session_options {
	enum session_task task;
	enum snapshot_mode mode;
	uint64_t sample_bytes;
	uint32_t counts;		/* enum counts_kind; with SNAPSHOT_COUNTS */
	double overhead_percent;	/* adaptive: of the target's own time may be spent */
	double interval;		/* seconds between snapshots */
	double duration;		/* seconds to watch; negative: until told to stop */
	uint32_t top;			/* sites in the report; 0: the report's own choice */
	bool json, leaks;
	bool heaps;			/* walk the heaps at the end; leaks does so, too */
	const struct view *view;	/* the report is this; NULL: all of it */
	struct view_options view_options;
	struct name_shape names;	/* how they are shown; what is recorded has all of them */
	bool leaks_alone;		/* of the report the leaks only; with leaks */
	bool plain;			/* reprint the top sites each interval */
	bool screen;			/* show them on a live screen, which is */
	int screen_socket;		/* at the other end of this */
	bool screen_can_wait;		/* there is nobody who types */
	bool color;
	bool block;			/* --on-overflow=block */
	bool free_stacks;		/* --frees=stacks */
	enum session_stacks stacks;
	uint64_t verify_stacks;		/* every so many recognised stacks; 0: none */
	const char *output;		/* recording, or the log of calls; NULL: none */
	const struct recording_unnamed *unnamed;	/* NULL; it is there, and called output */
	uint64_t max_recording;		/* bytes; 0: no limit */
	uint64_t max_memory;		/* bytes to remember things with; 0: no limit */
	uint64_t names_memory;		/* bytes for copies of files with names; 0: as modules.h */
	struct snapshot_triggers snapshot_on;	/* snapshots between intervals */
	const char *history;		/* an earlier one, for leaks; NULL: none */
	enum attachment_loader loader;
	uint32_t track;			/* enum allocator_track */
	struct custom_functions custom;	/* the program's own that are watched, too */
	uint64_t ring_bytes;		/* of shared memory in the target */
	uint64_t seed;			/* of the sampler; 0: from the clock */
	bool stop_for_picture;		/* --snapshot=stop: no copy is made */
	uint32_t roots;			/* enum root_class; for leaks */
	struct suppressions *suppressions;	/* of leaks; NULL: none */
	uint64_t trace_to;		/* who holds the block at this address? 0: not asked */
	uint32_t show_bytes;		/* of lost and suspect blocks' contents; 0: none */
	double access_seconds;		/* watch whether suspects are used; 0: not */
	bool trace;			/* a log of calls; exact; no report */
	struct trace_filter filter;	/* of what it shows */
	bool only_public;		/* a service's: no source that not everybody may read */
	bool quiet;			/* a cleanup that somebody else reports on */
	bool alone;			/* a cleanup of this process, and of none that is like it */
	int tell_children;		/* a socket: ids (pid_t) of restored children; 0: none */
};

/*
 * Runs the whole session over the socket to the keeper; opener: opener_begin()'s socket or error,
 * where session_opens_files(), else -1. Reports go to stdout,
 * diagnostics to stderr. An exit status; the keeper is told it, too.
 */
int session_run(const struct session_options *options, int socket, int opener);
/* Does a session of these options have files opened? */
static inline bool session_opens_files(const struct session_options *options)
{
	return options->task == SESSION_WATCH || options->task == SESSION_RUN;
}
/* The purposes that such a session has files opened for. Borrows from options. */
struct opener_needs session_opener_needs(const struct session_options *options);
/* Names on stderr the processes that keep something of ours, and what to do. */
void session_list_children(const struct children_left *left);

#endif
