/* SPDX-License-Identifier: MIT */
/*
 * test_several_relatives.c - who descends from those that are watched: forks of forks, ends, what
 * counts as missed; and what the kernel's messages say, whole, cut and forged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/several/marks.h"
#include "src/several/process_events.h"
#include "src/several/relatives.h"

static void forks_of_forks_are_relatives(void **state)
{
	struct relatives r = { 0 };

	(void)state;
	assert_int_equal(relatives_add(&r, 10, 1, true), 0);
	assert_int_equal(relatives_fork(&r, 11, 12, 2), 0);	/* of nobody */
	assert_null(relatives_find(&r, 12));
	assert_int_equal(relatives_fork(&r, 10, 30, 2), 0);
	assert_int_equal(relatives_fork(&r, 30, 20, 3), 0);
	relatives_exit(&r, 30);		/* a daemon's parent */
	assert_int_equal(relatives_fork(&r, 20, 25, 4), 0);
	assert_int_equal(r.missed, 1);
	assert_int_equal(r.count, 3);
	assert_int_equal(r.waiting, 2);
	assert_int_equal(r.of[1].pid, 20);
	assert_true(r.of[1].since > 2.9 && !r.of[1].taken);
	relatives_exec(&r, 20, 9);
	relatives_exec(&r, 77, 9);
	assert_true(r.of[1].since > 8.9);
	relatives_done(&r);
}

static void who_was_taken_or_spared_is_not_missed(void **state)
{
	struct relatives r = { 0 };

	(void)state;
	for (pid_t pid = 1; pid <= 5; pid++)
		assert_int_equal(relatives_add(&r, pid, 0, false), 0);
	relatives_take(&r, relatives_find(&r, 1));
	relatives_spare(&r, relatives_find(&r, 2), true);
	relatives_spare(&r, relatives_find(&r, 3), true);
	relatives_spare(&r, relatives_find(&r, 3), false);
	assert_int_equal(r.waiting, 3);
	for (pid_t pid = 1; pid <= 3; pid++)
		relatives_exit(&r, pid);
	relatives_exit(&r, 3);
	assert_int_equal(r.missed, 1);
	assert_int_equal(relatives_add(&r, 4, 1, true), 0);
	assert_int_equal(relatives_add(&r, 4, 1, false), 0);
	assert_true(relatives_find(&r, 4)->taken);
	relatives_end(&r);
	assert_int_equal(r.missed, 2);
	assert_int_equal(r.waiting, 0);
	relatives_done(&r);
}

struct message {
	char bytes[NLMSG_HDRLEN + sizeof(struct cn_msg) + sizeof(struct proc_event)];
};

static struct message message(uint32_t what, const uint32_t number[4])
{
	const struct nlmsghdr head = { .nlmsg_type = NLMSG_DONE };
	const struct cn_msg from = { .id = { CN_IDX_PROC, CN_VAL_PROC } };
	struct message m = { "" };
	char *event = m.bytes + NLMSG_HDRLEN + sizeof(from);

	memcpy(m.bytes, &head, sizeof(head));
	memcpy(m.bytes + NLMSG_HDRLEN, &from, sizeof(from));
	memcpy(event, &what, sizeof(what));
	memcpy(event + offsetof(struct proc_event, event_data), number, 4 * sizeof(*number));
	return m;
}

static struct process_event parse(uint32_t what, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const uint32_t number[4] = { a, b, c, d };
	struct message m = message(what, number);

	return process_events_parse(m.bytes, sizeof(m.bytes));
}

