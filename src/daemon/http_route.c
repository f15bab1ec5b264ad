/* SPDX-License-Identifier: MIT */
/* http_route.c - see http_route.h. */
#include "src/daemon/http_route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/daemon/metrics.h"

#define TARGETS "/targets/"
#define BEARER "Bearer "

struct place {
	const char *path;
	enum http_kind kind;
};
static const struct place place[] = {
	{ "/", HTTP_INDEX }, { "/metrics", HTTP_METRICS }, { "/targets", HTTP_TARGETS },
};
/* Below a process's own, or with the argument pid. */
static const struct place place_of_one[] = {
	{ "/report", HTTP_REPORT }, { "/debug/pprof/heap", HTTP_HEAP },
	{ "/debug/pprof/allocs", HTTP_ALLOCS },
};

static bool find_in(const struct place *table, size_t count, const char *path,
		    struct http_route *ret)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(table[i].path, path) == 0) {
			ret->kind = table[i].kind;
			return true;
		}
	return false;
}

/* Digits up to end. 0: none. */
static int32_t read_pid(const char *text, const char *end)
{
	int32_t pid = 0;

	if (text == end || end - text > 9)
		return 0;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9')
			return 0;
		pid = pid * 10 + (*text - '0');
	}
	return pid;
}

int http_route_find(const char *path, const char *pid, struct http_route *ret)
{
	const char *rest = path, *from = pid;

	*ret = (struct http_route){ .pid = 0 };
	if (find_in(place, ARRAY_SIZE(place), path, ret))
		return 0;
	if (strncmp(path, TARGETS, strlen(TARGETS)) == 0) {
		from = path + strlen(TARGETS);
		rest = strchr(from, '/');
	}
	if (!rest || !find_in(place_of_one, ARRAY_SIZE(place_of_one), rest, ret))
		return -ENOENT;
	if (from)
		ret->pid = read_pid(from, from == pid ? from + strlen(from) : rest);
	return ret->pid ? 0 : -EINVAL;
}

const char *http_route_type(enum http_kind kind)
{
	switch (kind) {
	case HTTP_METRICS:
		return METRICS_TYPE;
	case HTTP_TARGETS:
		return "application/json";
	case HTTP_INDEX:
	case HTTP_REPORT:
		return "text/html; charset=utf-8";
	default:
		return "application/octet-stream";
	}
}

bool http_route_has_token(const char *header, const char *token)
{
	size_t length = strlen(token), given;
	volatile unsigned char differs = 0;

	if (!header || strncasecmp(header, BEARER, strlen(BEARER)) != 0)
		return false;
	header += strlen(BEARER);
	given = strlen(header);
	for (size_t i = 0; i < length; i++)
		differs |= (unsigned char)(token[i] ^ (i < given ? header[i] : '\0'));
	return !differs && given == length;
}

bool http_route_is_local(const char *host)
{
	static const char *const name[] = { "localhost", "127.0.0.1", "[::1]" };

	for (size_t i = 0; host && i < ARRAY_SIZE(name); i++) {
		size_t length = strlen(name[i]);

		if (strncasecmp(host, name[i], length) == 0 &&
		    (host[length] == '\0' || host[length] == ':'))
			return true;
	}
	return false;
}
