/* SPDX-License-Identifier: MIT */
/* test_control.c - who asks memattachd, who follows it, and who does neither well. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/daemon/control.h"

#define NOBODY		65534u
#define OF_A_USER	4u	/* as control.c has it */
#define ROOM		(1u << 20)
#define LARGE		(4u << 20)	/* an answer that no socket takes at once */

/* What the answerer does, and what it was asked. */
struct answers {
	bool ready;
	unsigned int asked;
	uint64_t id;
	int give;		/* -1: no descriptor */
};

struct fixture {
	char folder[40], path[60];
	struct control *control;
	struct answers answers;
	double now;
};

static char got[ROOM];

/* --- the answerer --------------------------------------------------------- */

static enum control_reply say_large(struct emit *to)
{
	_cleanup_free_ char *text = calloc(1, LARGE + 1);

	assert_non_null(text);
	memset(text, 'x', LARGE);
	emit_begin(to, NULL, '{');
	emit_text(to, "large", text);
	emit_end(to, '}');
	return CONTROL_ANSWERED;
}

static enum control_reply say(struct emit *to, const char *what, enum control_reply reply)
{
	emit_begin(to, NULL, '{');
	emit_bool(to, what, true);
	emit_end(to, '}');
	return reply;
}

static enum control_reply answer(void *context, const struct control_question *question,
				 struct emit *to)
{
	struct answers *answers = context;
	const char *command = json_string_value(json_object_get(question->request,
								"command")) ?: "";

	answers->asked++;
	answers->id = question->id;
	if (strcmp(command, "follow") == 0 && question->may_stay)
		return say(to, "said", CONTROL_FOLLOWS);
	if (strcmp(command, "follow") == 0)
		return say(to, "no room", CONTROL_ANSWERED);
	if (strcmp(command, "large") == 0)
		return say_large(to);
	if (strcmp(command, "later") == 0 && !answers->ready)
		return CONTROL_LATER;
	if (strcmp(command, "later") == 0) {
		*question->ret_fd = answers->give;
		answers->give = -1;
	}
	return say(to, "said", CONTROL_ANSWERED);
}

/* --- the harness ---------------------------------------------------------- */

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	(void)strcpy(f->folder, "/tmp/memattach-control.XXXXXX");
	if (!mkdtemp(f->folder) || chmod(f->folder, 0711) < 0)
		return -1;
	(void)snprintf(f->path, sizeof(f->path), "%s/control", f->folder);
	f->answers.give = -1;
	f->now = 100;
	*state = f;
	return control_new(f->path, (gid_t)-1, &f->control);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	int error;

	control_free(f->control);
	error = rmdir(f->folder);	/* the socket has gone from it */
	free(f);
	return error;
}

