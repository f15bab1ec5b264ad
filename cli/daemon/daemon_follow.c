/* SPDX-License-Identifier: MIT */
/* daemon_follow.c - see daemon_follow.h. A line is made once, whoever hears it. */
#include "cli/daemon/daemon_follow.h"

#include <stdlib.h>
#include <time.h>

#include "src/daemon/roster.h"

struct heard {
	const struct process_search *search;
	struct rights_subject subject;
	bool ended;
};

/* Users who could be told when the session began hear of a process that has ended. */
static bool may_hear(void *context, const struct control_peer *peer)
{
	const struct heard *heard = context;

	if (heard->ended)
		return peer->all || rights_may_trace(heard->subject.began, peer);
	return peer->all || rights_allow(heard->search, &heard->subject, peer);
}

static bool has_ended(const struct process_search *search, pid_t pid, const struct rights *began)
{
	struct rights now;

	return rights_read(search, pid, &now) != 0 || now.start_time != began->start_time;
}

static double unix_time(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void daemon_follow_tell(struct control *control, const struct process_search *search,
			const struct daemon_event *event, const struct rights *began)
{
	struct heard heard = { search, { event->pid, 0, began },
			       has_ended(search, event->pid, began) };
	const struct control_hearers hearers = { may_hear, &heard, roster_now() };
	_cleanup_free_ char *line = NULL;
	size_t bytes = 0;
	struct emit to = { .out = open_memstream(&line, &bytes) };
	int error;

	if (!to.out)
		return;
	emit_begin(&to, NULL, '{');
	emit_text(&to, "event", event_name(event->kind));
	emit_real(&to, "time", unix_time());
	emit_int(&to, "pid", event->pid);
	emit_text(&to, "name", event->name);
	emit_text(&to, "rule", event->rule);
	emit_text(&to, "recording", event->recording);
	emit_text(&to, "text", event->text);
	emit_end(&to, '}');
	error = emit_finish(&to);
	if (fclose(to.out) == 0 && !error)
		control_tell(control, line, bytes, &hearers);
}
