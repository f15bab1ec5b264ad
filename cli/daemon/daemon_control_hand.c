/* SPDX-License-Identifier: MIT */
/*
 * daemon_control_hand.c - a process is watched, or left, by hand.
 *
 * The answer is how that went: it comes once the session is there, or is over. Who hangs up before
 * changes nothing of it. A user who is told of his own processes only may have few of them watched,
 * and at no more cost than [defaults] have for everybody.
 */
#include "cli/daemon/daemon_control_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MOST_BY_HAND	4u	/* at a time, of a user of his own processes */

/* --- orders --------------------------------------------------------------- */

/* 0 or -EINVAL; *ret stays 0 if it is not there. */
static int number_of(const json_t *request, const char *key, const double range[2], double *ret)
{
	const json_t *value = json_object_get(request, key);
	double number = json_number_value(value);

	if (!value)
		return 0;
	if (!json_is_number(value) || !(number >= range[0] && number <= range[1]))
		return -EINVAL;
	*ret = number;
	return 0;
}

/* NULL, or what is wrong with them. */
static const char *orders_of(const struct question *q, struct daemon_orders *ret)
{
	static const double percent[2] = { 0.01, 100 }, bytes[2] = { 1, 1ull << 46 },
			    seconds[2] = { 1, 86400 };
	const json_t *request = q->asked->request;
	double sample = 0;

	*ret = (struct daemon_orders){ .peer = *q->peer };
	if (number_of(request, "overhead", percent, &ret->overhead_percent))
		return "\"overhead\" is no percentage from 0.01 to 100";
	if (number_of(request, "sample", bytes, &sample))
		return "\"sample\" is no number of bytes";
	if (number_of(request, "interval", seconds, &ret->snapshot_every))
		return "\"interval\" is no number of seconds from 1 to 86400";
	if (sample > 0 && ret->overhead_percent > 0)
		return "\"overhead\" and \"sample\" exclude each other";
	ret->sample_bytes = (uint64_t)sample;
	if (!q->peer->all && (sample > 0 || ret->overhead_percent >
			      q->state->settings->defaults.overhead_percent))
		return "only root and the group memattach may order more than [defaults] have; ask "
		       "for less";
	return NULL;
}

/* --- attach --------------------------------------------------------------- */

/* What is left in it goes out first, if it can be taken out. */
static enum control_reply clean_first(struct question *q, const struct restore_job *job)
{
	char text[300];

	if (!job->why[0])
		return CONTROL_LATER;
	(void)snprintf(text, sizeof(text), "what a killed memattach has left in it can't be taken "
		       "out: %s", job->why);
	return daemon_control_refuse(q, SESSION_DORMANT, text);
}

static bool has_enough(const struct question *q)
{
	size_t theirs = 0;

	for (size_t i = 0; i < *q->state->watches; i++)
		theirs += (*q->state->watch)[i].by_hand &&
			  (*q->state->watch)[i].asked_by.uid == q->peer->uid;
	return !q->peer->all && theirs >= MOST_BY_HAND;
}

static const char *why_not(int error)
{
	switch (error) {
	case -EUSERS:
		return "as many processes are watched as max-targets allows you; memattach detach "
		       "leaves one, or raise max-targets";
	case -ECANCELED:
		return "memattachd is being stopped; ask again when it runs";
	case -ESRCH:
		return NO_SUCH_PROCESS;
	default:
		return "it can't be watched now; the journal of memattachd says why";
	}
}

static enum control_reply begin(struct question *q, pid_t pid, const struct daemon_orders *orders)
{
	const struct restore_job *job = restore_find(q->state->restore, pid);
	int error;

	if (job)
		return clean_first(q, job);
	if (has_enough(q))
		return daemon_control_refuse(q, SESSION_REFUSED, "you have four processes watched "
					     "by hand, which is the most; memattach detach leaves "
					     "one");
	if (!q->asked->may_stay)	/* said by control.c; nothing is begun */
		return CONTROL_LATER;
	error = q->state->attach(q->state->daemon, pid, orders);
	if (error)
		return daemon_control_refuse(q, SESSION_REFUSED, why_not(error));
	*q->asked->mark = (*q->state->watch)[*q->state->watches - 1].serial;
	return CONTROL_LATER;
}

