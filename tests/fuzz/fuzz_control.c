/* SPDX-License-Identifier: MIT */
/*
 * fuzz_control.c - any bytes, in any pieces, from those who ask memattachd at its socket, follow
 * it, stall or hang up: who has asked is answered, who has not is closed in time, what comes is
 * whole lines, followers miss nothing uncounted, and no descriptor is left.
 *
 * The input is what happens, a byte each: what (3 bits), to whom (2), how (3); some take more.
 * Time is the input's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/daemon/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST		4	/* as many as one user may be, who is not root */
#define LARGE		(256u << 10)	/* more than a socket takes at once */
#define ASK(command)	"{\"memattach\": 1, \"command\": \"" command "\"}\n"

static const char *const canned[8] = {
	ASK("what"), ASK("later"), ASK("follow"), ASK("large"), ASK("what") ASK("follow"), "{}\n",
	"{\"memattach\": 1, ", "\n",
};

struct peer {
	int fd;			/* -1: none */
	size_t sent;
	bool asked, late;	/* a whole line; time has passed since it came */
	bool closed;
	char line[64];		/* the beginning of the one that comes */
	size_t used, lines;
	uint64_t heard, missed;	/* the last event, 0: none; those that were missed since */
};

struct fuzz {
	struct sockaddr_un address;
	socklen_t bytes;
	struct control *control;
	struct peer peer[MOST];
	bool ready;
	uint64_t last_id, events;
	double now;
};

static char blank[CONTROL_REQUEST_BYTES], large[LARGE];

static void must(bool good)
{
	if (!good)
		abort();
}

/* --- the answerer --------------------------------------------------------- */

static bool is(const char *command, const char *name)
{
	return command && strcmp(command, name) == 0;
}

static enum control_reply answer(void *context, const struct control_question *question,
				 struct emit *to)
{
	struct fuzz *f = context;
	const char *command = json_string_value(json_object_get(question->request, "command"));
	bool later = is(command, "later"), follow = is(command, "follow") && question->may_stay;

	must(json_is_object(question->request) && *question->ret_fd == -1);
	must(question->id > f->last_id || (later && *question->mark == question->id));
	f->last_id = question->id > f->last_id ? question->id : f->last_id;
	*question->mark = question->id;
	if (later && !f->ready)
		return CONTROL_LATER;
	if (later)
		*question->ret_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	emit_begin(to, NULL, '{');
	emit_begin(to, "said", '[');
	emit_members(to, large, is(command, "large") ? LARGE : 1);
	emit_end(to, ']');
	emit_end(to, '}');
	return follow ? CONTROL_FOLLOWS : CONTROL_ANSWERED;
}

/* --- peers ---------------------------------------------------------------- */

static void come(struct fuzz *f, struct peer *peer)
{
	*peer = (struct peer){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
					    0) };
	if (connect(peer->fd, (struct sockaddr *)&f->address, f->bytes) < 0)
		cleanup_fd(&peer->fd);	/* as many wait already */
}

static void put(struct peer *peer, const void *text, size_t bytes)
{
	ssize_t n = peer->fd < 0 ? -1 : send(peer->fd, text, bytes, MSG_NOSIGNAL);
	const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;

	if (end && peer->sent + (size_t)(end - (const char *)text) < CONTROL_REQUEST_BYTES)
		peer->asked = true;
	peer->sent += n > 0 ? (size_t)n : 0;
}

/* An answer, or then an event. */
static void take_line(struct peer *peer)
{
	unsigned long long number;

	must(peer->line[0] == '{');
	if (peer->lines++ == 0)
		return;
	if (sscanf(peer->line, "{\"event\": \"missed\", \"count\": %llu}", &number) == 1) {
		must(number > 0 && peer->missed == 0);
		peer->missed = number;
		return;
	}
	must(sscanf(peer->line, "{\"number\": %llu", &number) == 1);
	must(!peer->heard || number == peer->heard + peer->missed + 1);
	peer->heard = number;
	peer->missed = 0;
}

static void take_text(struct peer *peer, const char *text, size_t bytes)
{
	for (const char *end; bytes > 0;) {
		size_t part, room = sizeof(peer->line) - 1 - peer->used;

		end = memchr(text, '\n', bytes);
		part = end ? (size_t)(end - text) + 1 : bytes;
		memcpy(peer->line + peer->used, text, part < room ? part : room);
		peer->used += part < room ? part : room;
		peer->line[peer->used] = '\0';
		if (end) {
			take_line(peer);
			peer->used = 0;
		}
		text += part;
		bytes -= part;
	}
}

/* True: something came. */
static bool take(struct peer *peer, size_t most)
{
	static char text[65536];
	ssize_t n = peer->fd < 0 ? -1 : recv(peer->fd, text, most < sizeof(text) ? most :
					     sizeof(text), MSG_DONTWAIT);

	if (n > 0)
		take_text(peer, text, (size_t)n);
	else if (peer->fd >= 0 && (n == 0 || errno != EAGAIN))
		peer->closed = true;
	return n > 0;
}

/* --- what happens --------------------------------------------------------- */