static void messages_say_what_processes_do(void **state)
{
	struct process_event e = parse(PROC_EVENT_FORK, 8, 7, 9, 9);

	(void)state;
	assert_int_equal(e.kind, PROCESS_FORK);
	assert_int_equal(e.parent, 7);		/* the process, not its thread */
	assert_int_equal(e.pid, 9);
	assert_int_equal(parse(PROC_EVENT_FORK, 7, 7, 9, 7).kind, PROCESS_OTHER);
	e = parse(PROC_EVENT_EXEC, 9, 9, 0, 0);
	assert_int_equal(e.kind, PROCESS_EXEC);
	assert_int_equal(e.pid, 9);
	e = parse(PROC_EVENT_EXIT, 9, 9, 0, 17);
	assert_int_equal(e.kind, PROCESS_EXIT);
	assert_true(e.noticed);
	assert_false(parse(PROC_EVENT_EXIT, 9, 9, 9, 0).noticed);
	assert_int_equal(parse(PROC_EVENT_EXIT, 8, 9, 0, 17).kind, PROCESS_OTHER);
	assert_int_equal(parse(PROC_EVENT_UID, 9, 9, 0, 0).kind, PROCESS_OTHER);
	assert_int_equal(parse(PROC_EVENT_NONE, 0, 0, 0, 0).kind, PROCESS_OTHER);
}

static void cut_and_forged_ones_say_nothing(void **state)
{
	const uint32_t number[4] = { 7, 7, 9, 9 };
	struct message m = message(PROC_EVENT_FORK, number);

	(void)state;
	for (size_t size = 0; size < 55; size++)
		assert_int_equal(process_events_parse(m.bytes, size).kind, PROCESS_OTHER);
	m.bytes[NLMSG_HDRLEN]++;	/* another connector's */
	assert_int_equal(process_events_parse(m.bytes, sizeof(m.bytes)).kind, PROCESS_OTHER);
}

/* Where it tells us anything: of a child of ours all that it does. */
static void the_kernel_tells_of_a_child(void **state)
{
	int fd = process_events_open(), got, seen = 0;
	struct process_event event;
	pid_t pid;

	(void)state;
	if (fd < 0)
		skip();
	pid = fork();
	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while ((got = process_events_next(fd, &event)) != 0) {
		if (got < 0 || event.pid != pid)
			continue;
		assert_true(event.kind != PROCESS_FORK || event.parent == getpid());
		seen |= 1 << event.kind;
	}
	process_events_close(fd);
	assert_int_equal(seen, 1 << PROCESS_FORK | 1 << PROCESS_EXEC | 1 << PROCESS_EXIT);
}

/* In a namespace of processes: 0 no events, 1 events, 2 there can be none. */
static int ask_in_a_container(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID) != 0)
		return 2;
	pid = fork();
	if (pid == 0)
		_exit(process_events_open() >= 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 2;
}

/* A container hears what the kernel answers to its host, and events of its host's processes. */
static void the_kernel_tells_a_container_nothing(void **state)
{
	int fd = process_events_open(), status;
	pid_t pid;

	(void)state;
	if (fd < 0)
		skip();
	pid = fork();
	if (pid == 0)
		_exit(ask_in_a_container());
	while (waitpid(pid, &status, WNOHANG) == 0) {
		process_events_close(process_events_open());
		(void)usleep(1000);
	}
	process_events_close(fd);
	assert_int_equal(WEXITSTATUS(status) % 2, 0);
	if (WEXITSTATUS(status) == 2)
		skip();
}

static void who_is_not_ours_has_no_marks(void **state)
{
	struct marks marks = { 0 };

	(void)state;
	assert_int_equal(marks_add(&marks, getpid()), 0);
	assert_int_equal(marks_add(&marks, 4194304), 0);
	assert_false(marks_has(&marks, getpid()));
	marks_done(&marks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forks_of_forks_are_relatives),
		cmocka_unit_test(who_was_taken_or_spared_is_not_missed),
		cmocka_unit_test(messages_say_what_processes_do),
		cmocka_unit_test(cut_and_forged_ones_say_nothing),
		cmocka_unit_test(the_kernel_tells_of_a_child),
		cmocka_unit_test(the_kernel_tells_a_container_nothing),
		cmocka_unit_test(who_is_not_ours_has_no_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
