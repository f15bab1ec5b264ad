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

#define MOST_GROUPS	1024u
#define MOST_OF_A_USER	4u	/* clients at a time, root's aside */
#define DEAF_SECONDS	1.0	/* after no more could be taken */

struct client {
	int fd;			/* -1: none */
	struct control_peer peer;
	double until;
	char in[CONTROL_REQUEST_BYTES];
	size_t got;
	char *out;		/* NULL: not asked yet */
	size_t bytes, sent;
};

struct control {
	int fd;
	gid_t group;
	char *path;
	double deaf_until;	/* 0: not deaf */
	struct client client[CONTROL_CLIENTS];
};

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
	if (chmod(address->sun_path, 0666) < 0 || listen(fd, CONTROL_CLIENTS) < 0) {
		result = -errno;
		(void)unlink(address->sun_path);
		return result;
	}
	result = fd;
	fd = -1;
	return result;
}

int control_new(const char *path, gid_t group, struct control **ret)
{
	struct control *control = calloc(1, sizeof(*control));
	struct sockaddr_un address;
	int error = control ? control_address(path, &address) : -ENOMEM;

	if (!error)
		error = control_clear(&address);
	if (!error) {
		control->fd = control_listen(&address);
		error = control->fd < 0 ? control->fd : 0;
	}
	if (error) {
		free(control);
		return error;
	}
	control->group = group;
	control->path = strdup(path);
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		control->client[i].fd = -1;
	*ret = control;
	return 0;
}

static void client_done(struct client *client)
{
	cleanup_fd(&client->fd);
	free(client->out);
	client->out = NULL;
}

void control_free(struct control *control)
{
	if (!control)
		return;
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		client_done(&control->client[i]);
	cleanup_fd(&control->fd);
	if (control->path)
		(void)unlink(control->path);
	free(control->path);
	free(control);
}

/* The index of one; CONTROL_CLIENTS: there is none. */
static size_t free_place(const struct control *control)
{
	size_t i = 0;

	while (i < CONTROL_CLIENTS && control->client[i].fd >= 0)
		i++;
	return i;
}

size_t control_poll(const struct control *control, struct pollfd to[CONTROL_FDS])
{
	size_t count = 0;

	to[count++] = (struct pollfd){ .fd = control->deaf_until > 0 ||
				       free_place(control) == CONTROL_CLIENTS ? -1 : control->fd,
				       .events = POLLIN };
	for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
		const struct client *client = &control->client[i];

		if (client->fd >= 0)
			to[count++] = (struct pollfd){ .fd = client->fd,
						       .events = client->out ? POLLOUT : POLLIN };
	}
	return count;
}

double control_next(const struct control *control)
{
	double next = control->deaf_until > 0 ? control->deaf_until : INFINITY;

	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		if (control->client[i].fd >= 0)
			next = fmin(next, control->client[i].until);
	return next;
}

/* --- who asks ------------------------------------------------------------- */

static bool is_of_group(int fd, gid_t group)
{
	gid_t groups[MOST_GROUPS];
	socklen_t bytes = sizeof(groups);

	if (group == (gid_t)-1 || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) < 0)
		return false;
	for (size_t i = 0; i < bytes / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

int control_who_asks(int fd, gid_t group, struct control_peer *ret)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
		return -errno;
	ret->uid = peer.uid;
	ret->all = peer.uid == 0 || peer.uid == geteuid() ||
		   (group != (gid_t)-1 && peer.gid == group) || is_of_group(fd, group);
	return 0;
}

static bool has_enough(const struct control *control, uid_t uid)
{
	size_t theirs = 0;

	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		theirs += control->client[i].fd >= 0 && control->client[i].peer.uid == uid;
	return uid != 0 && theirs >= MOST_OF_A_USER;
}

static void take_one(struct control *control, struct client *place, int fd, double now)
{
	struct control_peer peer = { .uid = (uid_t)-1 };

	if (control_who_asks(fd, control->group, &peer) || has_enough(control, peer.uid)) {
		(void)close(fd);
		return;
	}
	*place = (struct client){ .fd = fd, .peer = peer, .until = now + CONTROL_SECONDS };
}

static void take_those_who_wait(struct control *control, double now)
{
	size_t place;

	if (now < control->deaf_until)
		return;
	control->deaf_until = 0;
	while ((place = free_place(control)) < CONTROL_CLIENTS) {
		int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			break;
		take_one(control, &control->client[place], fd, now);
	}
	/* Without a descriptor to be had it would be said for ever that somebody waits. */
	if (place < CONTROL_CLIENTS && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
		control->deaf_until = now + DEAF_SECONDS;
}

/* --- question and answer -------------------------------------------------- */

static void answer_to(const struct client *client, size_t length, control_answer *answer,
		      void *context, struct emit *to)
{
	json_t *request = json_loadb(client->in, length, JSON_REJECT_DUPLICATES, NULL);

	if (!json_is_object(request))
		control_error(to, "no request: one line, which is a JSON object");
	else if (json_integer_value(json_object_get(request, "memattach")) != CONTROL_PROTOCOL)
		control_error(to, "another protocol: this memattachd speaks \"memattach\": 1");
	else
		answer(context, &client->peer, request, to);
	json_decref(request);
}

/* pre: a whole line is there, of so many bytes. */
static int put_answer(struct client *client, size_t length, control_answer *answer, void *context)
{
	struct emit to = { .out = open_memstream(&client->out, &client->bytes) };
	int error;

	if (!to.out)
		return -ENOMEM;
	answer_to(client, length, answer, context, &to);
	error = emit_finish(&to);
	return fclose(to.out) == 0 ? error : -ENOMEM;
}

/* 0 not done, 1 done with it. */
static int hear(struct client *client, control_answer *answer, void *context)
{
	ssize_t n = read(client->fd, client->in + client->got, sizeof(client->in) - client->got);
	char *end;

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : 1;
	client->got += (size_t)n;
	end = memchr(client->in, '\n', client->got);
	if (!end)
		return client->got == sizeof(client->in);
	return put_answer(client, (size_t)(end - client->in), answer, context) != 0;
}

static int say(struct client *client)
{
	ssize_t n = send(client->fd, client->out + client->sent, client->bytes - client->sent,
			 MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : 1;
	client->sent += (size_t)n;
	return client->sent == client->bytes;
}

static void client_turn(struct client *client, double now, control_answer *answer, void *context)
{
	bool done = now >= client->until;

	if (!done && !client->out)
		done = hear(client, answer, context);
	if (!done && client->out)
		done = say(client);
	if (done)
		client_done(client);
}

void control_turn(struct control *control, double now, control_answer *answer, void *context)
{
	take_those_who_wait(control, now);
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		if (control->client[i].fd >= 0)
			client_turn(&control->client[i], now, answer, context);
}
