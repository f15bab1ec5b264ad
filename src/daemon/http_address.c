/* SPDX-License-Identifier: MIT */
/* http_address.c - see http_address.h. */
#include "src/daemon/http_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/daemon/control.h"

#define UNIX "unix:"

/* "9095": digits alone. 0 or -EINVAL. */
static int parse_port(const char *text, in_port_t *ret)
{
	unsigned long port = strtoul(text, NULL, 10);

	if (strspn(text, "0123456789") != strlen(text) || strlen(text) > 5 || port == 0 ||
	    port > 65535)
		return -EINVAL;
	*ret = htons((in_port_t)port);
	return 0;
}

static int parse_unix(const char *path, struct http_address *ret)
{
	ret->bytes = sizeof(ret->un);
	ret->local = true;
	return path[0] == '/' && control_address(path, &ret->un) == 0 ? 0 : -EINVAL;
}

static int parse_4(const char *host, struct http_address *ret)
{
	ret->in.sin_family = AF_INET;
	ret->bytes = sizeof(ret->in);
	if (inet_pton(AF_INET, host, &ret->in.sin_addr) != 1)
		return -EINVAL;
	ret->local = ntohl(ret->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return 0;
}

static int parse_6(const char *host, struct http_address *ret)
{
	ret->in6.sin6_family = AF_INET6;
	ret->bytes = sizeof(ret->in6);
	if (inet_pton(AF_INET6, host, &ret->in6.sin6_addr) != 1)
		return -EINVAL;
	ret->local = IN6_IS_ADDR_LOOPBACK(&ret->in6.sin6_addr);
	return 0;
}

int http_address_parse(const char *text, struct http_address *ret)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t length = colon ? (size_t)(colon - text) : 0;
	in_port_t port;

	*ret = (struct http_address){ .bytes = 0 };
	if (strncmp(text, UNIX, strlen(UNIX)) == 0)
		return parse_unix(text + strlen(UNIX), ret);
	if (length == 0 || length >= sizeof(host) || parse_port(colon + 1, &port))
		return -EINVAL;
	memcpy(host, text, length);
	host[length] = '\0';
	if (host[0] != '[') {
		ret->in.sin_port = port;
		return parse_4(host, ret);
	}
	if (host[length - 1] != ']')
		return -EINVAL;
	host[length - 1] = '\0';
	ret->in6.sin6_port = port;
	return parse_6(host + 1, ret);
}

static int listen_for_packets(const struct http_address *address)
{
	int yes = 1, result, fd = socket(address->any.sa_family,
					 SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
	    (address->any.sa_family != AF_INET6 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes)) == 0) &&
	    bind(fd, &address->any, address->bytes) == 0 && listen(fd, HTTP_WAITING) == 0)
		return fd;
	result = -errno;
	(void)close(fd);
	return result;
}

int http_address_listen(const struct http_address *address)
{
	int error;

	if (address->any.sa_family != AF_UNIX)
		return listen_for_packets(address);
	error = control_clear(&address->un);
	return error ? error : control_listen(&address->un);
}

void http_address_remove(const struct http_address *address)
{
	if (address->any.sa_family == AF_UNIX)
		(void)unlink(address->un.sun_path);
}
