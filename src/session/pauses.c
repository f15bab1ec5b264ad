/* SPDX-License-Identifier: MIT */
/*
 * pauses.c - see pauses.h. Each awakening costs as much as many records, and the caches of who ran
 * before; where a server shares the processors with those that ask it, 300 awakenings a second are
 * 7 % of its time (nginx; docs/BENCHMARKS.md, Servers under load). So there are as few as rings and
 * people allow. Under memattachd, where hundreds of processes may be watched that do nothing,
 * nobody waits: who asks something there has the keeper wake us. While names are wanted and missing
 * turns come as if there were events.
 */
#include "src/session/pauses.h"

#include <sys/socket.h>

#include "src/ring/reader.h"

#define STEP_NS		1000000ull
#define MAX_NS		20000000ull
#define SAMPLED_NS	100000000ull
#define FEW_NS		250000000ull	/* of a few samples */
#define IDLE_NS		500000000ull	/* nothing happens at all */
#define UNHURRIED_NS	8000000000ull	/* and nobody looks on */
#define FEW_EVENTS	64		/* a second, or in less: those may as well wait */
#define FILLING_RING	0.0625		/* filled so far within a pause: shorter ones; */
#define BUSY_RING	0.25		/* none any more */
#define PATIENT_RING	0.25		/* who is woken at half: no longer ones; */
#define WAKING_RING	0.45		/* shorter ones */

/* Somebody waits for what goes on by turns: names, a search, a file. */
static bool is_awaited(const struct session *s)
{
	return s->check.search || s->check.next > 0 ||
	       (s->report.feed && feed_is_busy(s->report.feed));
}

static bool are_few(int events, uint64_t pause)
{
	double seconds = (double)pause * 1e-9;

	return events < FEW_EVENTS || events < FEW_EVENTS * seconds;
}

/* The longest that those allow who look on, or wait. */
static uint64_t longest(const struct session *s, bool few, int events)
{
	bool sampled = s->options->mode != SNAPSHOT_EXACT, screen = s->options->screen;
	bool unhurried = screen && s->options->screen_can_wait;
	uint64_t most = unhurried && watch_is_woken(&s->watch) ? UNHURRIED_NS : IDLE_NS;

	if (unhurried ? !few : events > 0)
		most = !sampled ? MAX_NS : few ? FEW_NS : SAMPLED_NS;
	if (session_report_names_are_due(&s->report, &s->watch))
		most = sampled ? SAMPLED_NS : MAX_NS;
	if ((screen && !unhurried) || s->trace || is_awaited(s))
		most = MAX_NS;
	return most;
}

static uint64_t longer(uint64_t pause, uint64_t most)
{
	pause += pause / 4 + STEP_NS;
	return pause < most ? pause : most;
}

/* What comes, comes slowly, or is drawn more seldom if there is too much of it. */
static bool is_patient(const struct session *s, bool few)
{
	return watch_is_woken(&s->watch) &&	/* else rings would fill while we sleep */
	       (s->options->mode != SNAPSHOT_EXACT ||
		(few && s->options->screen && s->options->screen_can_wait));
}

uint64_t session_pause(const struct session *s, uint64_t pause, int events, double filled)
{
	bool few = are_few(events, pause);
	uint64_t most = longest(s, few, events);

	if (is_patient(s, few)) {
		if (filled > WAKING_RING)
			return pause / 2;
		if (filled <= PATIENT_RING || pause < STEP_NS)
			return longer(pause, most);
		return pause < most ? pause : most;
	}
	if (filled > BUSY_RING)
		return 0;
	return filled > FILLING_RING ? pause / 2 : longer(pause, most);
}

/* Bytes; 0 the other end is gone; -1 nothing. */
static ssize_t look_at(int socket)
{
	char byte;

	return recv(socket, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);
}

/* Since we last looked. A session ends with its keeper; with who looks on it does not. */
static bool something_came(void *context)
{
	const struct session *s = context;

	return look_at(s->link.socket) >= 0 ||
	       (s->report.feed && feed_is_open(s->report.feed) &&
		look_at(s->options->screen_socket) > 0);
}

void session_wait(struct session *s, uint64_t pause, double due)
{
	double left = due - session_now();

	if (s->link.stop_wanted || s->link.target_gone)	/* heard since we were awake */
		return;
	if (s->link.snapshot_wanted && pause > MAX_NS)
		pause = MAX_NS;
	if (left * 1e9 < (double)pause)
		pause = left > 0 ? (uint64_t)(left * 1e9) + 1 : 0;
	if (pause > MAX_NS)	/* who wakes us while we are not asleep yet must not be missed */
		reader_wait_unless(s->watch.reader, pause, something_came, s);
	else if (pause)
		reader_wait(s->watch.reader, pause);
	if (pause)
		pace_awake(&s->watch.pace);
}
