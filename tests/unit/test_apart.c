/* SPDX-License-Identifier: MIT */
/* test_apart.c - children that answer, die, loop and lie. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/base/apart.h"

/* What the child does with a question of one letter, and who was blamed for what came of it. */
struct lab {
	struct apart *apart;
	pid_t child;		/* of the last answer */
	bool healed;		/* blamed often enough: nothing kills any more */
	unsigned int blamed, enough, most;
	char how[32];
	int withheld;		/* a descriptor */
};

static int ask_own_child(const struct lab *lab);

/* Whatever signals come. */
static void sleep_on(double seconds)
{
	struct timespec left = { .tv_nsec = (long)(seconds * 1e9) };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static int answer(void *context, const void *question, size_t bytes, struct apart_answer *ret)
{
	const struct lab *lab = context;
	char what = bytes ? *(const char *)question : '\0';
	pid_t self = getpid();

	if (what == 'k' && !lab->healed)	/* no sanitizer looks at that one */
		(void)kill(self, SIGTRAP);
	if (what == 'x')
		(void)kill(self, SIGKILL);
	if (what == 's')
		sleep_on(0.5);
	if (what == 'i')	/* as if it looked now whether anybody waits */
		(void)raise(SIGALRM);
	if (what == 'e' && !lab->healed)
		_exit(1);
	while (what == 'l' && !lab->healed)
		;
	if (what == 'n')
		return -ENOENT;
	if (what == 'c' && ask_own_child(lab))
		return -ECHILD;
	if (what == 'w' && fcntl(lab->withheld, F_GETFD) < 0)
		return -errno;
	return apart_put(ret, &self, sizeof(self)) ?: apart_put_text(ret, "text") ?:
	       apart_put_text(ret, NULL) ?: apart_put_text(ret, "");
}

/* Its socket may get the number of a descriptor that was withheld, and the lab's is not its. */
static int ask_own_child(const struct lab *lab)
{
	struct apart_work work = { .answer = answer, .context = (void *)(uintptr_t)lab,
				   .seconds = 1 };
	struct apart_reader reader;
	struct apart *own;
	int error = apart_new(&work, &own);

	if (!error)
		error = apart_ask(own, "a", 1, &reader) ?: apart_ask(lab->apart, "a", 1, &reader);
	return error;
}

static bool blame(void *context, const char *how)
{
	struct lab *lab = context;

	(void)snprintf(lab->how, sizeof(lab->how), "%s", how);
	lab->blamed++;
	lab->healed = lab->blamed >= lab->enough;
	return lab->blamed < lab->most;
}

static void begin(struct lab *lab, unsigned int enough, unsigned int most)
{
	const struct apart_work work = { answer, blame, lab, 1 };

	*lab = (struct lab){ .enough = enough, .most = most };
	assert_int_equal(apart_new(&work, &lab->apart), 0);
}

static int ask(struct lab *lab, const char *question)
{
	struct apart_reader reader;
	const char *text[3];
	int error = apart_ask(lab->apart, question, strlen(question), &reader);

	if (error)
		return error;
	assert_int_equal(apart_get(&reader, &lab->child, sizeof(lab->child)), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(apart_get_text(&reader, &text[i]), 0);
	assert_string_equal(text[0], "text");
	assert_null(text[1]);
	assert_string_equal(text[2], "");
	assert_int_equal(reader.left, 0);
	assert_int_equal(apart_get(&reader, &lab->child, 1), -EBADMSG);
	return 0;
}

static void one_child_answers_all(void **state)
{
	struct lab lab;
	pid_t first;

	(void)state;
	begin(&lab, 1, 2);
	assert_int_equal(ask(&lab, "a"), 0);
	first = lab.child;
	assert_int_not_equal(first, getpid());
	assert_int_equal(ask(&lab, ""), 0);
	assert_int_equal(ask(&lab, "n"), -ENOENT);
	assert_int_equal(lab.child, first);
	apart_renew(lab.apart);
	assert_int_equal(ask(&lab, "a"), 0);
	assert_int_not_equal(lab.child, first);
	assert_int_equal(lab.blamed, 0);
	apart_free(lab.apart);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);	/* none is left */
}

static void a_child_lacks_what_is_withheld(void **state)
{
	struct lab lab;
	int open = dup(STDIN_FILENO);

	(void)state;
	begin(&lab, 1, 2);
	lab.withheld = open;
	assert_int_equal(ask(&lab, "w"), 0);
	apart_withhold(open);
	apart_renew(lab.apart);
	assert_int_equal(ask(&lab, "w"), -EBADF);
	apart_withhold(-1);
	apart_free(lab.apart);
	close(open);
}

/* The question is asked again, of a child that knows what to leave out. */
static void dies_once(const char *question, const char *how)
{
	struct lab lab;

	begin(&lab, 1, 2);
	assert_int_equal(ask(&lab, "a"), 0);
	assert_int_equal(ask(&lab, question), 0);
	assert_int_equal(lab.blamed, 1);
	assert_string_equal(lab.how, how);
	assert_int_equal(ask(&lab, question), 0);
	assert_int_equal(lab.blamed, 1);
	apart_free(lab.apart);
}

static void dead_children_are_replaced(void **state)
{
	(void)state;
	dies_once("k", "crashed");
	dies_once("e", "gave up");
	dies_once("l", "took too long");
}

/* Nothing helps: then nobody is asked any more, and no child made. */
static void gives_up(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab, 100, 3);
	assert_int_equal(ask(&lab, "k"), -ECHILD);
	assert_int_equal(lab.blamed, 3);
	assert_int_equal(ask(&lab, "a"), -ECHILD);
	assert_int_equal(lab.blamed, 3);
	apart_free(lab.apart);
	begin(&lab, 100, 1000);	/* whoever would go on blaming for ever */
	assert_int_equal(ask(&lab, "k"), -ECHILD);
	assert_true(lab.blamed < 100);
	apart_free(lab.apart);
}

