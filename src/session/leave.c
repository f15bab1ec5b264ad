/* SPDX-License-Identifier: MIT */
/* leave.c - WATCHING -> UNHOOKED -> LEFT: every way out of a target. */
#include "src/session/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/base/log.h"
#include "src/session/safe_thread.h"
#include "src/session/session_trace.h"

#define LEAVE_SECONDS 30.0
enum { CLEANUP_KEEP_AFTER = 2, FAILURES = 25, NOTE_MS = 1000 };

/*
 * What no other try will change: the target or its keeper is gone, its filter refuses a call of
 * ours, a lock of its loader is held by nobody, it differs from what it was. All else may be want
 * of memory or of descriptors, of which there may be some in a moment: so often it is tried again.
 */
static bool may_pass(int error, int *failures)
{
	if (error == -ESRCH || error == -EPIPE || error == -EACCES || error == -EDEADLK ||
	    error == -EUCLEAN)
		return false;
	return session_may_try_again(error) || error == -EPERM || ++*failures < FAILURES;
}

static void drain_idle(void *context)
{
	struct session *s = context;

	if (s->watching && s->watch.reader) {
		(void)watch_drain(&s->watch);
		session_trace_pump(s);
	}
}

static void short_pause(void)
{
	struct timespec pause = { 0, 20000000 };

	(void)nanosleep(&pause, NULL);
}

/*
 * Takes the hooks out and waits until every thread is out of the shim. One that
 * only seems to be in there, by a stale word on its stack, is unwound.
 */
static int unhook(struct session *s)
{
	struct safe_thread_input proof = { &s->view, s->unwinder, &s->plan, false, false,
					   false, &s->threads };
	uint64_t value[PROTO_ASKED] = { 0 };
	struct safe_thread_place place = { 0, 0 };
	char why[PROTO_TEXT_BYTES] = "";
	double end = session_now() + LEAVE_SECONDS;
	int error, failures = 0;

	if (s->state == STATE_WATCHING)
		watch_end(&s->watch);
	s->link.idle = drain_idle;
	s->link.context = s;
	do {
		error = keeper_link_call(&s->link, PROTO_UNHOOK, value, NULL, 0);
		memcpy(why, s->link.reply.text, sizeof(why));
		value[0] = s->link.reply.value[0];
		/* only who is proven outside is said to be */
		if (error != -ETIME || !value[0] ||
		    safe_thread_is_outside_shim(&proof, (pid_t)value[0], &place) != 0)
			value[0] = 0;
		value[1] = place.sp;
		value[2] = place.thread_pointer;
		if (error && error != -ETIME)
			short_pause();
	} while (error && may_pass(error, &failures) && !s->link.target_gone &&
		 session_now() < end);
	s->link.idle = NULL;
	memcpy(s->link.reply.text, why, sizeof(why));	/* the proof has asked for more since */
	if (!error)
		s->state = STATE_UNHOOKED;
	return error;
}

/* The keeper has said why if it is that none can be stopped. Filters are never taken away. */
static int no_thread(struct session *s, const char *why)
{
	char *text = s->link.reply.text;

	if (!text[0])
		(void)snprintf(text, sizeof(s->link.reply.text),
			       "no thread was found that can call dlclose: %s; try again when it "
			       "is less busy", why);
	return s->view.hello.filtered ? -EACCES : -EAGAIN;
}

/*
 * Another tracer may have stopped all threads at that moment, which then are not blocked: the
 * keeper names it when it can't stop one. Else what is said stays.
 */
static void name_tracer(struct session *s)
{
	uint64_t value[PROTO_ASKED] = { (uint64_t)s->view.hello.pid, 0, 0, 0 };
	char *text = s->link.reply.text, said[sizeof(s->link.reply.text)];
	_cleanup_fd_ int stack = -1;

	(void)snprintf(said, sizeof(said), "%s", text);
	(void)!keeper_link_call(&s->link, PROTO_SAMPLE, value, NULL, 0);
	stack = keeper_link_take_fd(&s->link, 0);
	if (!text[0])
		(void)snprintf(text, sizeof(s->link.reply.text), "%s", said);
}

static int unload_once(struct session *s, bool keep)
{
	uint64_t value[PROTO_ASKED] = { 0, 0, 0, 0 };
	char why[128];
	int proof = 0, error;

	if (s->loader == LOADER_DLOPEN) {
		(void)target_view_refresh(&s->view);
		value[0] = 1;
		/* first: a kept thread waits for nothing else */
		value[1] = session_dl_handle(s);
		proof = session_prove_thread(s, keep, why);
		if (proof < 0)
			return proof;
		if (!proof)
			return no_thread(s, why);
	}
	error = keeper_link_call(&s->link, PROTO_UNLOAD, value, NULL, 0);
	if (error == -ENOTSUP && proof)
		safe_thread_is_unfit(&s->threads);
	return error;
}

