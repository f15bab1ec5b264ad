/* SPDX-License-Identifier: MIT */
/* control.c - see control.h. */
#include "src/daemon/control.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/base/passed_fd.h"
#include "src/daemon/admission.h"

#define MOST_OF_A_USER	4u	/* clients at a time, root's aside; and as many that stay */
#define KEPT_FOR_ROOT	4u	/* of the places to ask */
#define TAKEN_AT_ONCE	(2u * CONTROL_CLIENTS)
#define DEAF_SECONDS	1.0	/* after no more could be taken */
#define KEPT_FOR_ALL	8u	/* places to stay that a user of his own processes never gets */

/* Asking: hears, then says. Staying: what was asked takes time, or it follows events. */
struct client {
	int fd;			/* -1: none */
	struct control_peer peer;
	double since, until;
	char in[CONTROL_REQUEST_BYTES];
	size_t got;
	char *out;		/* NULL: nothing to say yet */
	size_t bytes, sent;
	int give;		/* goes with the first of it; -1: nothing does */
	json_t *request;	/* not answered yet; NULL: none */
	uint64_t id, mark;	/* of the question */
	bool waits, follows;	/* it was told that the answer comes later; it hears events */
	uint64_t missed;	/* events, since the last that was queued */
};

struct control {
	int fd;
	gid_t group;
	char *path;
	double deaf_until;	/* 0: not deaf */
	uint64_t questions;	/* so far */
	struct client client[CONTROL_PLACES];
};

static bool stays(const struct client *client)
{
	return client->fd >= 0 && (client->waits || client->follows);
}

void control_error(struct emit *to, const char *text)
{
	emit_begin(to, NULL, '{');
	emit_text(to, "error", text);
	emit_end(to, '}');
}

/* --- the socket ----------------------------------------------------------- */

int control_address(const char *path, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	memcpy(ret->sun_path, path, strlen(path) + 1);
	return 0;
}

/* One that a killed memattachd left goes; one at which somebody answers does not. */
int control_clear(const struct sockaddr_un *address)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
	    errno == EAGAIN)
		return -EADDRINUSE;
	if (errno == ENOENT)
		return 0;
	if (errno != ECONNREFUSED)
		return -errno;
	return unlink(address->sun_path) < 0 && errno != ENOENT ? -errno : 0;
}

/* Anybody may connect: what is answered depends on who it is. */
int control_listen(const struct sockaddr_un *address)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int result;

	if (fd < 0 || bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		return -errno;
	if (chmod(address->sun_path, 0666) < 0 || listen(fd, SOMAXCONN) < 0) {
		result = -errno;
		(void)unlink(address->sun_path);
		return result;
	}
	result = fd;
	fd = -1;
	return result;
}

int control_new_at(int listener_take, gid_t group, struct control **ret)
{
	struct control *control = calloc(1, sizeof(*control));

	if (!control) {
		cleanup_fd(&listener_take);
		return -ENOMEM;
	}
	control->fd = listener_take;
	control->group = group;
	for (size_t i = 0; i < CONTROL_PLACES; i++)
		control->client[i].fd = control->client[i].give = -1;
	*ret = control;
	return 0;
}

int control_new(const char *path, gid_t group, struct control **ret)
{
	_cleanup_free_ char *copy = strdup(path);
	struct sockaddr_un address;
	int error = copy ? control_address(path, &address) : -ENOMEM, fd;

	if (!error)
		error = control_clear(&address);
	if (error)
		return error;
	fd = control_listen(&address);
	if (fd < 0)
		return fd;
	error = control_new_at(fd, group, ret);
	if (error) {
		(void)unlink(path);
		return error;
	}
	(*ret)->path = copy;
	copy = NULL;
	return 0;
}

static void client_done(struct client *client)
{
	cleanup_fd(&client->fd);
	cleanup_fd(&client->give);
	json_decref(client->request);
	free(client->out);
	client->request = NULL;
	client->out = NULL;
	client->waits = client->follows = false;
}

void control_free(struct control *control)
{
	if (!control)
		return;
	for (size_t i = 0; i < CONTROL_PLACES; i++)
		client_done(&control->client[i]);
	cleanup_fd(&control->fd);
	if (control->path)
		(void)unlink(control->path);
	free(control->path);
	free(control);
}

