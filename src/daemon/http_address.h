/* SPDX-License-Identifier: MIT */
/* http_address.h - where to listen: an address with a port, or a socket in the file system. */
#ifndef MEMATTACH_DAEMON_HTTP_ADDRESS_H
#define MEMATTACH_DAEMON_HTTP_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/un.h>

#include "src/base/cleanup.h"

#define HTTP_WAITING	16	/* connections that nobody has taken yet */

struct http_address {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	};
	socklen_t bytes;
	bool local;	/* nobody on another machine can reach it */
};
/*
 * text: "127.0.0.1:9095", "[::1]:9095", "unix:/path". No names: nobody is asked for them. 0 or
 * -EINVAL.
 */
int http_address_parse(const char *text, struct http_address *ret) _must_check_;
/* A socket that listens there, and doesn't wait. Or -errno. */
int http_address_listen(const struct http_address *address) _must_check_;
/* A socket in the file system goes. */
void http_address_remove(const struct http_address *address);

#endif
