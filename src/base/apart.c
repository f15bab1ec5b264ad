/* SPDX-License-Identifier: MIT */
/*
 * apart.c - see apart.h.
 *
 * libdw 0.188 reads beyond its sections, follows offsets out of them, asserts, and exits when
 * memory ends, if a file wants it so; a check of everything that it is going to parse would be a
 * second libdw. So it runs in a child, which has our filter of system calls and our limits, a limit
 * of time, no core file, and nothing to say on stderr.
 * Rejected: a signal handler that jumps out of the library, which leaves its locks, its trees
 * and the heap in whatever state they are in, and does not end a loop; a new program (execve is
 * forbidden here, and it would have to be told everything that the child inherits).
 */
#include "src/base/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "src/base/log.h"
#include "src/base/memfd.h"
#include "src/base/sanitized.h"

#define MAX_TEXT	(16u << 10)
#define MAX_WITHHELD	8u
#define MAX_DEATHS	16u
#define QUESTION_US	1000u		/* an ordinary one takes less; what is more is spent */
#define SPEND_US	60000000u
#define REAL_SECONDS	300		/* a question that waits for something takes no time else */
#define END_TRIES	10000		/* of 0.2 ms */
#define LOOK_US		20000		/* from one look whether the answer is wanted to the next */

struct header {
	uint32_t bytes;
	int32_t result;
	uint64_t cpu_us;	/* of an answer */
};
struct apart {
	struct apart_work work;
	pid_t child;		/* 0: none */
	int socket;
	unsigned int deaths;
	uint64_t spent_us;
	struct apart_answer answer;
	double until;		/* 0: for ever */
	bool late;		/* an answer is still to come, which nobody wants any more */
	struct apart *next;	/* of all */
};

static int withheld[MAX_WITHHELD];	/* of this process */
static unsigned int withheld_count;
static struct apart *all;		/* of this process */
static int answering = -1;		/* where this process is such a child */
static double deadline;			/* until when it may take (CLOCK_MONOTONIC) */

/* ---- what is said ---- */

int apart_put(struct apart_answer *answer, const void *bytes, size_t count)
{
	size_t room = answer->room ? answer->room : 4096;
	char *grown;

	if (count > APART_MAX_BYTES - answer->count)
		return -E2BIG;
	while (room < answer->count + count)
		room *= 2;
	if (room != answer->room) {
		grown = realloc(answer->bytes, room);
		if (!grown)
			return -ENOMEM;
		answer->bytes = grown;
		answer->room = room;
	}
	if (count)
		memcpy(answer->bytes + answer->count, bytes, count);
	answer->count += count;
	return 0;
}

int apart_put_text(struct apart_answer *answer, const char *text)
{
	uint32_t length = text ? (uint32_t)strnlen(text, MAX_TEXT) : UINT32_MAX;
	int error = apart_put(answer, &length, sizeof(length));

	if (error || !text)
		return error;
	return apart_put(answer, text, length) ?: apart_put(answer, "", 1);
}

int apart_get(struct apart_reader *reader, void *bytes, size_t count)
{
	if (count > reader->left)
		return -EBADMSG;
	memcpy(bytes, reader->at, count);
	reader->at += count;
	reader->left -= count;
	return 0;
}

int apart_get_text(struct apart_reader *reader, const char **ret)
{
	uint32_t length;

	if (apart_get(reader, &length, sizeof(length)))
		return -EBADMSG;
	*ret = NULL;
	if (length == UINT32_MAX)
		return 0;
	if (length > MAX_TEXT || length >= reader->left || reader->at[length] != '\0')
		return -EBADMSG;
	*ret = reader->at;
	reader->at += length + 1;
	reader->left -= length + 1;
	return 0;
}