/* Whom somebody else kills is made anew, and no file is blamed for it. */
static void killed_children_blame_nobody(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab, 1, 1000);
	assert_int_equal(ask(&lab, "a"), 0);
	assert_int_equal(kill(lab.child, SIGKILL), 0);
	assert_int_equal(ask(&lab, "a"), 0);
	assert_int_equal(lab.blamed, 0);
	assert_int_equal(ask(&lab, "x"), -ECHILD);
	assert_int_equal(lab.blamed, 0);
	apart_free(lab.apart);
}

static void a_look_at_the_socket_ends_nobody(void **state)
{
	struct lab lab;
	pid_t first;

	(void)state;
	begin(&lab, 1, 2);
	assert_int_equal(ask(&lab, "i"), 0);
	first = lab.child;
	assert_int_equal(ask(&lab, "i"), 0);
	assert_int_equal(lab.child, first);
	assert_int_equal(lab.blamed, 0);
	apart_free(lab.apart);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void late_answers_go_nowhere(void **state)
{
	struct lab lab;
	pid_t first;

	(void)state;
	begin(&lab, 1, 2);
	assert_int_equal(ask(&lab, "a"), 0);
	first = lab.child;
	apart_until(lab.apart, now() + 0.05);
	assert_int_equal(ask(&lab, "s"), -EAGAIN);
	assert_int_equal(ask(&lab, "a"), -EAGAIN);
	apart_until(lab.apart, now() + 60);
	assert_int_equal(ask(&lab, "n"), -ENOENT);	/* and not what "s" was answered */
	apart_until(lab.apart, now());
	assert_int_equal(ask(&lab, "s"), -EAGAIN);
	apart_until(lab.apart, 0);
	assert_int_equal(ask(&lab, "n"), -ENOENT);
	assert_int_equal(ask(&lab, "a"), 0);
	assert_int_equal(lab.child, first);
	assert_int_equal(lab.blamed, 0);
	apart_free(lab.apart);
}

static void children_have_their_own(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab, 1, 2);
	lab.withheld = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(lab.withheld >= 0);
	apart_withhold(lab.withheld);
	assert_int_equal(ask(&lab, "c"), 0);
	assert_int_equal(lab.blamed, 0);
	apart_withhold(-1);
	(void)close(lab.withheld);
	apart_free(lab.apart);
}

