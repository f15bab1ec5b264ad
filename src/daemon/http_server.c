/* SPDX-License-Identifier: MIT */
/*
 * http_server.c - see http_server.h. HTTP itself is libmicrohttpd's. One thread: a connection that
 * waits for memattachd is suspended meanwhile.
 */
#include "src/daemon/http_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/daemon/admission.h"
#include "src/daemon/control_peer.h"
#include "src/daemon/http_guests.h"
#include "src/daemon/http_route.h"
#include "src/daemon/http_sandbox.h"

#define WAIT_MS 60000

/* A request. */
struct visit {
	struct MHD_Connection *connection;
	uint32_t id;			/* of the question; 0: none was asked */
	enum http_kind kind;
	bool waits;			/* for the answer */
	int error, fd;			/* the answer; fd: -1 none */
};

struct serving {
	const struct http_begin *begin;
	int listener, link;
	struct visit *visit[HTTP_CONNECTIONS];	/* that have asked */
	struct http_guests guests;
	uint32_t last_id;
};

/* --- answers -------------------------------------------------------------- */

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned int code,
			     struct MHD_Response *response, const char *type)
{
	enum MHD_Result result = MHD_NO;

	if (!response)
		return MHD_NO;
	if (MHD_add_response_header(response, "Content-Type", type) == MHD_YES &&
	    MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES &&
	    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_YES &&
	    (code != MHD_HTTP_UNAUTHORIZED ||
	     MHD_add_response_header(response, "WWW-Authenticate", "Bearer") == MHD_YES) &&
	    (code != MHD_HTTP_METHOD_NOT_ALLOWED ||
	     MHD_add_response_header(response, "Allow", "GET") == MHD_YES) &&
	    (code != MHD_HTTP_SERVICE_UNAVAILABLE ||
	     MHD_add_response_header(response, "Retry-After", "5") == MHD_YES))
		result = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	return result;
}

/* text: one of ours, for good. */
static enum MHD_Result reply_text(struct MHD_Connection *connection, unsigned int code,
				  const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

	return reply(connection, code, response, "text/plain; charset=utf-8");
}

static enum MHD_Result reply_error(struct MHD_Connection *connection, int error)
{
	switch (error) {
	case -ENOENT:
		return reply_text(connection, MHD_HTTP_NOT_FOUND, "there is nothing here; see /\n");
	case -EINVAL:
		return reply_text(connection, MHD_HTTP_BAD_REQUEST,
				  "name a process: ?pid=NUMBER\n");
	case -ESRCH:
		return reply_text(connection, MHD_HTTP_NOT_FOUND,
				  "no such process is watched; see /targets\n");
	case -ENODATA:
		return reply_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				  "it has no snapshot yet; ask again in 5 seconds\n");
	case -EBUSY:
		return reply_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				  "others are being served; ask again in 5 seconds\n");
	case -ENOTSUP:
		return reply_text(connection, MHD_HTTP_NOT_IMPLEMENTED,
				  "this memattachd was built without the library that it "
				  "needs\n");
	case -ETIMEDOUT:
		return reply_text(connection, MHD_HTTP_GATEWAY_TIMEOUT,
				  "it took too long; ask again later\n");
	default:
		return reply_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
				  "the recording can't be read; the journal of memattachd says "
				  "why\n");
	}
}

static enum MHD_Result reply_answer(struct visit *visit)
{
	struct MHD_Response *response;
	struct stat status;

	if (visit->error || visit->fd < 0)
		return reply_error(visit->connection, visit->error ? visit->error : -EIO);
	if (fstat(visit->fd, &status) < 0)
		return MHD_NO;
	response = MHD_create_response_from_fd((size_t)status.st_size, visit->fd);
	visit->fd = response ? -1 : visit->fd;	/* closed with the response */
	return reply(visit->connection, MHD_HTTP_OK, response, http_route_type(visit->kind));
}

/* --- who may have what ---------------------------------------------------- */

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* -1: not known. */
static int socket_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

/* 0, with who asks in question, or a status of HTTP. */
static unsigned int check_peer(const struct http_begin *begin, struct MHD_Connection *connection,
			       struct http_question *question)
{
	struct control_peer peer;

