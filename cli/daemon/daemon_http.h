/* SPDX-License-Identifier: MIT */
/* daemon_http.h - Prometheus, and recordings for pprof and browsers (docs/METRICS.md). */
#ifndef MEMATTACH_CLI_DAEMON_HTTP_H
#define MEMATTACH_CLI_DAEMON_HTTP_H

#include "cli/daemon/daemon_control.h"
#include "src/daemon/http.h"
#include "src/daemon/http_export.h"

#define DAEMON_HTTP_EXPORTS 2u	/* that are made at a time */

struct daemon_http {
	struct http http;
	struct http_export export[DAEMON_HTTP_EXPORTS];
	char *file;		/* that was written for node_exporter; NULL: none */
	double next, file_next;	/* when there is something to do; when to write the file */
	int file_error;		/* the last, which was said */
};

void daemon_http_init(struct daemon_http *http);
/* After the settings were read. group: who belongs to it may see everything; (gid_t)-1: nobody. */
void daemon_http_apply(struct daemon_http *http, const struct settings *settings, gid_t group,
		       double now);
/* Where to listen for questions; -1: nowhere. */
int daemon_http_fd(const struct daemon_http *http);
/* When the next turn must be; INFINITY: when something comes, or a child ends. */
double daemon_http_next(const struct daemon_http *http);
void daemon_http_turn(struct daemon_http *http, struct daemon_state *state, double now);
void daemon_http_done(struct daemon_http *http);

#endif
