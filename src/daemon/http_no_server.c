/* SPDX-License-Identifier: MIT */
/* http_no_server.c - http_server.h where there is no libmicrohttpd. */
#include "src/daemon/http_server.h"

#include <errno.h>

bool http_server_is_there(void)
{
	return false;
}

int http_server_run(const struct http_server *server)
{
	(void)server;
	return -ENOTSUP;
}
