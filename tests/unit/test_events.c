/* SPDX-License-Identifier: MIT */
/* test_events.c - what is said of processes, and the command that is run for it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/daemon/on_event.h"

#define READY_TRIES 2000

static const struct daemon_event event = {
	.kind = EVENT_REFUSED, .pid = 42, .name = "a\nb\033[2J", .rule = "r",
	.text = "refused: it said \"no\nMEMATTACH_EVENT=left\"",
};

/* --- stderr --------------------------------------------------------------- */

struct said {
	int file, before;
};

static struct said said_begin(void)
{
	struct said said = { memfd_create("said", MFD_CLOEXEC), dup(STDERR_FILENO) };

	assert_true(said.file >= 0 && said.before >= 0);
	assert_true(dup2(said.file, STDERR_FILENO) >= 0);
	return said;
}

static void said_end(struct said *said, char *ret, size_t room)
{
	ssize_t got = pread(said->file, ret, room - 1, 0);

	assert_true(dup2(said->before, STDERR_FILENO) >= 0);
	(void)close(said->before);
	(void)close(said->file);
	assert_true(got >= 0);
	ret[got] = '\0';
}

/* --- cases ---------------------------------------------------------------- */

/* Programs look for them: none is another's, and all are what the journal takes. */
static void name_each_kind(void **state)
{
	(void)state;
	for (int i = 0; i < EVENT_KINDS; i++) {
		const char *id = event_message_id((enum event_kind)i);

		assert_int_equal(strlen(id), 32);
		assert_int_equal(strspn(id, "0123456789abcdef"), 32);
		for (int k = 0; k < i; k++) {
			assert_string_not_equal(id, event_message_id((enum event_kind)k));
			assert_string_not_equal(event_name((enum event_kind)i),
						event_name((enum event_kind)k));
		}
	}
	assert_string_equal(event_message_id(EVENT_DORMANT), "c14e6ab9ddb04c3e9c99eedc2f0f6003");
}

/* One line, whatever a process calls itself. */
static void say_one_line(void **state)
{
	struct said said = said_begin();
	char text[500];

	(void)state;
	event_tell(&event);
	said_end(&said, text, sizeof(text));
	assert_string_equal(text, "memattach: 42 a?b?[2J: refused: it said "
				  "\"no?MEMATTACH_EVENT=left\"\n");
}

/* Looks until none is running. */
static void await_end(struct on_event *runs)
{
	for (int i = 0; i < READY_TRIES; i++) {
		if (on_event_reap(runs) == 0)
			return;
		(void)usleep(5000);
	}
	fail_msg("a command does not end");
}

/* The command has the event, whole, in its environment only. */
static void hand_over_the_event(void **state)
{
	struct on_event runs = { 0 };
	struct said said = said_begin();
	char text[500];

	(void)state;
	(void)setenv("NOTIFY_SOCKET", "/none", 1);
	on_event_run(&runs, "printf '%s|' \"$MEMATTACH_EVENT\" \"$MEMATTACH_TARGET_PID\" "
		     "\"$MEMATTACH_TARGET_NAME\" \"$MEMATTACH_RULE\" \"$MEMATTACH_TEXT\" "
		     "\"${MEMATTACH_RECORDING-unset}\" \"${NOTIFY_SOCKET-unset}\"", &event);
	await_end(&runs);
	(void)unsetenv("NOTIFY_SOCKET");
	said_end(&said, text, sizeof(text));
	assert_string_equal(text, "refused|42|a?b?[2J|r|"
				  "refused: it said \"no?MEMATTACH_EVENT=left\"|unset|unset|");
}

static void say_what_failed(void **state)
{
	struct on_event runs = { 0 };
	struct said said = said_begin();
	char text[500];

	(void)state;
	on_event_run(&runs, "exit 3", &event);
	await_end(&runs);
	on_event_run(&runs, "kill -ALRM $$", &event);
	await_end(&runs);
	said_end(&said, text, sizeof(text));
	assert_non_null(strstr(text, "ended with status 3"));
	assert_non_null(strstr(text, "took more than 30 seconds"));
}

/* Those that don't end are not run for ever more events; what was missed is said. */
static void bound_the_commands(void **state)
{
	struct on_event runs = { 0 };
	struct said said = said_begin();
	char text[1000];
	int running[2];

	(void)state;
	assert_int_equal(pipe(running), 0);	/* closed in the commands */
	for (unsigned int i = 0; i < ON_EVENT_RUNNING + 3; i++)
		on_event_run(&runs, "exec sleep 60", &event);
	assert_int_equal(on_event_reap(&runs), ON_EVENT_RUNNING);
	(void)close(running[1]);
	assert_int_equal(read(running[0], text, 1), 0);	/* none of them holds it */
	(void)close(running[0]);
	for (unsigned int i = 0; i < ON_EVENT_RUNNING; i++)
		(void)kill(runs.child[i], SIGKILL);
	await_end(&runs);
	said_end(&said, text, sizeof(text));
	assert_non_null(strstr(text, "16 commands are running"));
	assert_non_null(strstr(text, "3 events were not passed on"));
	assert_null(strstr(strstr(text, "commands are running") + 1, "commands are running"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_each_kind),
		cmocka_unit_test(say_one_line),
		cmocka_unit_test(hand_over_the_event),
		cmocka_unit_test(say_what_failed),
		cmocka_unit_test(bound_the_commands),
	};

	(void)unsetenv("JOURNAL_STREAM");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