void session_list_children(const struct children_left *left)
{
	for (uint32_t i = 0; i < left->count && i < CHILDREN_LISTED; i++)
		log_error("process %d was forked while memattach was attached; what it copied is "
			  "left there, dormant: %.250s; `memattach cleanup -p %d` tries again",
			  left->child[i].pid, left->child[i].reason, left->child[i].pid);
	if (left->count > CHILDREN_LISTED)
		log_error("and %u more", left->count - CHILDREN_LISTED);
	if (left->unread)
		log_error("not every process could be looked at (%s): what was forked while "
			  "memattach was attached may hold a copy, dormant, that `memattach "
			  "cleanup -p` with its process number takes out",
			  strerror(left->unread));
}

static const char *became(const struct session *s)
{
	return s->link.became[0] ? s->link.became : "another program";
}

/* A program that goes on as another one is not over; and the screen goes without a key. */
static void say_why(const struct session *s)
{
	pid_t pid = s->view.hello.pid;

	if (s->options->tell_children)
		return;		/* it is followed */
	if (s->link.target_execed && s->options->task != SESSION_CLEANUP)
		log_notice("process %d became %.400s by exec, which is not watched: `memattach "
			   "-p %d` attaches to it", pid, became(s), pid);
	else if (s->link.became[0] && s->options->task != SESSION_CLEANUP)
		log_notice("process %d ended by another name, %.64s: if it became that by exec, "
			   "that was not watched", pid, s->link.became);
	else if (s->link.target_signal && s->options->task != SESSION_CLEANUP && !s->options->trace)
		log_notice("process %d was killed by signal %u (%s)", pid, s->link.target_signal,
			   strsignal((int)s->link.target_signal));
	else if (s->options->screen)
		log_notice("process %d has ended", pid);
}

/* Of a daemon the process that was started ends at once: its work is done by another. */
static void say_who_goes_on(const struct session *s)
{
	const struct children_left *left = &s->report.left;

	if (!s->link.target_gone || s->link.target_execed ||
	    s->options->task == SESSION_CLEANUP || s->options->tell_children)
		return;
	for (uint32_t i = 0; i < left->alive_count && i < CHILDREN_LISTED; i++)
		log_notice("process %d left a child %d, which is not watched: `memattach -p %d` "
			   "attaches to it", s->view.hello.pid, left->alive[i], left->alive[i]);
	if (left->alive_count > CHILDREN_LISTED)
		log_notice("and %u more", left->alive_count - CHILDREN_LISTED);
}

/* What the target forked off meanwhile; the target itself is left, or has ended. */
static void restore_children(struct session *s)
{
	struct children_left *left = &s->report.left;

	if (s->options->alone)
		return;
	if (keeper_link_call(&s->link, PROTO_CHILDREN, NULL, NULL, 0) ||
	    s->link.reply.payload_bytes != sizeof(*left))
		return;
	memcpy(left, s->link.payload, sizeof(*left));
	session_list_children(left);
	say_who_goes_on(s);
	if (children_are_left(left))
		s->exit = SESSION_DORMANT;
}

/* A command's end is as it should be; that of a log of its calls may be what was looked for. */
static bool is_log_of_crash(const struct session *s)
{
	return s->options->trace && s->link.target_signal;
}

/*
 * A cleanup often is one of many, of forked processes that wait in a row for theirs: 80 of them
 * took 18 s by ten tries each, 6 s by two.
 */
static int tries_without_keep(const struct session *s)
{
	return s->options->task == SESSION_CLEANUP ? CLEANUP_KEEP_AFTER : SESSION_KEEP_AFTER;
}

void session_leave(struct session *s)
{
	double end = session_now() + LEAVE_SECONDS;
	int error = s->link.target_gone ? 0 : unhook(s), failures = 0;

	for (int i = 0; !error && !s->link.target_gone; i++) {
		error = unload_once(s, i >= tries_without_keep(s));
		if (!error || !may_pass(error, &failures) || session_now() >= end)
			break;
		error = 0;
		short_pause();
	}
	if (error == -ESRCH && !s->link.target_gone)	/* the keeper may be about to say it */
		(void)!keeper_link_poll(&s->link, NOTE_MS);
	if (s->link.target_gone || error == -ESRCH) {
		s->report.detached = SNAPSHOT_TARGET_ENDED;
		s->link.target_gone = true;
		s->report.became = s->link.target_execed ? became(s) : NULL;
		s->report.signal = s->link.target_signal;
		say_why(s);
		if (!s->exit && (s->options->task != SESSION_RUN || is_log_of_crash(s)))
			s->exit = SESSION_TARGET_ENDED;
	} else if (!error) {
		s->report.detached = SNAPSHOT_PRISTINE;
	} else {
		s->report.detached = SNAPSHOT_DORMANT;
		if (error == -EAGAIN && s->loader == LOADER_DLOPEN)
			name_tracer(s);
		(void)session_fail(s, SESSION_DORMANT, "could not leave the target as it was",
				   error);
		if (!s->options->quiet)
			log_error("run `memattach cleanup -p %d` to finish", s->view.hello.pid);
		s->exit = SESSION_DORMANT;
	}
	restore_children(s);
	s->state = STATE_LEFT;
	session_note_stops(s, false);
	session_trace_left(s);
	if (s->watching && s->watch.reader)
		watch_finish(&s->watch);
}