	if (control_who_asks(socket_of(connection), begin->group, &peer))
		return MHD_HTTP_FORBIDDEN;
	question->uid = peer.uid;
	question->gid = peer.gid;
	question->all = peer.all;
	return 0;
}

/* Who is at the other end of TCP nobody knows. */
static unsigned int check_access(const struct http_begin *begin,
				 struct MHD_Connection *connection,
				 struct http_question *question)
{
	if (begin->by_peer)
		return check_peer(begin, connection, question);
	if (begin->local && !http_route_is_local(header(connection, "Host")))
		return MHD_HTTP_FORBIDDEN;
	question->all = 1;
	if (begin->token[0])
		return http_route_has_token(header(connection, "Authorization"), begin->token) ?
		       0 : MHD_HTTP_UNAUTHORIZED;
	return begin->open || question->kind == HTTP_METRICS ? 0 : MHD_HTTP_FORBIDDEN;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned int code)
{
	return reply_text(connection, code, code == MHD_HTTP_UNAUTHORIZED ?
			  "a token is needed: Authorization: Bearer TOKEN\n" :
			  "not from here: see [http] in memattach.conf(5)\n");
}

/* --- questions ------------------------------------------------------------ */

/* A place to wait in; NULL: there are too many. */
static struct visit **place_for(struct serving *serving, enum http_kind kind)
{
	struct visit **place = NULL;
	uint32_t exports = 0;

	for (size_t i = 0; i < HTTP_CONNECTIONS; i++) {
		if (!serving->visit[i])
			place = &serving->visit[i];
		else
			exports += http_is_export(serving->visit[i]->kind);
	}
	return http_is_export(kind) && exports >= HTTP_EXPORTS ? NULL : place;
}

static enum MHD_Result http_server_ask(struct serving *serving, struct visit *visit,
				       struct http_question *question)
{
	struct visit **place = place_for(serving, visit->kind);

	if (!place)
		return reply_error(visit->connection, -EBUSY);
	serving->last_id += serving->last_id == UINT32_MAX ? 2 : 1;
	question->id = serving->last_id;
	if (http_send_question(serving->link, question))
		return reply_error(visit->connection, -EBUSY);
	visit->id = question->id;
	visit->waits = true;
	*place = visit;
	MHD_suspend_connection(visit->connection);
	return MHD_YES;
}

static enum MHD_Result take_request(struct serving *serving, struct visit *visit, const char *path)
{
	struct http_question question = { .uid = UINT32_MAX };
	struct http_route route;
	int error = http_route_find(path, MHD_lookup_connection_value(
				    visit->connection, MHD_GET_ARGUMENT_KIND, "pid"), &route);
	unsigned int refused;

	question.kind = error ? HTTP_KINDS : route.kind;
	question.pid = route.pid;
	refused = check_access(serving->begin, visit->connection, &question);
	if (refused)
		return refuse(visit->connection, refused);
	if (error)
		return reply_error(visit->connection, error);
	visit->kind = route.kind;
	return http_server_ask(serving, visit, &question);
}

/* --- connections ---------------------------------------------------------- */

static double clock_seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t guest_id(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? (uint64_t)(uintptr_t)info->socket_context : 0;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **of_socket,
			  enum MHD_ConnectionNotificationCode code)
{
	struct serving *serving = context;
	struct control_peer peer = { .uid = ADMISSION_UNKNOWN };
	int fd = socket_of(connection);

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		http_guests_go(&serving->guests, (uint64_t)(uintptr_t)*of_socket);
		return;
	}
	if (serving->begin->by_peer && control_who_asks(fd, serving->begin->group, &peer))
		peer.uid = ADMISSION_UNKNOWN;
	*of_socket = (void *)(uintptr_t)http_guests_come(&serving->guests, fd, peer.uid,
							 clock_seconds());
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
				  const char *path, const char *method, const char *version,
				  const char *upload, size_t *upload_bytes, void **of_request)
{
	struct serving *serving = context;
	struct visit *visit = *of_request;

	(void)version;
	(void)upload;
	if (!visit) {
		if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
			return reply_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n");
		*of_request = visit = calloc(1, sizeof(*visit));
		if (visit)
			*visit = (struct visit){ .connection = connection, .fd = -1 };
		return visit ? MHD_YES : MHD_NO;
	}
	if (*upload_bytes)	/* nobody wants that */
		return MHD_NO;
	if (visit->id)
		return reply_answer(visit);
	http_guests_asked(&serving->guests, guest_id(connection), clock_seconds());
	return take_request(serving, visit, path);
}