/* Could a place be found for one more that asks? */
static bool has_room(const struct control *control)
{
	size_t asking = 0, silent = 0;

	for (size_t i = 0; i < CONTROL_PLACES; i++) {
		const struct client *client = &control->client[i];

		if (client->fd < 0 || stays(client))
			continue;
		asking++;
		silent += !client->out && !admission_is_privileged(client->peer.uid);
	}
	return asking < CONTROL_CLIENTS || silent > 0;
}

/* Of one that stays only the end is heard, which is always told. */
static short events_of(const struct client *client)
{
	return client->out ? POLLOUT : stays(client) ? 0 : POLLIN;
}

size_t control_poll(const struct control *control, struct pollfd to[CONTROL_FDS])
{
	size_t count = 0;

	to[count++] = (struct pollfd){ .fd = control->deaf_until > 0 ||
				       !has_room(control) ? -1 : control->fd,
				       .events = POLLIN };
	for (size_t i = 0; i < CONTROL_PLACES; i++) {
		const struct client *client = &control->client[i];

		if (client->fd >= 0)
			to[count++] = (struct pollfd){ .fd = client->fd,
						       .events = events_of(client) };
	}
	return count;
}

double control_next(const struct control *control)
{
	double next = control->deaf_until > 0 ? control->deaf_until : INFINITY;

	for (size_t i = 0; i < CONTROL_PLACES; i++)
		if (control->client[i].fd >= 0)
			next = fmin(next, control->client[i].until);
	return next;
}

bool control_is_asked(const struct control *control, uint64_t id)
{
	for (size_t i = 0; i < CONTROL_PLACES; i++)
		if (control->client[i].request && control->client[i].id == id)
			return true;
	return false;
}

/* --- who asks ------------------------------------------------------------- */

/* Is there room for this one to stay? */
static bool may_stay(const struct control *control, const struct control_peer *peer)
{
	size_t all = 0, theirs = 0;

	for (size_t i = 0; i < CONTROL_PLACES; i++) {
		all += stays(&control->client[i]);
		theirs += stays(&control->client[i]) && control->client[i].peer.uid == peer->uid;
	}
	return all < CONTROL_STAYING - (peer->all ? 0 : KEPT_FOR_ALL) &&
	       (peer->uid == 0 || theirs < MOST_OF_A_USER);
}

static struct client *unused(struct control *control)
{
	for (size_t i = 0; i < CONTROL_PLACES; i++)
		if (control->client[i].fd < 0)
			return &control->client[i];
	return NULL;
}

/* Where a client of uid finds its place; NULL: it finds none. */
static struct client *admit(struct control *control, uid_t uid)
{
	const struct admission_rules rules = { MOST_OF_A_USER, KEPT_FOR_ROOT };
	struct admission_place place[CONTROL_CLIENTS] = { { .taken = false } };
	struct client *of_place[CONTROL_CLIENTS];
	size_t count = 0;
	int found;

	for (size_t i = 0; i < CONTROL_PLACES && count < CONTROL_CLIENTS; i++) {
		struct client *client = &control->client[i];

		if (client->fd < 0 || stays(client))
			continue;
		place[count] = (struct admission_place){
			.taken = true, .silent = !client->out, .uid = client->peer.uid,
			.since = client->since,
		};
		of_place[count++] = client;
	}
	found = admission_find(place, CONTROL_CLIENTS, &rules, uid);
	if (found < 0 || (size_t)found >= count)
		return found < 0 ? NULL : unused(control);
	client_done(of_place[found]);
	return of_place[found];
}

static void take_one(struct control *control, int fd, double now)
{
	static const char full[] = "{\"error\":\"too many ask already; try again later\"}\n";
	struct control_peer peer = { .uid = (uid_t)-1 };
	struct client *place = control_who_asks(fd, control->group, &peer) ? NULL :
			       admit(control, peer.uid);

	if (!place) {
		(void)send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		(void)close(fd);
		return;
	}
	*place = (struct client){ .fd = fd, .peer = peer, .since = now,
				  .until = now + CONTROL_SECONDS, .give = -1 };
}

