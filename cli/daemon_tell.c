/* SPDX-License-Identifier: MIT */
/*
 * daemon_tell.c - see daemon_tell.h.
 *
 * The watchdog's word comes from the one loop that does all the work, never from a thread of its
 * own: it says that the loop turns.
 */
#include "cli/daemon_tell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/daemon_follow.h"
#include "src/daemon/service.h"

void daemon_tell_init(struct daemon_tell *tell)
{
	*tell = (struct daemon_tell){ .watchdog = service_watchdog() / 2, .alive = roster_now() };
}

/* --- events --------------------------------------------------------------- */

static void say(struct daemon_tell *tell, const struct settings *settings,
		const struct daemon_watch *watch, enum event_kind kind, const char *text)
{
	const struct daemon_event event = {
		.kind = kind, .pid = watch->pid, .name = watch->name.text, .rule = watch->rule,
		.recording = watch->recording, .text = text,
	};

	event_tell(&event);
	if (tell->control)
		daemon_follow_tell(tell->control, tell->search, &event, watch->user);
	if (settings->on_event)
		on_event_run(&tell->runs, settings->on_event, &event);
}

void daemon_tell_begun(struct daemon_tell *tell, const struct settings *settings,
		       const struct daemon_watch *watch)
{
	char text[4096];

	(void)snprintf(text, sizeof(text), "watched by [watch %s], %s", watch->rule,
		       watch->recording);
	say(tell, settings, watch, EVENT_WATCHED, text);
}

static enum event_kind end_of(const struct daemon_watch *watch)
{
	switch (watch->status) {
	case SESSION_OK:
		return EVENT_LEFT;
	case SESSION_TARGET_ENDED:
		return EVENT_ENDED;
	case SESSION_REFUSED:
		return EVENT_REFUSED;
	case SESSION_DORMANT:
		return EVENT_DORMANT;
	default:
		return EVENT_FAILED;
	}
}

void daemon_tell_ended(struct daemon_tell *tell, const struct settings *settings,
		       const struct daemon_watch *watch)
{
	static const char *const words[EVENT_KINDS] = {
		[EVENT_LEFT] = "left as it was",
		[EVENT_ENDED] = "it has ended, or runs another program",
		[EVENT_REFUSED] = "refused, nothing touched",
		[EVENT_DORMANT] = "left dormant; run `memattach cleanup -p` with its number",
		[EVENT_FAILED] = "its session failed",
	};
	enum event_kind kind = end_of(watch);
	bool why = kind != EVENT_LEFT && kind != EVENT_ENDED && watch->why[0];
	char text[400];

	(void)snprintf(text, sizeof(text), "%s%s%s%s", words[kind],
		       kind == EVENT_LEFT && !watch->ending ? ", unasked" : "",
		       why ? ": " : "", why ? watch->why : "");
	say(tell, settings, watch, kind, text);
}

/* --- the service manager -------------------------------------------------- */

/* Of those that are to be watched: the ones that were refused, or the others. */
static size_t waiting(const struct roster *roster, bool refused)
{
	size_t count = 0;

	for (size_t i = 0; i < roster->count; i++)
		count += roster->process[i].state == ROSTER_WAITING &&
			 (roster->process[i].refusals > 0) == refused;
	return count;
}

void daemon_tell_state(struct daemon_tell *tell, const struct roster *roster, size_t watched)
{
	char status[sizeof(tell->status)];

	(void)snprintf(status, sizeof(status), "%zu process%s watched, %zu waiting, %zu refused",
		       watched, watched == 1 ? "" : "es", waiting(roster, false),
		       waiting(roster, true));
	if (strcmp(status, tell->status) != 0) {
		memcpy(tell->status, status, sizeof(status));
		service_status(status);
	}
}

size_t daemon_tell_turn(struct daemon_tell *tell, double now)
{
	if (now >= daemon_tell_next(tell)) {
		tell->alive = now;
		service_alive();
	}
	return on_event_reap(&tell->runs);
}

double daemon_tell_next(const struct daemon_tell *tell)
{
	return tell->alive + tell->watchdog;
}

void daemon_tell_ready(const struct daemon_tell *tell)
{
	service_ready(tell->status);
}

void daemon_tell_stopping(size_t watched)
{
	char status[64];

	(void)snprintf(status, sizeof(status), "leaving %zu process%s", watched,
		       watched == 1 ? "" : "es");
	service_stopping(status);
}
