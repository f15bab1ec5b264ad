/* SPDX-License-Identifier: MIT */
/*
 * http_server.h - the process that serves HTTP: it speaks with whoever connects, and asks
 * memattachd for all that it answers. It has no capabilities and can open nothing (http_sandbox.h).
 */
#ifndef MEMATTACH_DAEMON_HTTP_SERVER_H
#define MEMATTACH_DAEMON_HTTP_SERVER_H

#include "src/daemon/http_wire.h"

#define HTTP_CONNECTIONS	32u	/* at a time */
#define HTTP_EXPORTS		4u	/* of recordings, that are made or sent at a time */
#define HTTP_IDLE_SECONDS	10u	/* then a connection is closed */
#define HTTP_REQUEST_SECONDS	10.0	/* for all of a request */
#define HTTP_ANSWER_SECONDS	300.0	/* from then on, for the answer to be made and taken */
#define HTTP_HEADER_BYTES	16384u

/* On link (http_wire.h), to the end of memattachd. -errno: can't begin; -EPIPE it is gone. */
int http_server_run(const struct http_begin *begin, int listener, int link);

#endif
