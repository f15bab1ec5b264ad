/* SPDX-License-Identifier: MIT */
/*
 * control.h - the socket at which memattachd is asked: one line of JSON in, one document out, then
 * it is closed. docs/CONTROL.md is the protocol.
 *
 * Anybody may ask; what is answered depends on who does, as the kernel says. Nobody is waited for.
 */
#ifndef MEMATTACH_DAEMON_CONTROL_H
#define MEMATTACH_DAEMON_CONTROL_H

#include <poll.h>
#include <sys/types.h>
#include <sys/un.h>

#include <jansson.h>

#include "src/daemon/control_ask.h"
#include "src/daemon/control_peer.h"
#include "src/report/emit.h"

#define CONTROL_PROTOCOL	1
#define CONTROL_CLIENTS		16u	/* that ask, at a time; more wait */
#define CONTROL_STAYING		32u	/* that wait for an answer that takes time, or follow */
#define CONTROL_PLACES		(CONTROL_CLIENTS + CONTROL_STAYING)
#define CONTROL_FDS		(CONTROL_PLACES + 1)
#define CONTROL_REQUEST_BYTES	4096u
#define CONTROL_SECONDS		10.0	/* for one to ask and to take the answer */
#define CONTROL_LATER_SECONDS	300.0	/* for what takes time */
#define CONTROL_STALL_SECONDS	30.0	/* who follows and takes nothing for so long is cut off */
#define CONTROL_QUEUE_BYTES	65536u	/* of events, for each who follows */

/* What somebody asks; while the answer is to come later, it is asked again at each turn. */
struct control_question {
	const struct control_peer *peer;
	const json_t *request;	/* an object */
	uint64_t id;		/* its own */
	uint64_t *mark;		/* the answerer's own; 0 at first */
	int *ret_fd;		/* what goes with the answer: taken over; -1 unless set */
	bool may_stay;		/* else what is to come later is not to be begun */
};
enum control_reply {
	CONTROL_ANSWERED = 0,
	CONTROL_LATER,		/* nothing was written; ask again */
	CONTROL_FOLLOWS,	/* and then hears events, until it hangs up */
};
/* Writes one document, which emit_finish() is to end. */
typedef enum control_reply control_answer(void *context, const struct control_question *question,
					  struct emit *to);
/* {"error": text}. */
void control_error(struct emit *to, const char *text);

struct control;
/*
 * Listens at path, which is made, and goes with control_free(). group: who belongs to it may see
 * everything; (gid_t)-1: nobody does. 0; -EADDRINUSE another one answers there; -errno.
 */
int control_new(const char *path, gid_t group, struct control **ret) _must_check_;
/* The same at a socket that somebody listens at for us, and that stays. 0, -ENOMEM. */
int control_new_at(int listener_take, gid_t group, struct control **ret) _must_check_;
void control_free(struct control *control);
/* What to poll for; the number of them. */
size_t control_poll(const struct control *control, struct pollfd to[CONTROL_FDS]);
/* When somebody's time is over, by now's clock; INFINITY: nobody's. */
double control_next(const struct control *control);
/* Hears and answers, as far as that can be done at once. */
void control_turn(struct control *control, double now, control_answer *answer, void *context);
/* Does the one who asked this question still wait for the answer? */
bool control_is_asked(const struct control *control, uint64_t id);

/* Who of those who follow may hear of an event, which happens now. */
struct control_hearers {
	bool (*may_hear)(void *context, const struct control_peer *peer);
	void *context;
	double now;
};
/*
 * Queues a line (with its newline) for each of them. One that has no room for it misses it, and is
 * told how many it missed once it has.
 */
void control_tell(struct control *control, const char *line, size_t bytes,
		  const struct control_hearers *hearers);

/* --- parts of it, for other sockets --- */

/* 0 or -ENAMETOOLONG. */
int control_address(const char *path, struct sockaddr_un *ret) _must_check_;
/*
 * Removes a socket at which nobody answers any more, or nothing. 0; -EADDRINUSE somebody does;
 * -errno.
 */
int control_clear(const struct sockaddr_un *address) _must_check_;
/* Makes it, for anybody to connect to. A descriptor, that nobody waits at; -errno. */
int control_listen(const struct sockaddr_un *address) _must_check_;

#endif
