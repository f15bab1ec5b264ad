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
#include "src/report/emit.h"

#define CONTROL_PROTOCOL	1
#define CONTROL_CLIENTS		16u	/* at a time; more wait */
#define CONTROL_FDS		(CONTROL_CLIENTS + 1)
#define CONTROL_REQUEST_BYTES	4096u
#define CONTROL_SECONDS		10.0	/* for one to ask and to take the answer */

/* Who asks. */
struct control_peer {
	uid_t uid;
	bool all;	/* root, memattachd's own user, or of its group: may see everybody's */
};
/* Writes one document, which emit_finish() is to end. request is an object. */
typedef void control_answer(void *context, const struct control_peer *peer,
			    const json_t *request, struct emit *to);
/* {"error": text}. */
void control_error(struct emit *to, const char *text);

struct control;
/*
 * Listens at path, which is made, and goes with control_free(). group: who belongs to it may see
 * everything; (gid_t)-1: nobody does. 0; -EADDRINUSE another one answers there; -errno.
 */
int control_new(const char *path, gid_t group, struct control **ret) _must_check_;
void control_free(struct control *control);
/* What to poll for; the number of them. */
size_t control_poll(const struct control *control, struct pollfd to[CONTROL_FDS]);
/* When somebody's time is over, by now's clock; INFINITY: nobody's. */
double control_next(const struct control *control);
/* Hears and answers, as far as that can be done at once. */
void control_turn(struct control *control, double now, control_answer *answer, void *context);

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
/* What the kernel says of who connected; see control_new(). 0 or -errno. */
int control_who_asks(int fd, gid_t group, struct control_peer *ret) _must_check_;

#endif