static void on_done(void *context, struct MHD_Connection *connection, void **of_request,
		    enum MHD_RequestTerminationCode code)
{
	struct serving *serving = context;
	struct visit *visit = *of_request;

	(void)code;
	http_guests_answered(&serving->guests, guest_id(connection), clock_seconds());
	for (size_t i = 0; visit && i < HTTP_CONNECTIONS; i++)
		if (serving->visit[i] == visit)
			serving->visit[i] = NULL;
	if (visit)
		cleanup_fd(&visit->fd);
	free(visit);
	*of_request = NULL;
}

static void take_answer(struct serving *serving, const struct http_answer *answer, int fd)
{
	for (size_t i = 0; i < HTTP_CONNECTIONS; i++) {
		struct visit *visit = serving->visit[i];

		if (!visit || !visit->waits || visit->id != answer->id)
			continue;
		visit->waits = false;
		visit->error = answer->error;
		visit->fd = fd;
		MHD_resume_connection(visit->connection);
		return;
	}
	cleanup_fd(&fd);
}

/* 0 or -EPIPE. */
static int take_answers(struct serving *serving)
{
	struct http_answer answer;
	int result = 1, fd;

	for (unsigned int i = 0; i < HTTP_CONNECTIONS && result == 1; i++) {
		result = http_receive_answer(serving->link, &answer, &fd);
		if (result == 1)
			take_answer(serving, &answer, fd);
	}
	return result < 0 ? result : 0;
}

/* --- the process ---------------------------------------------------------- */

static struct MHD_Daemon *start(struct serving *serving)
{
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
				on_request, serving,
				MHD_OPTION_LISTEN_SOCKET, serving->listener,
				MHD_OPTION_CONNECTION_LIMIT, 2u * HTTP_CONNECTIONS,
				MHD_OPTION_NOTIFY_CONNECTION, on_connection, serving,
				MHD_OPTION_CONNECTION_TIMEOUT, HTTP_IDLE_SECONDS,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEADER_BYTES,
				MHD_OPTION_NOTIFY_COMPLETED, on_done, serving,
				MHD_OPTION_END);
}

static int pause_ms(struct serving *serving, struct MHD_Daemon *daemon)
{
	double now = clock_seconds(), left = http_guests_turn(&serving->guests, now) - now;
	MHD_UNSIGNED_LONG_LONG ms = WAIT_MS;

	if (MHD_get_timeout(daemon, &ms) != MHD_YES || ms > WAIT_MS)
		ms = WAIT_MS;
	return left * 1e3 < (double)ms ? (int)(left * 1e3) + 1 : (int)ms;
}

static int serve(struct serving *serving, struct MHD_Daemon *daemon)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd poll_for[2] = { { .events = POLLIN }, { .events = POLLIN } };
	int error = info ? http_sandbox_enter() : -EIO;

	if (error)
		return error;
	poll_for[0].fd = info->epoll_fd;
	poll_for[1].fd = serving->link;
	while (!error) {
		if (poll(poll_for, 2, pause_ms(serving, daemon)) < 0 && errno != EINTR)
			return -errno;
		error = take_answers(serving);
		if (!error && MHD_run(daemon) != MHD_YES)
			error = -EIO;
	}
	return error;
}

int http_server_run(const struct http_begin *begin, int listener, int link)
{
	struct serving serving = { .begin = begin, .listener = listener, .link = link };
	struct MHD_Daemon *daemon = start(&serving);

	return daemon ? serve(&serving, daemon) : -EIO;	/* the process ends with it */
}
