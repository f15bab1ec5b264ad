/* SPDX-License-Identifier: MIT */
/* daemon_follow.c - see daemon_follow.h. A line is made once, whoever hears it. */
#include "cli/daemon_follow.h"

#include <stdlib.h>
#include <time.h>

#include "src/daemon/roster.h"

struct heard {
	uid_t began_as;
	uid_t now;	/* -1: it has ended */
};

/* Of a process that has changed its user since, the one from before hears no more. */
static bool may_hear(void *context, const struct control_peer *peer)
{
	const struct heard *heard = context;

	return peer->all || peer->uid == (heard->now == (uid_t)-1 ? heard->began_as : heard->now);
}

static double unix_time(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void daemon_follow_tell(struct control *control, const struct process_search *search,
			const struct daemon_event *event, uid_t user)
{
	struct heard heard = { user, process_user(search, event->pid) };
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
