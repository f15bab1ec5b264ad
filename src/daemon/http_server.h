/* SPDX-License-Identifier: MIT */
/*
 * http_server.h - the process that serves HTTP: it speaks with whoever connects, and asks
 * memattachd for all that it answers. It has no capabilities and can open nothing (http_sandbox.h).
 */
#ifndef MEMATTACH_DAEMON_HTTP_SERVER_H
#define MEMATTACH_DAEMON_HTTP_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

#define HTTP_CONNECTIONS	32u	/* at a time */
#define HTTP_EXPORTS		4u	/* of recordings, that are made or sent at a time */
#define HTTP_IDLE_SECONDS	10u	/* then a connection is closed */
#define HTTP_HEADER_BYTES	16384u

struct http_server {
	int listener, link;	/* link: http_wire.h */
	bool by_peer;		/* a Unix socket: the kernel says who asks, and that decides */
	gid_t group;		/* who belongs to it may see everything, then; (gid_t)-1: nobody */
	bool local;		/* only this machine's own names are listened to */
	bool open;		/* everything goes to anybody who can connect */
	const char *token;	/* or to who has this one; NULL: none */
};

/* Has this build what it takes? */
bool http_server_is_there(void);
/* To the end of memattachd. -errno: it could not begin; -EPIPE memattachd is gone. */
int http_server_run(const struct http_server *server);

#endif
