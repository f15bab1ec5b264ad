/* SPDX-License-Identifier: MIT */
/*
 * pauses.c - see pauses.h. Each awakening costs as much as many records, and the caches of who ran
 * before: as few as rings and people allow. Under memattachd, where hundreds of processes may be
 * watched that do nothing, nobody waits: who asks something there has the keeper wake us. While
 * names are wanted and missing turns come as if there were events.
 */
#include "src/session/pauses.h"

#include <sys/socket.h>

#include "src/reader.h"

#define STEP_NS		1000000ull
#define MAX_NS		20000000ull
#define SAMPLED_NS	100000000ull
#define IDLE_NS		500000000ull	/* nothing happens at all */
#define UNHURRIED_NS	4000000000ull	/* and nobody looks on */
#define BUSY_RING	0.25		/* filled so far within a pause: none any more */
#define FILLING_RING	0.0625		/* shorter ones */

uint64_t session_pause(const struct session *s, uint64_t pause, int events, double filled)
{
	bool sampled = s->options->mode != SNAPSHOT_EXACT, screen = s->options->screen;
	bool unhurried = screen && s->options->screen_can_wait;
	uint64_t most = unhurried ? UNHURRIED_NS : IDLE_NS;

	if (events || session_report_names_are_due(&s->report, &s->watch))
		most = sampled ? SAMPLED_NS : MAX_NS;
	if ((screen && !unhurried) || s->trace)	/* somebody waits for what we say */
		most = MAX_NS;
	if (filled > BUSY_RING)
		return 0;
	if (filled > FILLING_RING)
		return pause / 2;
	pause += pause / 4 + STEP_NS;
	return pause < most ? pause : most;
}

/* The end of a connection is no reason: it is seen to elsewhere. */
static bool has_something(int socket)
{
	char byte;

	return recv(socket, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Since we last looked. */
static bool something_came(void *context)
{
	const struct session *s = context;

	return has_something(s->link.socket) ||
	       (s->options->screen && has_something(s->options->screen_socket));
}

void session_wait(struct session *s, uint64_t pause, double due)
{
	double left = due - session_now();

	if (left * 1e9 < (double)pause)
		pause = left > 0 ? (uint64_t)(left * 1e9) + 1 : 0;
	if (pause > IDLE_NS)	/* who wakes us while we are not asleep yet must not be missed */
		reader_wait_unless(s->watch.reader, pause, something_came, s);
	else if (pause)
		reader_wait(s->watch.reader, pause);
}
