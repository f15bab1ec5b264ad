/* SPDX-License-Identifier: MIT */
/* keeper_private.h - what the files of the keeper share; for keeper*.c only. */
#ifndef MEMATTACH_KEEPER_PRIVATE_H
#define MEMATTACH_KEEPER_PRIVATE_H

#include <poll.h>

#include "inject/attach/inject.h"
#include "inject/keeper/keeper.h"
#include "inject/keeper/keeper_silence.h"
#include "inject/keeper/proto.h"
#include "inject/preflight/seccomp_check.h"
#include "inject/snapshot/access_watch.h"
#include "inject/snapshot/ending.h"
#include "inject/snapshot/freeze.h"
#include "inject/tracee/proc_status.h"

/* What the target had taken from itself when it was looked at (keeper_confined.c). */
struct keeper_confined {
	uint32_t mode, filters;		/* the most of any thread: Seccomp, Seccomp_filters */
	bool answers;			/* it handles SIGSYS */
	bool dispatches;		/* calls of a thread may be dispatched to it */
	bool changed;			/* they let less pass than the analyst was told */
	unsigned int ticks;
	uint64_t next_ns;		/* not before that are all threads looked at again */
};

struct keeper {
	struct inject in;
	int socket, signals, timer;
	struct stop_sample sample;
	const struct keeper_options *options;
	uint32_t beat;			/* the analyst's, as last seen */
	struct keeper_silence silence;	/* since it changed */
	unsigned int leaving;		/* since the user asked to stop, as silence.total */
	unsigned int kept;		/* ticks of KEEPER_TICK_MS so far; when memory goes back: */
	unsigned int rest_due;
	bool hung;			/* the analyst took too long */
	bool slow;			/* the clock ticks seldom, as nobody waits */
	bool abandoned;			/* threads are still to be let go, once they stop */
	bool used;			/* since then something was asked for */
	bool gone, gone_noted, stop_wanted, stop_noted, finished;
	bool snapshot_wanted;		/* by the user's SIGUSR1, and not yet told to the analyst */
	bool is_child;			/* of the target: forked, and being restored */
	bool children_told;		/* the analyst knows what became of them */
	int status;
	char name[PROC_NAME_BYTES];	/* the target's, when it was last seen as it is */
	struct seccomp_verdict seccomp;
	struct keeper_confined confined;
	int filter_error;		/* -errno: nor could the helper (filter_helper.h) read it */
	struct freeze freeze;		/* the picture that the analyst reads; child 0: none */
	struct freeze_gadgets gadgets;	/* it was made with */
	bool picture_unwanted;		/* the user has asked to stop since it was made */
	bool picture_searched;		/* that is over; it is still compared with */
	const char *picture_ended;	/* why, if it was before the analyst had done with it */
	struct ending *ending;		/* the target is held at its end; NULL: it is not */
	bool ending_noted;		/* the analyst knows that it stands there */
	struct access_watch access;	/* the words that are being watched */
	bool access_unwanted;		/* the user has asked to stop since the first of them */
	struct children children;
	uint64_t deadline_ns;		/* of all its work, 0: none; for one of the children */
	uint8_t payload[PROTO_MAX_PAYLOAD];
};

/* A reply in the making: what the handler fills, what is sent. */
struct reply {
	struct proto_message message;
	const void *payload;
	int fd[PROTO_MAX_FDS];
	bool close_fds;
};

/*
 * The status of a request of that type, as who asked is to take it; the keeper's problem says in
 * words what only it can see (keeper_outcome.c).
 */
int keeper_outcome(struct keeper *k, enum proto_type type, int status);

/* ---- in keeper_filter.c ---- */

/* The filters, as they are now, into keeper->seccomp. */
void keeper_read_filters(struct keeper *k);
/* May it be entered by that loader? 0, -EACCES with the problem in words. */
int keeper_check_filter(struct keeper *k, uint32_t loader);
/* May it be left? It may have got a filter since, or this is a cleanup. 0, -EACCES as above. */
int keeper_check_filter_again(struct keeper *k);

/* ---- in keeper.c ---- */
/* After exec the old address space is gone: what we had in there went with it. */
bool keeper_address_space_gone(const struct keeper *k);

/* ---- in keeper_clock.c ---- */

