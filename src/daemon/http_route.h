/* SPDX-License-Identifier: MIT */
/* http_route.h - what a request asks for, and whether who asks may have it. */
#ifndef MEMATTACH_DAEMON_HTTP_ROUTE_H
#define MEMATTACH_DAEMON_HTTP_ROUTE_H

#include "src/daemon/http_wire.h"

struct http_route {
	enum http_kind kind;
	int32_t pid;		/* 0: of no process */
};
/*
 * path: without arguments; pid: the argument of that name, NULL: none. 0; -ENOENT there is nothing
 * there; -EINVAL no process is named, or not by a number.
 */
int http_route_find(const char *path, const char *pid, struct http_route *ret) _must_check_;
/* The media type of its answer. */
const char *http_route_type(enum http_kind kind);
/*
 * Is header ("Bearer ...", NULL: none) the token? In a time that doesn't depend on where they
 * differ.
 */
bool http_route_has_token(const char *header, const char *token);
/*
 * Is host (of the request; NULL: none) this machine by its own name? A page of somebody else's that
 * has made its own name mean this machine speaks of that name.
 */
bool http_route_is_local(const char *host);

#endif
