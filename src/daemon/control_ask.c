/* SPDX-License-Identifier: MIT */
/* control_ask.c - see control_ask.h. */
#include "src/daemon/control_ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(const char *path)
{
	const struct timeval wait = { .tv_sec = CONTROL_WAIT_SECONDS };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int result;

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	result = fd;
	fd = -1;
	return result;
}

static int send_request(int fd, const char *command)
{
	char line[128];
	int bytes = snprintf(line, sizeof(line), "{\"memattach\": 1, \"command\": \"%s\"}\n",
			     command);
	ssize_t sent;

	if ((size_t)bytes >= sizeof(line))
		return -EINVAL;
	sent = send(fd, line, (size_t)bytes, MSG_NOSIGNAL);
	if (sent < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return sent == bytes ? 0 : -ETIMEDOUT;
}

/* All until it is closed. */
static int receive(int fd, char **ret, size_t *ret_bytes)
{
	size_t room = 0, got = 0;
	char *text = NULL;

	for (;;) {
		ssize_t n;

		if (got == room) {
			char *grown = realloc(text, room ? room * 2 : 65536);

			if (!grown || got >= CONTROL_ANSWER_BYTES) {
				free(grown ? grown : text);
				return grown ? -EBADMSG : -ENOMEM;
			}
			text = grown;
			room = room ? room * 2 : 65536;
		}
		n = read(fd, text + got, room - got);
		if (n > 0) {
			got += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		*ret = text;
		*ret_bytes = got;
		return n == 0 ? 0 : errno == EAGAIN ? -ETIMEDOUT : -errno;
	}
}

/* What we are told is wrong, or the answer. */
static int take_answer(const char *text, size_t bytes, json_t **ret, char error[256])
{
	json_t *answer = json_loadb(text, bytes, 0, NULL);
	const char *problem = json_string_value(json_object_get(answer, "error"));

	if (json_is_object(answer) && !problem) {
		*ret = answer;
		return 0;
	}
	if (problem)
		(void)snprintf(error, 256, "%s", problem);
	json_decref(answer);
	return problem ? -EREMOTEIO : -EBADMSG;
}

int control_ask(const char *path, const char *command, json_t **ret, char error[256])
{
	_cleanup_fd_ int fd = connect_to(path);
	_cleanup_free_ char *text = NULL;
	size_t bytes = 0;
	int result = fd < 0 ? fd : send_request(fd, command);

	if (result == 0)
		result = receive(fd, &text, &bytes);
	return result ? result : take_answer(text, bytes, ret, error);
}
