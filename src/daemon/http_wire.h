/* SPDX-License-Identifier: MIT */
/*
 * http_wire.h - what memattachd and the process that serves HTTP say to each other, in packets of
 * a fixed size. The answer to a question is a file in memory, whose descriptor comes along.
 */
#ifndef MEMATTACH_DAEMON_HTTP_WIRE_H
#define MEMATTACH_DAEMON_HTTP_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/cleanup.h"

enum http_kind {
	HTTP_METRICS = 0,	/* metrics.h */
	HTTP_TARGETS,		/* as `memattach status --json` */
	HTTP_INDEX,		/* a page that names the processes */
	HTTP_REPORT,		/* from here on of one process, from its recording: a page; */
	HTTP_HEAP,		/* for pprof, what lives; */
	HTTP_ALLOCS,		/* what was allocated */
	HTTP_KINDS
};
/* Does it take a child that reads a recording? */
static inline bool http_is_export(uint32_t kind)
{
	return kind >= HTTP_REPORT && kind < HTTP_KINDS;
}

struct http_question {
	uint32_t id;		/* the asker's, for the answer */
	uint32_t kind;		/* enum http_kind */
	int32_t pid;		/* with http_is_export() */
	uint32_t uid, gid;	/* who asks: of processes that he may trace; */
	uint32_t all;		/* 1: of everybody's */
};
struct http_answer {
	uint32_t id;
	int32_t error;		/* 0: with a descriptor */
};

#define HTTP_TOKEN_BYTES 512u
/* What the process that serves is told first; the listening socket comes along. */
struct http_begin {
	uint32_t by_peer;	/* a Unix socket: the kernel says who asks, and that decides */
	uint32_t group;		/* who belongs to it may see everything, then; UINT32_MAX: nobody */
	uint32_t local;		/* only this machine's own names are listened to */
	uint32_t open;		/* everything goes to anybody who can connect */
	char token[HTTP_TOKEN_BYTES + 1];	/* or to who has this one; "": none */
};

/* Never wait. descriptor: borrowed; -1: none. 0, -EAGAIN no room, -EPIPE, -errno. */
int http_send_question(int link, const struct http_question *question) _must_check_;
int http_send_answer(int link, const struct http_answer *answer, int descriptor) _must_check_;
int http_send_begin(int link, const struct http_begin *begin, int listener) _must_check_;
/* 1 one has come, 0 none yet, -EPIPE the other side is gone, -EBADMSG. */
int http_receive_question(int link, struct http_question *ret) _must_check_;
/* The same; *ret_fd: the caller's, -1 none came. */
int http_receive_answer(int link, struct http_answer *ret, int *ret_fd) _must_check_;
int http_receive_begin(int link, struct http_begin *ret, int *ret_listener) _must_check_;

#endif
