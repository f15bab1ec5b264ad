/* SPDX-License-Identifier: MIT */
/*
 * memattach-http.c - the process that serves HTTP for memattachd, which starts it with the socket
 * between them as its standard input (src/daemon/http.c). A program of its own: libmicrohttpd
 * brings libraries along that every process which memattachd forks would have in its memory.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/base/why.h"
#include "src/daemon/http_server.h"

#define WAIT_MS 10000

int main(void)
{
	struct pollfd said = { .fd = STDIN_FILENO, .events = POLLIN };
	struct http_begin begin;
	int listener = -1, error;

	if (poll(&said, 1, WAIT_MS) != 1 ||
	    http_receive_begin(STDIN_FILENO, &begin, &listener) != 1 || listener < 0) {
		fprintf(stderr, "memattach-http: error: it is memattachd that starts this: "
			"listen, in [http] of memattach.conf (5)\n");
		return 2;
	}
	begin.token[HTTP_TOKEN_BYTES] = '\0';
	error = http_server_run(&begin, listener, STDIN_FILENO);
	if (error != -EPIPE)
		log_error("[http] nobody can be served: %s", why_of(error).text);
	return 1;
}