static enum control_reply say_watched(struct question *q, const struct daemon_watch *watch)
{
	if (!watch->figures.attached)
		return CONTROL_LATER;
	emit_begin(q->to, NULL, '{');
	emit_int(q->to, "pid", watch->pid);
	emit_text(q->to, "name", watch->name.text);
	emit_text(q->to, "rule", watch->rule);
	emit_text(q->to, "state", watch->ending ? "leaving" : "watched");
	emit_text(q->to, "recording", watch->recording);
	emit_end(q->to, '}');
	return CONTROL_ANSWERED;
}

/* How the session that was waited for ended; serial 0 is never one. */
static const struct daemon_outcome *outcome_of(const struct question *q)
{
	const struct daemon_outcomes *outcomes = q->state->outcomes;

	for (size_t i = 0; i < DAEMON_OUTCOMES; i++)
		if (outcomes->last[i].serial == *q->asked->mark)
			return &outcomes->last[i];
	return NULL;
}

static enum control_reply say_ended(struct question *q)
{
	const struct daemon_outcome *outcome = outcome_of(q);
	int status = outcome && outcome->status != SESSION_OK ? outcome->status : SESSION_FAILED;

	return daemon_control_refuse(q, status, outcome && outcome->why[0] ? outcome->why :
				     status == SESSION_TARGET_ENDED ? "it has ended" :
				     "its session ended at once; the journal of memattachd says "
				     "why");
}

enum control_reply daemon_control_attach(struct question *q)
{
	struct daemon_watch *watch;
	struct daemon_orders orders;
	const char *problem;
	pid_t pid;

	if (*q->asked->mark) {
		watch = daemon_control_session(q, *q->asked->mark);
		return watch ? say_watched(q, watch) : say_ended(q);
	}
	problem = orders_of(q, &orders);
	if (problem)
		return daemon_control_refuse(q, SESSION_USAGE, problem);
	pid = daemon_control_pid(q);
	if (!pid)
		return CONTROL_ANSWERED;
	watch = daemon_control_watch(q, pid);
	if (!watch)
		return begin(q, pid, &orders);
	if (watch->ending)	/* it is begun once it was left */
		return CONTROL_LATER;
	if (orders.overhead_percent > 0 || orders.sample_bytes || orders.snapshot_every > 0)
		return daemon_control_refuse(q, SESSION_REFUSED, "it is watched already; detach it "
					     "first to have it watched in another way");
	if (q->asked->may_stay)
		*q->asked->mark = watch->serial;
	return say_watched(q, watch);
}

/* --- detach --------------------------------------------------------------- */

static enum control_reply say_left(struct question *q)
{
	const struct daemon_outcome *outcome = outcome_of(q);

	if (daemon_control_session(q, *q->asked->mark))
		return CONTROL_LATER;
	if (outcome && outcome->status != SESSION_OK && outcome->status != SESSION_TARGET_ENDED)
		return say_ended(q);
	emit_begin(q->to, NULL, '{');
	emit_text(q->to, "state", outcome && outcome->status == SESSION_TARGET_ENDED ? "ended" :
		  "left");
	emit_end(q->to, '}');
	return CONTROL_ANSWERED;
}

enum control_reply daemon_control_detach(struct question *q)
{
	struct daemon_watch *watch;
	pid_t pid;
	int error;

	if (*q->asked->mark)
		return say_left(q);
	pid = daemon_control_pid(q);
	if (!pid)
		return CONTROL_ANSWERED;
	watch = daemon_control_watch(q, pid);
	if (watch && !q->asked->may_stay)
		return CONTROL_LATER;
	error = q->state->hold(q->state->daemon, pid);
	if (error)
		return daemon_control_refuse(q, SESSION_REFUSED, why_not(error));
	if (watch) {
		*q->asked->mark = watch->serial;
		return CONTROL_LATER;
	}
	emit_begin(q->to, NULL, '{');
	emit_text(q->to, "state", "unwatched");
	emit_end(q->to, '}');
	return CONTROL_ANSWERED;
}