static void turn(struct fuzz *f)
{
	struct pollfd poll[CONTROL_FDS];
	size_t count = control_poll(f->control, poll);

	must(count >= 1 && count <= CONTROL_FDS);
	for (size_t i = 1; i < count; i++)
		must(poll[i].fd >= 0);
	control_turn(f->control, f->now, answer, f);
	must(control_next(f->control) > f->now);
}

static bool everybody(void *context, const struct control_peer *peer)
{
	(void)context;
	(void)peer;
	return true;
}

static void tell(struct fuzz *f, size_t events)
{
	const struct control_hearers hearers = { everybody, NULL, f->now };
	char line[400];

	while (events-- > 0) {
		int bytes = snprintf(line, sizeof(line), "{\"number\": %llu, \"%0300d\": 0}\n",
				     (unsigned long long)++f->events, 0);

		control_tell(f->control, line, (size_t)bytes, &hearers);
	}
}

static void pass(struct fuzz *f, double seconds)
{
	f->now += seconds;
	for (size_t i = 0; i < MOST; i++)
		f->peer[i].late = true;
}

static void leave(struct peer *peer, unsigned int how)
{
	if (how & 1)
		(void)shutdown(peer->fd, SHUT_WR);
	else
		cleanup_fd(&peer->fd);
}

static void odd(struct fuzz *f, struct peer *peer, unsigned int how)
{
	static const double seconds[] = { CONTROL_SECONDS, CONTROL_LATER_SECONDS,
					  CONTROL_STALL_SECONDS, 0.5 };

	if (how < ARRAY_SIZE(seconds))
		pass(f, seconds[how]);
	else if (how < 6)
		f->ready = how & 1;
	else
		put(peer, blank, sizeof(blank) - (how & 1));
}

/* How many bytes of the input it took beyond its own. */
static size_t happen(struct fuzz *f, uint8_t what, const uint8_t *data, size_t size)
{
	struct peer *peer = &f->peer[what >> 3 & 3];
	unsigned int how = what >> 5;
	size_t more = size > 0 ? data[0] : 0;

	switch (what & 7) {
	case 0:
		if (peer->fd < 0)
			come(f, peer);
		else
			leave(peer, how);
		return 0;
	case 1:
		more = more < size ? more : size > 0 ? size - 1 : 0;
		put(peer, data + (size > 0), more);
		return more + (size > 0);
	case 2:
		put(peer, canned[how], strlen(canned[how]));
		return 0;
	case 3:
		put(peer, canned[how], more < strlen(canned[how]) ? more : strlen(canned[how]));
		return size > 0;
	case 4:
		turn(f);
		return 0;
	case 5:
		(void)take(peer, 1u << 2 * how);
		return 0;
	case 6:
		tell(f, 1u << how);
		return 0;
	default:
		odd(f, peer, how);
		return 0;
	}
}

/* --- the end -------------------------------------------------------------- */

static void take_all(struct fuzz *f)
{
	bool more = true;

	while (more) {
		more = false;
		turn(f);
		for (size_t i = 0; i < MOST; i++)
			while (take(&f->peer[i], SIZE_MAX))
				more = true;
	}
}

/* Who listens is answered; who says nothing more is closed, but for followers. */
static void settle(struct fuzz *f)
{
	f->ready = true;
	for (int i = 0; i < 3; i++)	/* those whom others leave their places come, too */
		turn(f);
	take_all(f);
	for (size_t i = 0; i < MOST; i++) {
		const struct peer *peer = &f->peer[i];

		must(peer->fd < 0 || !peer->asked || peer->late || peer->lines > 0 ||
		     geteuid() != 0);
		must(peer->fd < 0 || peer->used == 0 || peer->closed);
	}
	pass(f, CONTROL_LATER_SECONDS + CONTROL_SECONDS);
	turn(f);
	tell(f, 1);
	take_all(f);
	for (size_t i = 0; i < MOST; i++) {
		const struct peer *peer = &f->peer[i];

		must(peer->fd < 0 || peer->closed || peer->heard == f->events);
		cleanup_fd(&f->peer[i].fd);
	}
	turn(f);
	must(control_next(f->control) == __builtin_inf());
}

static int open_listener(struct fuzz *f)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	f->address.sun_family = AF_UNIX;	/* a name of the kernel's choice */
	must(bind(fd, (struct sockaddr *)&f->address, sizeof(sa_family_t)) == 0);
	f->bytes = sizeof(f->address);
	must(getsockname(fd, (struct sockaddr *)&f->address, &f->bytes) == 0);
	must(listen(fd, CONTROL_CLIENTS) == 0);
	return fd;
}

/* Of those that a run may get: the lowest that are free. */
static unsigned int open_descriptors(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 64; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { .now = 1000 };
	unsigned int before = open_descriptors();

	if (!large[0]) {
		memset(blank, ' ', sizeof(blank));
		memset(large, '0', LARGE);	/* one number */
	}
	for (size_t i = 0; i < MOST; i++)
		f.peer[i].fd = -1;
	must(control_new_at(open_listener(&f), (gid_t)-1, &f.control) == 0);
	while (size > 0) {
		size_t took = happen(&f, data[0], data + 1, size - 1) + 1;

		data += took;
		size -= took;
	}
	settle(&f);
	control_free(f.control);
	must(open_descriptors() == before);
	return 0;
}