static void take_those_who_wait(struct control *control, double now)
{
	if (now < control->deaf_until)
		return;
	control->deaf_until = 0;
	for (unsigned int i = 0; i < TAKEN_AT_ONCE && has_room(control); i++) {
		int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			take_one(control, fd, now);
			continue;
		}
		/* Without a descriptor to be had it would be said for ever that somebody waits. */
		if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
			control->deaf_until = now + DEAF_SECONDS;
		return;
	}
}

/* --- question and answer -------------------------------------------------- */

struct asked {
	struct control *control;
	double now;
	control_answer *answer;
	void *context;
};

/* NULL: it is none, and what was wrong was said. */
static json_t *request_of(const struct client *client, size_t length, struct emit *to)
{
	json_t *request = json_loadb(client->in, length, JSON_REJECT_DUPLICATES, NULL);

	if (!json_is_object(request))
		control_error(to, "no request: one line, which is a JSON object");
	else if (json_integer_value(json_object_get(request, "memattach")) != CONTROL_PROTOCOL)
		control_error(to, "another protocol: this memattachd speaks \"memattach\": 1");
	else
		return request;
	json_decref(request);
	return NULL;
}

static void answered(struct client *client, double now)
{
	json_decref(client->request);
	client->request = NULL;
	client->until = now + CONTROL_SECONDS;
}

/* pre: there is a request. What was written counts unless the answer is to come later. */
static enum control_reply answer_once(struct client *client, const struct asked *asked,
				      struct emit *to)
{
	const struct control_question question = {
		.peer = &client->peer, .request = client->request, .id = client->id,
		.mark = &client->mark, .ret_fd = &client->give,
		.may_stay = client->waits || may_stay(asked->control, &client->peer),
	};
	enum control_reply reply = asked->answer(asked->context, &question, to);

	if (reply == CONTROL_LATER && !question.may_stay) {
		control_error(to, "too many wait already; try again later");
		reply = CONTROL_ANSWERED;
	}
	return reply;
}

/* Asks for the answer, once more if it was to come later. -errno. */
static int put_answer(struct client *client, const struct asked *asked, const char *problem)
{
	struct emit to = { .out = open_memstream(&client->out, &client->bytes) };
	enum control_reply reply = CONTROL_ANSWERED;
	int error = 0;

	if (!to.out)
		return -ENOMEM;
	if (problem)
		control_error(&to, problem);
	else
		reply = answer_once(client, asked, &to);
	if (reply != CONTROL_LATER)
		error = emit_finish(&to);
	if (fclose(to.out) != 0)
		error = -ENOMEM;
	client->waits = reply == CONTROL_LATER;
	if (client->waits) {
		free(client->out);
		client->out = NULL;
		return error;
	}
	answered(client, asked->now);
	client->follows = reply == CONTROL_FOLLOWS;
	return error;
}

/* A whole line is there, of so many bytes. -errno. */
static int take_request(struct client *client, size_t length, const struct asked *asked)
{
	struct emit to = { .out = open_memstream(&client->out, &client->bytes) };
	json_t *request = to.out ? request_of(client, length, &to) : NULL;
	int error = to.out ? 0 : -ENOMEM;

	if (!request && !error)
		error = emit_finish(&to);
	if (to.out && fclose(to.out) != 0)
		error = -ENOMEM;
	if (!request)
		return error;
	free(client->out);
	client->out = NULL;
	client->id = ++asked->control->questions;
	client->until = asked->now + CONTROL_LATER_SECONDS;
	client->request = request;
	return put_answer(client, asked, NULL);
}

/* 0 not done, 1 done with it. */
static int hear(struct client *client, const struct asked *asked)
{
	ssize_t n = read(client->fd, client->in + client->got, sizeof(client->in) - client->got);
	char *end;

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : 1;
	client->got += (size_t)n;
	end = memchr(client->in, '\n', client->got);
	if (!end)
		return client->got == sizeof(client->in);
	return take_request(client, (size_t)(end - client->in), asked) != 0;
}

/* As send(), and a descriptor with the first byte, if there is one. */
static ssize_t send_some(struct client *client)
{
	struct iovec part = { client->out + client->sent, client->bytes - client->sent };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	union passed_fd_room room;
	ssize_t n;

	if (client->give >= 0)
		passed_fd_put(&message, &room, client->give);
	n = sendmsg(client->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0)
		cleanup_fd(&client->give);
	return n;
}

