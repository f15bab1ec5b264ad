/* SPDX-License-Identifier: MIT */
/*
 * http.h - memattachd's side of HTTP: the process that serves it (http_server.h) is started, and
 * started again when it ends, and its questions are taken.
 */
#ifndef MEMATTACH_DAEMON_HTTP_H
#define MEMATTACH_DAEMON_HTTP_H

#include "src/daemon/http_address.h"
#include "src/daemon/http_wire.h"
#include "src/daemon/settings.h"

struct http {
	int listener;			/* -1: nobody is served */
	int link;			/* -1: the child does not run */
	pid_t child;			/* 0: none */
	const char *program;		/* where it is installed */
	struct http_address address;
	char *listen, *token;		/* of the settings; the file's first line */
	bool open;
	gid_t group;
	double begun, again;		/* when it was started, and is to be started */
	uint32_t failures;		/* in a row */
};

/* program: where the one that serves is installed; borrowed. */
void http_init(struct http *http, const char *program);
/* Serves as settings say, instead of as before; what was wrong is said. group: control_new()'s. */
void http_apply(struct http *http, const struct http_settings *settings, gid_t group, double now);
/* Nobody is served any more. */
void http_stop(struct http *http);
/* Sees to the child. When that is to be done again; INFINITY: when it ends or asks. */
double http_turn(struct http *http, double now);
/* 1 one was asked, 0 none. */
int http_next_question(struct http *http, struct http_question *ret);
/* fd: borrowed, and what is in it; -1 with an error. One that has gone meanwhile misses it. */
void http_answer(struct http *http, uint32_t id, int error, int fd);

#endif
