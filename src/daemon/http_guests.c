/* SPDX-License-Identifier: MIT */
/*
 * http_guests.c - see http_guests.h.
 *
 * libmicrohttpd ends a connection that is idle, but one that sends a byte now and then is not, and
 * what it refuses is refused for all users alike: hence limits of our own (admission.h).
 */
#include "src/daemon/http_guests.h"

#include <math.h>
#include <sys/socket.h>

#include "src/daemon/admission.h"

#define MOST_OF_A_USER	8u	/* connections at a time; browsers make six */
#define KEPT_FOR_ROOT	4u

static struct http_guest *guest_of(struct http_guests *guests, uint64_t id)
{
	for (size_t i = 0; id && i < HTTP_CONNECTIONS; i++)
		if (guests->guest[i].id == id)
			return &guests->guest[i];
	return NULL;
}

static void shut_down(struct http_guest *guest)
{
	(void)shutdown(guest->fd, SHUT_RDWR);
	guest->id = 0;
}

uint64_t http_guests_come(struct http_guests *guests, int fd, uid_t uid, double now)
{
	const struct admission_rules rules = { MOST_OF_A_USER, KEPT_FOR_ROOT };
	struct admission_place place[HTTP_CONNECTIONS];
	int found;

	for (size_t i = 0; i < HTTP_CONNECTIONS; i++)
		place[i] = (struct admission_place){
			.taken = guests->guest[i].id != 0, .silent = guests->guest[i].silent,
			.uid = guests->guest[i].uid, .since = guests->guest[i].since,
		};
	found = admission_find(place, HTTP_CONNECTIONS, &rules, uid);
	if (found < 0) {
		(void)shutdown(fd, SHUT_RDWR);
		return 0;
	}
	if (place[found].taken)
		shut_down(&guests->guest[found]);
	guests->guest[found] = (struct http_guest){
		.id = ++guests->ids, .fd = fd, .uid = uid, .silent = true, .since = now,
	};
	return guests->ids;
}

static void note(struct http_guests *guests, uint64_t id, bool silent, double now)
{
	struct http_guest *guest = guest_of(guests, id);

	if (!guest)
		return;
	guest->silent = silent;
	guest->since = now;
}

void http_guests_asked(struct http_guests *guests, uint64_t id, double now)
{
	note(guests, id, false, now);
}

void http_guests_answered(struct http_guests *guests, uint64_t id, double now)
{
	note(guests, id, true, now);
}

void http_guests_go(struct http_guests *guests, uint64_t id)
{
	struct http_guest *guest = guest_of(guests, id);

	if (guest)
		guest->id = 0;
}

double http_guests_turn(struct http_guests *guests, double now)
{
	double next = INFINITY;

	for (size_t i = 0; i < HTTP_CONNECTIONS; i++) {
		struct http_guest *guest = &guests->guest[i];
		double until = guest->since +
			       (guest->silent ? HTTP_REQUEST_SECONDS : HTTP_ANSWER_SECONDS);

		if (!guest->id)
			continue;
		if (now >= until)
			shut_down(guest);
		else if (until < next)
			next = until;
	}
	return next;
}
