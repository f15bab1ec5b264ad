/* SPDX-License-Identifier: MIT */
/* control_ask.h - the other side of control.h: who asks memattachd. */
#ifndef MEMATTACH_DAEMON_CONTROL_ASK_H
#define MEMATTACH_DAEMON_CONTROL_ASK_H

#include <jansson.h>

#include "src/base/cleanup.h"

#define CONTROL_PATH		"/run/memattach/control"
#define CONTROL_WAIT_SECONDS	20	/* for what is answered at once; */
#define CONTROL_WAIT_LONG	330	/* for what takes time */
#define CONTROL_ANSWER_BYTES	(64u << 20)

struct control_told {
	json_t *document;	/* an object, the caller's; NULL with an error */
	int fd;			/* what came with it, the caller's; -1: nothing did */
	int status;		/* with -EREMOTEIO: the exit status it means; 0: not said */
	char error[256];	/* and memattachd's own words */
};
/*
 * Sends request, to which "memattach": 1 is added, to the socket at path and waits for the answer
 * that long. 0; -ETIMEDOUT; -EREMOTEIO memattachd says why not; -EBADMSG no answer that can be
 * understood; -ENOENT, -ECONNREFUSED nobody is there; -errno.
 */
int control_ask(const char *path, json_t *request, int seconds, struct control_told *ret)
	_must_check_;

/* One that comes; not 0 ends it. */
typedef int control_hear(void *context, const json_t *document);
/*
 * The same, for what goes on: each document is handed to hear, until it or memattachd ends it. What
 * hear returned; 0 memattachd has ended it; or as above.
 */
int control_follow(const char *path, json_t *request, control_hear *hear, void *context,
		   char error[256]) _must_check_;

#endif