static int connect_to(const struct fixture *f)
{
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(control_address(f->path, &address), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Of whom there may be few: not root, for whom there is no such limit. */
static int connect_as_user(const struct fixture *f)
{
	bool root = geteuid() == 0;
	int fd;

	if (root)
		assert_int_equal(seteuid(NOBODY), 0);
	fd = connect_to(f);
	if (root)
		assert_int_equal(seteuid(0), 0);
	return fd;
}

static void put(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void turn(struct fixture *f)
{
	control_turn(f->control, f->now, answer, &f->answers);
}

/* What has come, into got; false: and it was closed. */
static bool take(int fd, size_t *ret_bytes)
{
	size_t bytes = 0;
	ssize_t n;

	while ((n = recv(fd, got + bytes, ROOM - 1 - bytes, MSG_DONTWAIT)) > 0)
		bytes += (size_t)n;
	got[bytes] = '\0';
	if (ret_bytes)
		*ret_bytes = bytes;
	return n < 0 && errno == EAGAIN;
}

/* It was answered so, and is done with. */
static void assert_answer(int fd, const char *says)
{
	assert_false(take(fd, NULL));
	if (!strstr(got, says))
		fail_msg("'%s' is not in '%s'", says, got);
	(void)close(fd);
}

static void assert_waits(int fd)
{
	size_t bytes;

	assert_true(take(fd, &bytes));
	assert_int_equal(bytes, 0);
}

#define ASK(command) "{\"memattach\": 1, \"command\": \"" command "\"}\n"

/* A follower, told what is so far. */
static int follow(struct fixture *f, bool as_user)
{
	int fd = as_user ? connect_as_user(f) : connect_to(f);

	put(fd, ASK("follow"));
	turn(f);
	assert_true(take(fd, NULL));
	assert_non_null(strstr(got, "said"));
	return fd;
}

static bool everybody(void *context, const struct control_peer *peer)
{
	(void)context;
	(void)peer;
	return true;
}

static void tell(struct fixture *f, const char *line)
{
	const struct control_hearers hearers = { everybody, NULL, f->now };

	control_tell(f->control, line, strlen(line), &hearers);
}

static size_t open_descriptors(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* --- who follows ---------------------------------------------------------- */

/* Lines of some hundred bytes, numbered. */
static void tell_number(struct fixture *f, unsigned int number)
{
	char line[400];

	(void)snprintf(line, sizeof(line), "{\"number\": %u, \"%0300d\": 0}\n", number, 0);
	tell(f, line);
}

/* Those from *next on, in their order; what was missed between them counts. */
static void assert_numbers(unsigned int *next, unsigned int *missed)
{
	unsigned int number, count;

	for (const char *line = got; *line; line = strchr(line, '\n') + 1) {
		if (sscanf(line, "{\"event\": \"missed\", \"count\": %u}", &count) == 1) {
			*missed += count;
			*next += count;
			continue;
		}
		assert_int_equal(sscanf(line, "{\"number\": %u", &number), 1);
		assert_int_equal(number, *next);
		(*next)++;
		assert_non_null(strchr(line, '\n'));
	}
}

/* Each event is heard or counted, and the count stands where they were. */
static void count_what_was_missed(void **state)
{
	struct fixture *f = *state;
	unsigned int number = 0, next = 0, missed = 0;
	int fd = follow(f, false);
	size_t bytes;

	for (int round = 0; round < 3; round++) {
		unsigned int before = missed;
		size_t all = 0;

		for (unsigned int i = 0; i < 5000; i++) {
			tell_number(f, number++);
			turn(f);
		}
		do {
			assert_true(take(fd, &bytes));
			assert_numbers(&next, &missed);
			all += bytes;
			turn(f);
		} while (bytes > 0);
		assert_true(all > CONTROL_QUEUE_BYTES && all < 5000 * 300 / 2);
		tell_number(f, number++);	/* it has room: how many they were comes first */
		turn(f);
		assert_true(take(fd, NULL));
		assert_numbers(&next, &missed);
		assert_int_equal(next, number);
		assert_true(missed > before);
	}
	(void)close(fd);
}

/* Its queue is as long as it may be, others hear and ask, and its time comes. */
static void cut_off_who_stalls(void **state)
{
	struct fixture *f = *state;
	int stalls = follow(f, false), hears = follow(f, false), asks;
	unsigned int next = 0, missed = 0;
	size_t bytes, all = 0;

	for (unsigned int i = 0; i < 20000; i++) {
		tell_number(f, i);
		turn(f);
		assert_true(take(hears, &bytes));
		assert_numbers(&next, &missed);
		f->now += 0.001;
	}
	assert_int_equal(next, 20000);
	assert_int_equal(missed, 0);
	asks = connect_to(f);
	put(asks, ASK("what"));
	turn(f);
	assert_answer(asks, "said");
	assert_true(control_next(f->control) <= f->now + CONTROL_STALL_SECONDS);
	f->now = control_next(f->control);
	turn(f);
	assert_true(take(hears, NULL));
	while (take(stalls, &bytes) || bytes > 0)	/* what the kernel had, then the end */
		all += bytes;
	assert_true(all > 0 && all < 20000 * 300 / 4);
	assert_true(control_next(f->control) == INFINITY);
	(void)close(stalls);
	(void)close(hears);
}

/* --- a place that is left is free ----------------------------------------- */

/* In one turn a follower leaves and another one comes, at a place before his. */
static void free_places_first(void **state)
{
	struct fixture *f = *state;
	int first = connect_as_user(f), silent[OF_A_USER], follower[OF_A_USER], fd;

	turn(f);			/* it has the first place, for a time */
	for (size_t i = 0; i < OF_A_USER; i++)
		follower[i] = follow(f, true);
	put(first, ASK("what"));
	turn(f);
	assert_answer(first, "said");
	fd = connect_as_user(f);
	put(fd, ASK("follow"));
	turn(f);
	assert_answer(fd, "no room");
	(void)close(follower[0]);
	fd = connect_as_user(f);
	put(fd, ASK("follow"));
	turn(f);
	if (!take(fd, NULL) || !strstr(got, "said"))
		fail_msg("turned away, though one has left: %s", got);
	for (size_t i = 1; i < OF_A_USER; i++)
		(void)close(follower[i]);
	(void)close(fd);

	/* The same of those who ask. */
	for (size_t i = 0; i < OF_A_USER; i++)
		silent[i] = connect_as_user(f);
	turn(f);
	for (size_t i = 0; i < OF_A_USER; i++)
		(void)close(silent[i]);
	fd = connect_as_user(f);
	put(fd, ASK("what"));
	turn(f);
	assert_answer(fd, "said");
}

/* One that has hung up after its question is heard all the same; one that says no more, too. */
static void hear_who_hung_up(void **state)
{
	struct fixture *f = *state;
	int fd = connect_to(f);

	put(fd, ASK("what"));
	(void)close(fd);
	turn(f);
	assert_int_equal(f->answers.asked, 1);
	fd = connect_to(f);
	turn(f);
	put(fd, ASK("what"));
	(void)close(fd);
	turn(f);
	assert_int_equal(f->answers.asked, 2);
	fd = connect_to(f);
	put(fd, ASK("what"));
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	turn(f);
	assert_answer(fd, "said");
}

/* --- answers that come later ---------------------------------------------- */

static void answer_later(void **state)
{
	struct fixture *f = *state;
	int fd = connect_to(f), slow = connect_to(f);

	put(fd, ASK("later"));
	for (unsigned int i = 1; i <= 3; i++) {
		turn(f);
		assert_int_equal(f->answers.asked, i);
		assert_waits(fd);
		assert_true(control_is_asked(f->control, f->answers.id));
		f->now += CONTROL_SECONDS / 4;
	}
	f->answers.ready = true;
	f->answers.give = memfd_create("given", MFD_CLOEXEC);
	turn(f);
	assert_answer(fd, "said");
	assert_int_equal(f->answers.give, -1);
	assert_false(control_is_asked(f->control, f->answers.id));

	/* What takes too long. */
	f->answers.ready = false;
	put(slow, ASK("later"));
	turn(f);
	assert_true(control_next(f->control) == f->now + CONTROL_LATER_SECONDS);
	f->now += CONTROL_LATER_SECONDS - 1;
	turn(f);
	assert_waits(slow);
	f->now += 1;
	turn(f);
	assert_answer(slow, "it takes too long");
	assert_true(control_next(f->control) == INFINITY);
}

/* Nobody is asked for him any more, and what was meant for him is not kept. */
static void forget_who_left(void **state)
{
	struct fixture *f = *state;
	size_t before = open_descriptors();
	unsigned int asked;
	int fd = connect_to(f);

	put(fd, ASK("later"));
	turn(f);
	(void)close(fd);
	asked = f->answers.asked;
	turn(f);
	assert_int_equal(f->answers.asked, asked);
	assert_false(control_is_asked(f->control, f->answers.id));

	fd = connect_to(f);		/* an answer, with a descriptor, on its way to nobody */
	put(fd, ASK("later"));
	(void)close(fd);
	f->answers.ready = true;
	f->answers.give = memfd_create("given", MFD_CLOEXEC);
	turn(f);

	fd = connect_to(f);
	put(fd, ASK("large"));
	turn(f);
	assert_true(take(fd, NULL));
	(void)close(fd);
	turn(f);
	assert_true(control_next(f->control) == INFINITY);
	assert_int_equal(open_descriptors(), before);

	fd = connect_to(f);		/* and who takes none of it */
	put(fd, ASK("large"));
	turn(f);
	f->now += CONTROL_SECONDS;
	turn(f);
	assert_true(control_next(f->control) == INFINITY);
	(void)close(fd);
}

/* --- questions ------------------------------------------------------------ */

static void refuse_bad_questions(void **state)
{
	static const struct { const char *text, *says; } row[] = {
		{ "status\n", "no request" },
		{ "\n", "no request" },
		{ "[]\n", "no request" },
		{ "{\"memattach\": 1, \"memattach\": 1}\n", "no request" },
		{ "{\"memattach\": 1\n}\n", "no request" },
		{ "{\"memattach\": 1, \"command\": \"\xff\"}\n", "no request" },
		{ "{}\n", "another protocol" },
		{ "{\"memattach\": \"1\"}\n", "another protocol" },
		{ "{\"memattach\": 2}\n", "another protocol" },
	};
	static char line[CONTROL_REQUEST_BYTES + 1];
	struct fixture *f = *state;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		fd = connect_to(f);
		put(fd, row[i].text);
		turn(f);
		assert_answer(fd, row[i].says);
	}
	memset(line, ' ', CONTROL_REQUEST_BYTES);
	fd = connect_to(f);
	put(fd, line);
	turn(f);
	assert_answer(fd, "");
	assert_int_equal(got[0], '\0');
	assert_int_equal(f->answers.asked, 0);

	memcpy(line, "{\"memattach\": 1}", 16);	/* as long as may be */
	line[CONTROL_REQUEST_BYTES - 1] = '\n';
	fd = connect_to(f);
	put(fd, line);
	turn(f);
	assert_answer(fd, "said");
	fd = connect_to(f);
	put(fd, "{\"memattach\": 1}");		/* no line */
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	turn(f);
	turn(f);
	assert_answer(fd, "");
	assert_int_equal(got[0], '\0');
	assert_int_equal(f->answers.asked, 1);
}

static void hear_pieces(void **state)
{
	static const char text[] = ASK("what");
	struct fixture *f = *state;
	int fd = connect_to(f), never = connect_to(f);

	put(never, "{");
	for (size_t i = 0; i + 1 < sizeof(text); i++) {
		assert_waits(fd);
		assert_int_equal(f->answers.asked, 0);
		assert_int_equal(send(fd, text + i, 1, MSG_NOSIGNAL), 1);
		turn(f);
	}
	assert_answer(fd, "said");
	assert_int_equal(f->answers.asked, 1);
	assert_true(control_next(f->control) == f->now + CONTROL_SECONDS);
	f->now += CONTROL_SECONDS;
	turn(f);
	assert_answer(never, "");
	assert_int_equal(got[0], '\0');
	fd = connect_to(f);			/* one question each */
	put(fd, ASK("what") ASK("what"));
	turn(f);
	assert_answer(fd, "said");
	assert_ptr_equal(strchr(got, '\n') + 1, strchr(got, '\0'));
	assert_int_equal(f->answers.asked, 2);
}

/* --- limits --------------------------------------------------------------- */

static void limit_a_user(void **state)
{
	struct fixture *f = *state;
	int asking[OF_A_USER], staying[OF_A_USER], fd;

	if (geteuid() != 0)	/* then we are root to ourselves */
		skip();
	for (size_t i = 0; i < OF_A_USER; i++)
		asking[i] = connect_as_user(f);
	turn(f);
	fd = connect_as_user(f);
	put(fd, ASK("what"));
	turn(f);
	assert_answer(fd, "");
	assert_int_equal(f->answers.asked, 0);
	for (size_t i = 0; i < OF_A_USER; i++) {
		put(asking[i], ASK("later"));
		turn(f);
		staying[i] = asking[i];
		asking[i] = connect_as_user(f);	/* who waits has left a place to who asks */
		turn(f);
		assert_waits(asking[i]);
	}
	put(asking[0], ASK("later"));
	turn(f);
	assert_answer(asking[0], "too many wait already");
	for (size_t i = 0; i < OF_A_USER; i++)
		(void)close(staying[i]);
	for (size_t i = 1; i < OF_A_USER; i++)
		(void)close(asking[i]);
}

/* More than can be heard wait in the kernel's queue, and come when others are done. */
static void let_the_rest_wait(void **state)
{
	struct fixture *f = *state;
	int fd[CONTROL_CLIENTS + 3];
	struct pollfd poll[CONTROL_FDS];

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = connect_to(f);
		turn(f);
	}
	assert_int_equal(control_poll(f->control, poll), 1 + CONTROL_CLIENTS);
	assert_int_equal(poll[0].fd, -1);	/* no more are heard of */
	for (size_t i = 0; i < ARRAY_SIZE(fd); i++)
		put(fd[i], ASK("what"));
	turn(f);
	assert_int_equal(control_poll(f->control, poll), 1);
	assert_true(poll[0].fd >= 0);
	turn(f);
	assert_int_equal(f->answers.asked, ARRAY_SIZE(fd));
	for (size_t i = 0; i < ARRAY_SIZE(fd); i++)
		assert_answer(fd[i], "said");
}

#define CONTROL_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTROL_TEST(count_what_was_missed),
		CONTROL_TEST(cut_off_who_stalls),
		CONTROL_TEST(free_places_first),
		CONTROL_TEST(hear_who_hung_up),
		CONTROL_TEST(answer_later),
		CONTROL_TEST(forget_who_left),
		CONTROL_TEST(refuse_bad_questions),
		CONTROL_TEST(hear_pieces),
		CONTROL_TEST(limit_a_user),
		CONTROL_TEST(let_the_rest_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
