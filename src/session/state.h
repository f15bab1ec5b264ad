/* SPDX-License-Identifier: MIT */
/* state.h - what a session consists of while it runs. For session.c and its parts. */
#ifndef MEMATTACH_SESSION_STATE_H
#define MEMATTACH_SESSION_STATE_H

#include "src/plan/hook_cost.h"
#include "src/session/check.h"
#include "src/session/session_leaks.h"
#include "src/session/nameless.h"
#include "src/session/session_report.h"
#include "src/session/safe_thread.h"
#include "src/watch/share.h"
#include "src/trace/trace_log.h"
#include "src/watch/watch.h"

enum session_state {
	STATE_OPENED = 0,
	STATE_PLANNED,
	STATE_LOADED,
	STATE_WATCHING,
	STATE_UNHOOKED,
	STATE_LEFT,
};
struct session {
	const struct session_options *options;
	enum session_state state;
	struct keeper_link link;
	struct target_view view;
	struct hook_plan plan;
	struct unwinder *unwinder;
	struct watch watch;
	struct snapshot_on snapshot_on;
	struct share share;	/* of the processors, while it watches */
	bool watching;
	bool hooked;		/* once: there is something to report */
	bool map_only;		/* the plan is for the map loader alone */
	int closed;		/* times that the target closed what we had opened there */
	uint64_t clearance;	/* what the next plan's islands keep clear of, see hook_plan.h */
	struct session_report report;
	struct session_leaks leaks;
	struct session_memory memory;
	struct session_check check;
	struct trace_log *trace;	/* NULL: none was asked for */
	bool trace_ended;	/* its output did */
	bool picture_left;	/* dead, and still a child of the target's */
	enum attachment_loader loader;
	struct safe_threads threads;	/* for dlopen and dlclose */
	int ring_fd;
	struct hook_cost hook_cost;
	uint64_t shim_base;
	int exit;
	uint8_t *exe_file;
	struct nameless nameless;
	uint32_t planned_modules;	/* modules_count() when plan was last looked at */
};

/*
 * Says what went wrong, in the keeper's words if it has some; the first failure decides how the
 * session ends: by status, or because the target did, whatever failed then. error, or -EIO for
 * none.
 */
int session_fail(struct session *s, int status, const char *what, int error);
/*
 * Has the target ended, or become another program? That may be a note of the keeper's that comes
 * behind its reply: a moment is waited for it.
 */
bool session_has_ended(struct session *s);
/* Says why, and what can be done about it; -ENOTSUP. */
struct session_refusal;
int session_refuse(struct session *s, const struct session_refusal *refusal);
/*
 * What is to be hooked, by s->view; map_only: by the map loader alone. session_make_plan refuses
 * what can't be and is PLANNED then. 0, or -errno, which has been told.
 */
int session_plan(struct session *s, bool map_only) _must_check_;
int session_make_plan(struct session *s) _must_check_;
/* If modules have come since: allocators among them are named in the plan as not seen. */
void session_plan_later(struct session *s);
/* Are stacks to be known by rules, without copies? The plan decides, too. */
bool session_recognises(const struct session *s);
/*
 * Brings the shim in, as the plan says: LOADED. -errno, which has been told; LOADED even so if a
 * part of it is in and must come out.
 */
int session_load(struct session *s) _must_check_;
/*
 * Is there a thread that may call dlopen or dlclose? 1: its sample is held; 0: none, why says why;
 * -errno. keep: one that is never still for long is proven while it stands.
 */
int session_prove_thread(struct session *s, bool keep, char why[128]) _must_check_;
#define SESSION_KEEP_AFTER 10	/* tries without keep */
/* A thread moved on, a planned place was taken or code changed meanwhile. */
bool session_may_try_again(int error);
/* The shim's, for dlclose; 0: it was not loaded by dlopen. */
uint64_t session_dl_handle(struct session *s);
/* Asks the keeper how long the target's threads stood still: for the report. */
void session_note_stops(struct session *s, bool attach);
double session_now(void);	/* seconds of CLOCK_MONOTONIC */

/*
 * Takes everything out of the target, whatever went wrong before; s->report.detached says
 * how it was left.
 */
void session_leave(struct session *s);

#endif