/* 0 not done, 1 done with it. */
static int say(struct client *client, double now)
{
	ssize_t n = send_some(client);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : 1;
	client->sent += (size_t)n;
	if (client->follows)
		client->until = now + CONTROL_STALL_SECONDS;
	if (client->sent < client->bytes)
		return 0;
	free(client->out);
	client->out = NULL;
	client->bytes = client->sent = 0;
	client->until = client->follows ? INFINITY : client->until;
	return !client->follows;
}

/* It has hung up. One that only says no more may still take its answer. */
static bool is_gone(const struct client *client)
{
	struct pollfd end = { .fd = client->fd };

	return poll(&end, 1, 0) > 0 && (end.revents & (POLLHUP | POLLERR)) != 0;
}

static bool has_said_more(const struct client *client)
{
	char byte;

	return recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Who has asked and hung up is heard; who waits too long is told so. */
static bool has_left(const struct client *client, double now)
{
	bool asks = !client->out && !stays(client);

	if (now >= client->until && !client->waits)
		return true;
	return is_gone(client) && !(asks && has_said_more(client));
}

/* Before others come, or ask: their places are free. */
static void drop_those_who_left(struct control *control, double now)
{
	for (size_t i = 0; i < CONTROL_PLACES; i++)
		if (control->client[i].fd >= 0 && has_left(&control->client[i], now))
			client_done(&control->client[i]);
}

static void client_turn(struct client *client, const struct asked *asked)
{
	bool late = client->waits && asked->now >= client->until, done = false;

	if (client->waits)
		done = put_answer(client, asked, late ? "it takes too long; try again later" :
				  NULL) != 0;
	else if (!client->out && !client->follows)
		done = hear(client, asked) != 0;
	if (!done && client->out)
		done = say(client, asked->now) != 0;
	if (done)
		client_done(client);
}

void control_turn(struct control *control, double now, control_answer *answer, void *context)
{
	const struct asked asked = { control, now, answer, context };

	drop_those_who_left(control, now);
	take_those_who_wait(control, now);
	for (size_t i = 0; i < CONTROL_PLACES; i++)
		if (control->client[i].fd >= 0)
			client_turn(&control->client[i], &asked);
}

/* --- those who follow ----------------------------------------------------- */

/* -ENOBUFS: it is too far behind; nothing was queued. */
static int queue(struct client *client, const char *line, size_t bytes)
{
	size_t waiting = client->bytes - client->sent;
	char *grown;

	if (waiting + bytes > CONTROL_QUEUE_BYTES)
		return -ENOBUFS;
	if (waiting > 0)
		memmove(client->out, client->out + client->sent, waiting);
	client->bytes = waiting;
	client->sent = 0;
	grown = realloc(client->out, waiting + bytes);
	if (!grown)
		return -ENOBUFS;	/* what waited is where it was */
	memcpy(grown + waiting, line, bytes);
	client->out = grown;
	client->bytes = waiting + bytes;
	return 0;
}

/* What was missed is told before the next that is not. */
static void tell(struct client *client, const char *line, size_t bytes, double now)
{
	char missed[64] = "";
	size_t before = 0;

	if (client->missed) {
		before = (size_t)snprintf(missed, sizeof(missed),
					  "{\"event\": \"missed\", \"count\": %llu}\n",
					  (unsigned long long)client->missed);
		if (client->bytes - client->sent + before + bytes > CONTROL_QUEUE_BYTES ||
		    queue(client, missed, before)) {
			client->missed++;
			return;
		}
		client->missed = 0;
	}
	if (!client->out)
		client->until = now + CONTROL_STALL_SECONDS;
	if (queue(client, line, bytes))
		client->missed++;
}

void control_tell(struct control *control, const char *line, size_t bytes,
		  const struct control_hearers *hearers)
{
	for (size_t i = 0; i < CONTROL_PLACES; i++) {
		struct client *client = &control->client[i];

		if (client->fd >= 0 && client->follows &&
		    hearers->may_hear(hearers->context, &client->peer))
			tell(client, line, bytes, hearers->now);
	}
}
