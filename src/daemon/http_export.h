/* SPDX-License-Identifier: MIT */
/*
 * http_export.h - a child of memattachd that reads a recording, which is what a target made of it,
 * and writes one export of it into memory.
 */
#ifndef MEMATTACH_DAEMON_HTTP_EXPORT_H
#define MEMATTACH_DAEMON_HTTP_EXPORT_H

#include <sys/types.h>

#include "src/daemon/http_wire.h"

#define HTTP_EXPORT_SECONDS	60u
#define HTTP_EXPORT_BYTES	(64u << 20)
#define HTTP_EXPORT_MEMORY	(1ull << 30)
#define HTTP_LIVE_SECONDS	10u	/* how often a page asks again */

struct http_export {
	pid_t child;		/* 0: none */
	uint32_t id;		/* of the question */
	int fd;			/* what it writes to */
};
/* Begins it. kind: with http_is_export(). 0 or -errno. */
int http_export_begin(struct http_export *export, const struct http_question *question,
		      const char *recording) _must_check_;
/*
 * True: it has ended just now; *ret_error: 0, export->fd has it; -ENODATA it has no snapshot yet,
 * -ETIMEDOUT, -EFBIG, -ENOTSUP, -EIO. Then http_export_done() is to be called.
 */
bool http_export_reap(struct http_export *export, int *ret_error);
/* One that still runs is ended. */
void http_export_done(struct http_export *export);

#endif
