/* SPDX-License-Identifier: MIT */
/*
 * daemon_tell.c - see daemon_tell.h.
 *
 * The watchdog's word comes from the one loop that does all the work, never from a thread of its
 * own: it says that the loop turns.
 */
#include "cli/daemon/daemon_tell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/daemon/daemon_follow.h"
#include "cli/daemon/daemon_leaks.h"
#include "src/daemon/service.h"

void daemon_tell_init(struct daemon_tell *tell)
{
	*tell = (struct daemon_tell){ .watchdog = service_watchdog() / 2, .alive = roster_now() };
}

/* --- events --------------------------------------------------------------- */

/* began: whose process it was when its session began. */
static void say_event(struct daemon_tell *tell, const struct settings *settings,
		      const struct daemon_event *event, const struct rights *began)
{
	event_tell(event);
	if (tell->control)
		daemon_follow_tell(tell->control, tell->search, event, began);
	if (settings->on_event)
		on_event_run(&tell->runs, settings->on_event, event);
}

/* event: all but whose it is. */
static void say_of(struct daemon_tell *tell, const struct settings *settings,
		   const struct daemon_watch *watch, struct daemon_event event)
{
	event.pid = watch->pid;
	event.name = watch->name.text;
	event.rule = watch->rule;
	event.recording = watch->recording;
	say_event(tell, settings, &event, &watch->rights);
}

static void say(struct daemon_tell *tell, const struct settings *settings,
		const struct daemon_watch *watch, enum event_kind kind, const char *text)
{
	say_of(tell, settings, watch, (struct daemon_event){ .kind = kind, .text = text });
}

static void say_news(struct daemon_tell *tell, const struct settings *settings,
		     const struct daemon_watch *watch, const struct episode_news *news)
{
	say_of(tell, settings, watch, (struct daemon_event){
		.kind = news->kind, .text = news->text, .number = news->number,
		.numbers = news->numbers,
	});
}

void daemon_tell_search(struct daemon_tell *tell, const struct settings *settings,
			struct daemon_watch *watch)
{
	struct episode_news news;

	if (episodes_take_search(&watch->episodes, &watch->figures.search, &news))
		say_news(tell, settings, watch, &news);
}

void daemon_tell_figures(struct daemon_tell *tell, const struct settings *settings,
			 struct daemon_watch *watch)
{
	struct episode_news news[EPISODE_NEWS];
	size_t count = episodes_take(&watch->episodes, &watch->figures, news);

	for (size_t i = 0; i < count; i++) {
		say_news(tell, settings, watch, &news[i]);
		if (news[i].kind == EVENT_GROWTH)
			daemon_leaks_growth(watch);
	}
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
		[EVENT_DORMANT] = "something is left in it, dormant, and is to be taken out",
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

void daemon_tell_restored(struct daemon_tell *tell, const struct settings *settings,
			  const struct restore_job *job, const char *state)
{
	const char *what = "something is left in it, dormant; it can't be taken out";
	char text[400], path[4096];
	struct rights rights;
	struct daemon_event event = {
		.kind = EVENT_DORMANT, .pid = job->of.pid, .name = job->name.text,
		.rule = job->of.rule, .text = text,
	};

	if (job->result == RESTORE_CLEANED) {
		event.kind = EVENT_CLEANED;
		what = "what a killed memattach had left in it is out";
	} else if (job->result == RESTORE_REFUSED) {
		event.kind = EVENT_REFUSED;
		what = "refused; what is left in it, dormant, can't be taken out";
	} else if (!job->failed) {
		return;
	}
	(void)snprintf(path, sizeof(path), "%s/%s/%s", state, job->of.rule, job->of.recording);
	event.recording = job->of.recording[0] && access(path, F_OK) == 0 ? path : NULL;
	(void)snprintf(text, sizeof(text), "%s%s%s", what,
		       event.kind == EVENT_CLEANED ? "" : ": ",
		       event.kind == EVENT_CLEANED ? "" : job->why);
	if (!tell->search || rights_read(tell->search, job->of.pid, &rights) != 0 ||
	    rights.start_time != job->of.start_time)
		rights = (struct rights){ .start_time = 0 };
	say_event(tell, settings, &event, &rights);
}

/* --- the service manager -------------------------------------------------- */

/* To be watched, and not cleaned: the ones that were refused, or the others. */
static size_t waiting(const struct roster *roster, const struct restore *restore, bool refused)
{
	size_t count = 0;

	for (size_t i = 0; i < roster->count; i++) {
		const struct roster_process *process = &roster->process[i];

		count += process->state == ROSTER_WAITING &&
			 (process->refusals > 0) == refused && !restore_find(restore, process->pid);
	}
	return count;
}

static size_t cleaning(const struct restore *restore)
{
	size_t count = 0;

	for (size_t i = 0; i < restore->count; i++)
		count += restore_is_there(&restore->job[i]);
	return count;
}

void daemon_tell_state(struct daemon_tell *tell, const struct roster *roster,
		       const struct restore *restore, size_t watched)
{
	char status[sizeof(tell->status)];
	size_t to_clean = cleaning(restore);
	int length = snprintf(status, sizeof(status),
			      "%zu process%s watched, %zu waiting, %zu refused", watched,
			      watched == 1 ? "" : "es", waiting(roster, restore, false),
			      waiting(roster, restore, true));

	if (to_clean > 0)
		(void)snprintf(status + length, sizeof(status) - (size_t)length, ", %zu cleaning",
			       to_clean);
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