/* 0, -EPIPE the other end is gone. */
static int send_all(int socket, const void *bytes, size_t count)
{
	const char *at = bytes;

	while (count > 0) {
		ssize_t n = send(socket, at, count, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		at += n;
		count -= (size_t)n;
	}
	return 0;
}

static int receive_all(int socket, void *bytes, size_t count)
{
	char *at = bytes;

	while (count > 0) {
		ssize_t n = recv(socket, at, count, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		at += n;
		count -= (size_t)n;
	}
	return 0;
}

/* At once where there is not much of it: who waits for it wakes up once. */
static int send_message(int socket, const struct header *header, const void *bytes, size_t count)
{
	char together[4096];

	if (count > sizeof(together) - sizeof(*header))
		return send_all(socket, header, sizeof(*header)) ?: send_all(socket, bytes, count);
	memcpy(together, header, sizeof(*header));
	if (count)
		memcpy(together + sizeof(*header), bytes, count);
	return send_all(socket, together, sizeof(*header) + count);
}

/* A header, and into *ret what it announces. */
static int receive(int socket, struct header *header, struct apart_answer *ret)
{
	int error = receive_all(socket, header, sizeof(*header));

	ret->count = 0;
	if (error || header->bytes > APART_MAX_BYTES)
		return -EPIPE;
	if (header->bytes > ret->room) {
		free(ret->bytes);
		ret->bytes = malloc(header->bytes);
		ret->room = ret->bytes ? header->bytes : 0;
		if (!ret->bytes)
			return -ENOMEM;
	}
	ret->count = header->bytes;
	return receive_all(socket, ret->bytes, ret->count);
}

/* ---- the child ---- */

static uint64_t cpu_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

void apart_withhold(int fd)
{
	if (fd < 0)
		withheld_count = 0;
	else if (withheld_count < MAX_WITHHELD)
		withheld[withheld_count++] = fd;
}

/* The other children are its parent's: it is to make its own, and not to keep those from ending. */
static void forget_others(void)
{
	for (struct apart *apart = all; apart; apart = apart->next) {
		cleanup_fd(&apart->socket);
		apart->socket = -1;
		apart->child = 0;
		apart->late = false;
	}
	cleanup_fd(&answering);
}

/* Nobody waits for the answer any more: it has closed its end. */
static bool is_unwanted(int socket)
{
	char byte;

	return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static double clock_seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * Every LOOK_US while a question is answered. Who closes the socket meanwhile, and is not allowed
 * to kill, ends it in the midst of its work so: nothing else comes through that socket until the
 * answer is given. Rejected: the socket's own signal (F_SETOWN), which could be sent to others as
 * well.
 */
static void on_look(int number)
{
	int error = errno;

	if (answering >= 0 && is_unwanted(answering))
		_exit(0);
	if (clock_seconds() > deadline)
		(void)signal(number, SIG_DFL);	/* the next one ends it */
	errno = error;
}

/* Its end is told by its status alone. */
static void become_child(void)
{
	static const int fatal[] = {
		SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPIPE, SIGPROF, SIGSEGV, SIGTRAP,
	};
	const struct sigaction looks = { .sa_handler = on_look, .sa_flags = SA_RESTART };
	const struct rlimit none = { 0, 0 };
	int nowhere = memfd_nothing();
	sigset_t empty;

	for (unsigned int i = 0; i < withheld_count; i++)
		(void)close(withheld[i]);
	withheld_count = 0;	/* these numbers are anybody's now */
	forget_others();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
	if (!MEMATTACH_SANITIZED)	/* its handlers are to speak */
		for (size_t i = 0; i < ARRAY_SIZE(fatal); i++)
			(void)signal(fatal[i], SIG_DFL);
	(void)sigaction(SIGALRM, &looks, NULL);
	(void)sigemptyset(&empty);
	(void)sigprocmask(SIG_SETMASK, &empty, NULL);
	if (nowhere >= 0 && !MEMATTACH_SANITIZED)
		(void)dup2(nowhere, STDERR_FILENO);
}

static void set_clocks(const struct apart *apart, bool on)
{
	const struct itimerval cpu = { .it_value.tv_sec = on ? apart->work.seconds : 0 };
	const struct timeval look = { .tv_usec = on ? LOOK_US : 0 };
	const struct itimerval real = { .it_interval = look, .it_value = look };

	deadline = clock_seconds() + REAL_SECONDS;
	(void)setitimer(ITIMER_PROF, &cpu, NULL);
	(void)setitimer(ITIMER_REAL, &real, NULL);
}

static _Noreturn void answer_all(const struct apart *apart, int socket)
{
	struct apart_answer question = { .bytes = NULL }, answer = { .bytes = NULL };
	struct header header;

	answering = socket;
	while (receive(socket, &header, &question) == 0) {
		uint64_t begin = cpu_us();

		answer.count = 0;
		set_clocks(apart, true);
		header.result = apart->work.answer(apart->work.context, question.bytes,
						   question.count, &answer);
		set_clocks(apart, false);
		header.bytes = (uint32_t)answer.count;
		header.cpu_us = cpu_us() - begin;
		if (send_message(socket, &header, answer.bytes, answer.count))
			break;
	}
	_exit(0);
}

/* ---- the parent ---- */

int apart_new(const struct apart_work *work, struct apart **ret)
{
	struct apart *apart = calloc(1, sizeof(*apart));

	if (!apart)
		return -ENOMEM;
	apart->work = *work;
	apart->socket = -1;
	apart->next = all;
	all = apart;
	*ret = apart;
	return 0;
}

/* By somebody else, or for want of memory: no file is to blame for it. */
static const char was_killed[] = "was killed";

/* It ends when it sees its socket closed. How it ended, or NULL as it should. */
static const char *end_child(struct apart *apart)
{
	const struct timespec pause = { 0, 200000 };
	int status = 0;

	cleanup_fd(&apart->socket);
	apart->socket = -1;
	apart->late = false;
	apart->spent_us = 0;
	/* one that was taken over may stay: we are not allowed to kill, and it ends with us */
	for (int i = 0; apart->child > 0 && i < END_TRIES; i++) {
		if (waitpid(apart->child, &status, WNOHANG) != 0)
			break;
		(void)nanosleep(&pause, NULL);
	}
	apart->child = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return was_killed;
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM ?
		       "took too long" : "crashed";
	return WIFEXITED(status) && !WEXITSTATUS(status) ? NULL : "gave up";
}

void apart_renew(struct apart *apart)
{
	(void)end_child(apart);
}

void apart_free(struct apart *apart)
{
	struct apart **at = &all;

	if (!apart)
		return;
	(void)end_child(apart);
	while (*at && *at != apart)
		at = &(*at)->next;
	if (*at)
		*at = apart->next;
	free(apart->answer.bytes);
	free(apart);
}

/* Said once; then nobody is asked any more. */
static int give_up(struct apart *apart, int error)
{
	log_warning("names are missing: no process can be made to read them (%s); raise the limit "
		    "of processes (ulimit -u, pids.max)", strerror(-error));
	apart->deaths = MAX_DEATHS + 1;
	return -ECHILD;
}

static int begin_child(struct apart *apart)
{
	const struct timeval patience = { .tv_sec = REAL_SECONDS + 30 };
	int pair[2];

	(void)fflush(NULL);	/* what is in buffers now is this process's to write */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	apart->child = fork();
	if (apart->child == 0) {
		close(pair[0]);
		become_child();
		answer_all(apart, pair[1]);
	}
	if (apart->child < 0) {
		int error = -errno;

		apart->child = 0;
		close(pair[0]);
		close(pair[1]);
		return error;
	}
	close(pair[1]);
	apart->socket = pair[0];
	(void)setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return 0;
}

void apart_until(struct apart *apart, double time)
{
	apart->until = time;
}

/* 0 there is something to read; -EAGAIN not in time. Who is to end says so by an end of file. */
static int await_answer(const struct apart *apart)
{
	struct pollfd answer = { .fd = apart->socket, .events = POLLIN };
	double left;

	do {
		left = apart->until - clock_seconds();
		if (poll(&answer, 1, left > 0 ? (int)(left * 1e3) + 1 : 0) > 0)
			return 0;
	} while (left > 0);
	return -EAGAIN;
}

/* What was not waited for comes first, and goes nowhere. */
static int drop_late(struct apart *apart)
{
	struct header header;
	int error = apart->until > 0 ? await_answer(apart) : 0;

	if (!error)
		error = receive(apart->socket, &header, &apart->answer);
	apart->late = error == -EAGAIN;
	return error;
}

static int exchange(struct apart *apart, const void *question, size_t bytes, int *ret_result)
{
	struct header header = { .bytes = (uint32_t)bytes };
	int error = apart->late ? drop_late(apart) : 0;

	if (!error)
		error = send_message(apart->socket, &header, question, bytes);
	if (!error && apart->until > 0) {
		error = await_answer(apart);
		apart->late = error == -EAGAIN;
	}
	if (!error)
		error = receive(apart->socket, &header, &apart->answer);
	if (error)
		return error;
	apart->spent_us += header.cpu_us > QUESTION_US ? header.cpu_us - QUESTION_US : 0;
	*ret_result = header.result;
	return 0;
}

/* True when another child may do better. */
static bool recover(struct apart *apart, const char *how)
{
	if (++apart->deaths <= MAX_DEATHS &&
	    (how == was_killed || apart->work.blame(apart->work.context, how)))
		return true;
	apart->deaths = MAX_DEATHS + 1;
	return false;
}

int apart_ask(struct apart *apart, const void *question, size_t bytes, struct apart_reader *ret)
{
	int error = -ECHILD, result = 0;

	if (bytes > APART_MAX_BYTES)
		return -E2BIG;
	while (apart->deaths <= MAX_DEATHS) {
		const char *how;

		error = apart->child ? 0 : begin_child(apart);
		if (error)
			return give_up(apart, error);
		error = exchange(apart, question, bytes, &result);
		if (!error || error == -EAGAIN)
			break;
		how = end_child(apart);	/* half an answer is as bad as none */
		if (error != -EPIPE)
			break;
		error = -ECHILD;
		if (!recover(apart, how ? how : "gave up"))
			break;
	}
	if (error)
		return error;
	if (apart->spent_us > SPEND_US) {
		apart_renew(apart);
		(void)recover(apart, "took too long");
	}
	*ret = (struct apart_reader){ apart->answer.bytes, apart->answer.count };
	return result;
}

/* ---- without waiting ---- */

int apart_begin(struct apart *apart, const void *question, size_t bytes)
{
	const struct header header = { .bytes = (uint32_t)bytes };

	if (bytes > APART_MAX_BYTES)
		return -E2BIG;
	apart_renew(apart);
	if (begin_child(apart) || send_message(apart->socket, &header, question, bytes))
		return -ECHILD;
	return 0;
}

int apart_finish(struct apart *apart, struct apart_reader *ret, const char **ret_how)
{
	struct pollfd answer = { .fd = apart->socket, .events = POLLIN };
	struct header header;
	const char *how;
	int error;

	if (poll(&answer, 1, 0) <= 0)
		return -EAGAIN;
	error = receive(apart->socket, &header, &apart->answer);
	if (!error) {
		*ret = (struct apart_reader){ apart->answer.bytes, apart->answer.count };
		return header.result;
	}
	how = end_child(apart);
	*ret_how = how ? how : "gave up";
	return error == -EPIPE ? -ECHILD : error;
}
