/* SPDX-License-Identifier: MIT */
/*
 * check.c - see check.h.
 *
 * The picture is the leak report's (session_leaks.c), and so is the search. What differs is that
 * the rings have to be emptied all the while, and that the books go on. So this process takes the
 * picture, which costs the target its pause, and forks at the picture's moment: the child has the
 * books as they stood then, walks the heaps, searches, and answers when it is done. Rejected: a
 * thread, beside which books, modules and names change under the search's hands; to search between
 * two drains, which would need a way out of every loop of it.
 * That the child may be killed by what it reads costs the search, not the session.
 */
#include "src/session/check.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "src/base/apart.h"
#include "src/base/why.h"
#include "src/session/session_picture.h"

enum { MAX_PICTURES = 30, MAX_LATE = 3, BACKGROUND = 10 };
#define BETWEEN_PICTURES	0.01	/* seconds: for an allocator to finish what it was at */
#define SEARCH_SECONDS		600u	/* of processor time, by two of them */

/* ---- in the child ---- */

static int search(struct session *s)
{
	struct session_leaks *l = &s->check.leaks;
	struct snapshot *snapshot;
	int error = session_leaks_walk(l, &s->watch);

	if (!error)
		error = session_leaks_search(l);
	if (!error)
		error = session_report_snapshot(&s->report, &s->watch, &snapshot);
	if (error)
		return error;
	error = session_leaks_complete(l, s->report.symbolizer, s->report.names, &s->watch,
				       snapshot);
	snapshot_free(snapshot);
	return error;
}

/* A text (why not, "" found) and what was found. -ESTALE: an allocator was at work. */
static int answer(void *context, const void *question, size_t bytes, struct apart_answer *ret)
{
	struct session *s = context;
	struct session_leaks *l = &s->check.leaks;
	const char *text = s->link.reply.text;
	int error;

	(void)question;
	(void)bytes;
	(void)!nice(BACKGROUND);	/* the target, and whoever reads its events, come first */
	s->link.busy = true;	/* the keeper is our parent's to talk to */
	s->link.reply.text[0] = '\0';
	error = search(s);
	if (error == -EAGAIN)
		return -ESTALE;
	if (error)
		return apart_put_text(ret, text[0] ? text : why_of(error).text);
	return apart_put_text(ret, "") ?:
	       feed_put_leaks(ret, l->report, ticks_seconds(&s->watch.ticks, l->moment));
}

static bool blame(void *context, const char *how)
{
	(void)context;
	(void)how;
	return false;
}

/* ---- in the analyst ---- */

/* Everything of it, the picture in the target included. 0, -ECANCELED it has ended, -errno. */
static int drop(struct session *s)
{
	struct session_check *c = &s->check;
	int error;

	apart_free(c->search);
	c->search = NULL;
	error = session_leaks_thaw(&c->leaks);
	c->leaks.history = NULL;	/* the session's */
	session_leaks_done(&c->leaks);
	if (error && error != -ECANCELED && error != -EPIPE && !s->link.target_gone)
		session_picture_is_left(s, error);
	return error;
}

static void say_no(struct session *s, const char *why)
{
	feed_no_leaks(s->report.feed, why);
	s->check.next = 0;
}

static void take_another(struct session *s, const char *why)
{
	struct session_check *c = &s->check;

	c->next = session_now() + BETWEEN_PICTURES;
	if (++c->tries == MAX_PICTURES || c->late == MAX_LATE)
		say_no(s, why);
}

/* The child is made at the picture's moment: it has the books as they stood then. */
static int begin_search(struct session *s)
{
	struct session_check *c = &s->check;
	const struct apart_work work = { .answer = answer, .blame = blame, .context = s,
					 .seconds = SEARCH_SECONDS };
	int error = watch_hold_at(&s->watch, c->leaks.moment);

	if (!error)
		error = apart_new(&work, &c->search);
	if (!error)
		error = apart_begin(c->search, "", 1);
	watch_go_on(&s->watch);
	return error;
}

static void begin(struct session *s)
{
	struct session_check *c = &s->check;
	char why[sizeof(s->link.reply.text)] = "";
	int error = target_view_refresh(&s->view);

	c->next = 0;
	session_leaks_init(&c->leaks, s->options, &s->view, &s->plan);
	c->leaks.history = s->leaks.history;
	if (error >= 0)
		error = session_leaks_freeze(&c->leaks);
	if (error)
		(void)snprintf(why, sizeof(why), "%s", s->link.reply.text);
	else
		error = begin_search(s);
	if (!error)
		return;
	(void)drop(s);
	c->late += error == -ETIME;
	if (error == -ETIME && !why[0])
		take_another(s, "records of what it did before the picture are late; "
			     "L tries again");
	else
		say_no(s, why[0] ? why : why_of(error).text);
}

/* found is borrowed from c->search: handed on before that is gone. */
static void hand_on(struct session *s, int error, struct apart_reader *found, const char *how)
{
	const char *why = NULL;
	char text[128];

	if (error == -ECHILD) {
		(void)snprintf(text, sizeof(text), "the search %s", how);
		say_no(s, text);
	} else if (error || apart_get_text(found, &why)) {
		say_no(s, why_of(error ?: -EBADMSG).text);
	} else if (why && why[0]) {
		say_no(s, why);
	} else {
		feed_leaks(s->report.feed, found->at, found->left);
	}
}

static void look_for_answer(struct session *s)
{
	struct session_check *c = &s->check;
	struct apart_reader found = { NULL, 0 };
	const char *how = "";
	int error = apart_finish(c->search, &found, &how), thaw;

	if (error == -EAGAIN)
		return;
	/* what is not there any more looks like memory that nothing leads to */
	thaw = session_leaks_thaw(&c->leaks);
	if (thaw == -ECANCELED)
		say_no(s, s->link.reply.text);
	else if (error != -ESTALE)
		hand_on(s, error, &found, how);
	(void)drop(s);
	if (thaw && thaw != -ECANCELED && thaw != -EPIPE && !s->link.target_gone)
		session_picture_is_left(s, thaw);
	if (!thaw && error == -ESTALE)
		take_another(s, "its allocator is at work in every picture, or its heap is "
			     "damaged; L tries again");
	session_note_stops(s, true);
}

void session_check_turn(struct session *s)
{
	struct session_check *c = &s->check;

	if (!s->report.feed)
		return;
	if (feed_wants_leaks(s->report.feed) && !c->search && c->next <= 0) {
		c->tries = c->late = 0;
		c->next = session_now();
	}
	if (c->search)
		look_for_answer(s);
	else if (c->next > 0 && session_now() >= c->next)
		begin(s);
}

void session_check_end(struct session *s)
{
	if (s->check.search)
		(void)drop(s);
	s->check.next = 0;
}
