/* SPDX-License-Identifier: MIT */
/*
 * http_guests.h - the connections of the process that serves HTTP: how many, whose, for how long.
 * A connection that is to end is shut down; libmicrohttpd, whose it is, then closes it.
 */
#ifndef MEMATTACH_DAEMON_HTTP_GUESTS_H
#define MEMATTACH_DAEMON_HTTP_GUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/daemon/http_server.h"

struct http_guest {
	uint64_t id;		/* 0: nobody */
	int fd;			/* borrowed */
	uid_t uid;		/* ADMISSION_UNKNOWN over TCP */
	bool silent;		/* its request is not complete */
	double since;		/* seconds: it connected, had its last answer, or has asked */
};
/* Zeroed: nobody is there. */
struct http_guests {
	struct http_guest guest[HTTP_CONNECTIONS];
	uint64_t ids;		/* so far */
};

/*
 * A connection has come; another one may be shut down for it. Its id, or 0 where there is no place:
 * then it is shut down itself.
 */
uint64_t http_guests_come(struct http_guests *guests, int fd, uid_t uid, double now);
/* Its request is complete; its answer is sent. Unknown ids are ignored. */
void http_guests_asked(struct http_guests *guests, uint64_t id, double now);
void http_guests_answered(struct http_guests *guests, uint64_t id, double now);
/* It has ended. Unknown ids are ignored. */
void http_guests_go(struct http_guests *guests, uint64_t id);
/*
 * Shuts down those that have taken HTTP_REQUEST_SECONDS for a request, or HTTP_ANSWER_SECONDS for
 * an answer. When the next one's time is over, INFINITY: nobody's.
 */
double http_guests_turn(struct http_guests *guests, double now);

#endif