static int finish(struct lab *lab, const char **ret_how)
{
	struct apart_reader reader;
	double end = now() + 20;
	int error;

	do
		error = apart_finish(lab->apart, &reader, ret_how);
	while (error == -EAGAIN && now() < end);
	return error;
}

static void asks_without_waiting(void **state)
{
	struct apart_reader reader;
	const char *how = "";
	struct lab lab;

	(void)state;
	begin(&lab, 1, 2);
	assert_int_equal(ask(&lab, "a"), 0);
	assert_int_equal(apart_begin(lab.apart, "s", 1), 0);
	assert_int_equal(apart_finish(lab.apart, &reader, &how), -EAGAIN);
	assert_int_equal(finish(&lab, &how), 0);
	assert_int_equal(apart_begin(lab.apart, "n", 1), 0);
	assert_int_equal(finish(&lab, &how), -ENOENT);
	assert_int_equal(apart_begin(lab.apart, "k", 1), 0);
	assert_int_equal(finish(&lab, &how), -ECHILD);
	assert_string_equal(how, "crashed");
	assert_int_equal(lab.blamed, 0);
	apart_free(lab.apart);
}

/* Whoever is at work, or loops, and is not wanted any more ends at once. */
static void unwanted_children_end(void **state)
{
	static const char *const work[] = { "s", "l" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(work); i++) {
		double begun = now();
		struct lab lab;

		begin(&lab, 1, 2);
		assert_int_equal(apart_begin(lab.apart, work[i], 1), 0);
		(void)usleep(20000);	/* it may or may not have begun */
		apart_free(lab.apart);
		assert_true(now() - begun < 0.4);	/* "s" takes 0.5 s, "l" is killed after 1 */
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	}
}

static void lies_in_answers(void **state)
{
	static const struct {
		uint32_t length;
		char text[8];
		size_t bytes;
	} lie[] = {
		{ 4, "text", 8 },		/* no end */
		{ 5, "text", 8 },		/* more than there is */
		{ UINT32_MAX - 1, "text", 9 },
		{ 3, "text", 9 },		/* the end is elsewhere */
		{ 0, "", 3 },			/* half a length */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lie); i++) {
		struct apart_reader reader = { (const char *)&lie[i], lie[i].bytes };
		const char *text;

		assert_int_equal(apart_get_text(&reader, &text), -EBADMSG);
	}
}

static void long_texts_are_cut(void **state)
{
	static char text[100000];
	struct apart_answer answer_to = { .bytes = NULL };
	struct apart_reader reader;
	const char *got;
	int error = 0;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(apart_put_text(&answer_to, text), 0);
	reader = (struct apart_reader){ answer_to.bytes, answer_to.count };
	assert_int_equal(apart_get_text(&reader, &got), 0);
	assert_int_equal(strlen(got), 16384);
	while (!error)
		error = apart_put(&answer_to, text, sizeof(text));
	assert_int_equal(error, -E2BIG);
	assert_true(answer_to.count <= APART_MAX_BYTES);
	free(answer_to.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_child_answers_all),
		cmocka_unit_test(a_child_lacks_what_is_withheld),
		cmocka_unit_test(dead_children_are_replaced),
		cmocka_unit_test(gives_up),
		cmocka_unit_test(killed_children_blame_nobody),
		cmocka_unit_test(a_look_at_the_socket_ends_nobody),
		cmocka_unit_test(late_answers_go_nowhere),
		cmocka_unit_test(children_have_their_own),
		cmocka_unit_test(asks_without_waiting),
		cmocka_unit_test(unwanted_children_end),
		cmocka_unit_test(lies_in_answers),
		cmocka_unit_test(long_texts_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
