/* SPDX-License-Identifier: MIT */
/*
 * session_picture.c - the picture of a leak report in the course of a session.
 *
 * session_leaks.c takes and searches it; here is what its failures mean. A picture that was
 * refused, that ended with its target, or of which a dead child stays behind
 * are three endings of a session. Half a picture is never searched, and one that ended while it
 * was is no report: memory that is gone looks like memory without a reference.
 */
#include "src/session/session_picture.h"

#include <errno.h>

void session_picture_is_left(struct session *s, int error)
{
	(void)session_fail(s, SESSION_DORMANT, "a dead child is left in the target", error);
	s->picture_left = true;
}

void session_picture_take(struct session *s, struct watch *watch)
{
	const char *what = s->options->leaks ? "no leak report" : "the heaps can't be walked";
	int error = target_view_refresh(&s->view);
	bool refused;

	if (watch)	/* blocks are told by ids of their sites from here on */
		watch->memory.held = true;
	if (error >= 0)
		error = session_leaks_take(&s->leaks, watch);
	refused = error == -ECANCELED || error == -EACCES || error == -EFBIG;
	if (!error)
		return;
	if (s->leaks.ended) {
		(void)session_fail(s, s->link.target_gone ? SESSION_TARGET_ENDED : SESSION_FAILED,
				   what, error);
		return;
	}
	(void)session_fail(s, refused ? SESSION_REFUSED : SESSION_FAILED, what, error);
	if (session_leaks_thaw(&s->leaks))	/* half of one is none */
		session_picture_is_left(s, -EBUSY);
}

void session_picture_search(struct session *s)
{
	int error, thaw;
	bool ended;

	if (!s->leaks.taken)
		return;
	error = session_leaks_search(&s->leaks);
	if (!error && session_leaks_keep_picture(&s->leaks)) {
		s->report.leaks = &s->leaks;
		return;
	}
	thaw = session_leaks_thaw(&s->leaks);
	if (s->leaks.report && !error && !thaw)	/* with --snapshot=stop it is known only now */
		s->leaks.report->pause_us = s->link.reply.value[1];
	/* memory that is not there any more looks like memory without a reference */
	ended = error == -ECANCELED || (thaw && s->link.reply.value[0]);
	if (ended)
		(void)session_fail(s, s->link.target_gone ? SESSION_TARGET_ENDED : SESSION_FAILED,
				   "no leak report", -ECANCELED);
	if (error && !ended)
		(void)session_fail(s, SESSION_FAILED, "searching for leaks", error);
	if (thaw && thaw != -ECANCELED)
		session_picture_is_left(s, thaw);
	if (s->leaks.report && !ended)
		s->report.leaks = &s->leaks;
}

void session_picture_release(struct session *s)
{
	int error = session_leaks_thaw(&s->leaks);	/* if it was taken */

	/* the report was made before it ended */
	if (error && error != -ECANCELED)
		session_picture_is_left(s, error);
}

int session_picture_start(struct session *s)
{
	uint64_t value[PROTO_ASKED] = { session_memory_wants_heaps(s->options) };

	return keeper_link_call(&s->link, PROTO_RELEASE, value, NULL, 0);
}

void session_picture_let_end(struct session *s)
{
	if (s->options->task == SESSION_RUN && !s->link.target_gone)
		(void)!keeper_link_call(&s->link, PROTO_RELEASE, NULL, NULL, 0);
}