enum { KEEPER_TICK_MS = 400, KEEPER_SLOW_TICKS = 20, KEEPER_FIRST_REST_TICKS = 5 };
/* A timer that ticks every KEEPER_TICK_MS, for poll(); -1. */
int keeper_open_clock(void);
/* 0; -1 with errno. */
int keeper_set_clock(int timer, long ms);
/*
 * The clock ticks seldom while nothing happens in the target and nobody waits for it: most of
 * hundreds of processes that are watched for days do nothing.
 */
void keeper_pace_clock(struct keeper *k);
/*
 * True when the analyst neither drains the rings nor answers: threads of the
 * target may be waiting for it. Then it is ended, and we leave on our own. Counted
 * in our own ticks: on a machine that stands still nobody hangs. When the target has ended
 * nobody waits, and a report may take its time.
 */
bool keeper_analyst_hangs(struct keeper *k, bool ticked);

/* ---- in keeper_confined.c ---- */

/* At the beginning: what the target's filters let pass, and whether its calls are its own. */
void keeper_look_at_filters(struct keeper *k);
/* Once more, if it has other filters by now. */
void keeper_look_again(struct keeper *k);
/* Before anything that stops threads: a sleep that is interrupted must go on without harm. */
void keeper_mind_restarts(const struct keeper *k);
/* Tells the shim what is known, before it is armed. */
void keeper_begin_confined(struct keeper *k);
/* With each tick: what came since ends the shim's system calls. all: every thread, now. */
void keeper_watch_confined(struct keeper *k, bool all);

/* While nothing happens in the target the analyst sleeps longer than people like to wait. */
void keeper_wake_analyst(struct keeper *k);

/* Hands fd over with the reply. */
void keeper_reply_fd(struct reply *reply, int fd);
/* A thread that was kept for its proof, and is not used for it now, runs again. */
void keeper_drop_kept(struct keeper *k);
/* Milliseconds until it must; -1: none is kept. For poll(). */
int keeper_kept_left_ms(const struct keeper *k);
/* Ends the picture, if there is one. 0; -errno: a dead child is left in the target. */
int keeper_thaw(struct keeper *k);
/*
 * Ends a picture that does harm or that nobody wants any more: the target has ended or execed,
 * the user has asked to stop. What the analyst still reads of it comes to nothing.
 */
void keeper_tend_picture(struct keeper *k);
/* Reaps what a killed keeper's picture left; how many. */
int keeper_reap_left(struct keeper *k, const struct hook_plan *plan);

/* Requests that only look (keeper_views.c): what the analyst is shown of the target. */
int keeper_on_hello(struct keeper *k, const struct proto_message *request, struct reply *reply);
int keeper_on_open_file(struct keeper *k, const struct proto_message *request,
			struct reply *reply);
int keeper_on_list_threads(struct keeper *k, const struct proto_message *request,
			   struct reply *reply);
/* In keeper_names.c. */
int keeper_on_thread_names(struct keeper *k, const struct proto_message *request,
			   struct reply *reply);
int keeper_on_sample(struct keeper *k, const struct proto_message *request, struct reply *reply);
int keeper_on_freeze(struct keeper *k, const struct proto_message *request, struct reply *reply);
int keeper_on_thaw(struct keeper *k, const struct proto_message *request, struct reply *reply);
int keeper_on_access_begin(struct keeper *k, const struct proto_message *request,
			   struct reply *reply);
int keeper_on_access_end(struct keeper *k, const struct proto_message *request,
			 struct reply *reply);

/* ---- in keeper_ending.c ---- */
/* Reads the target's name, while its address space is the one that is watched. */
void keeper_read_name(struct keeper *k);

int keeper_on_release(struct keeper *k, const struct proto_message *request, struct reply *reply);
/* For poll(), on account of the threads that are guarded: what to wait for, and how long. */
struct pollfd keeper_ending_events(const struct keeper *k);
int keeper_ending_left_ms(const struct keeper *k);
/* Lets them go on. True, once: all have come to their end, and the analyst is to be told. */
bool keeper_ending_turn(struct keeper *k);
/* Tells the analyst that the target has ended, or which program it has become. 0 or -errno. */
int keeper_note_gone(struct keeper *k);
/* Does the target stand at its end? */
bool keeper_is_ending(const struct keeper *k);
/* Nothing of the target is held at its end, or traced for that, from here on. */
void keeper_ending_over(struct keeper *k);

#endif
