/* SPDX-License-Identifier: MIT */
/* test_rights.c - whom the kernel lets trace what, as a table; and rights read from /proc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/daemon/rights.h"

#define NOBODY_KNOWN ((uid_t)-1)

static void the_table(void **state)
{
	/* who asks is user 5 of group 6 */
	static const struct {
		const char *what;
		struct rights rights;
		bool may;
	} row[] = {
		{ "his own", { 1, { 5, 5, 5, 5 }, { 6, 6, 6, 6 }, 0, true, false, 0 }, true },
		{ "that has ended",
		  { 0, { 5, 5, 5, 5 }, { 6, 6, 6, 6 }, 0, true, false, 0 },
		  false },
		{ "another's", { 1, { 7, 7, 7, 7 }, { 6, 6, 6, 6 }, 0, true, false, 0 }, false },
		{ "root's", { 1, { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, 0, true, false, 0 }, false },
		{ "other real user",
		  { 1, { 7, 5, 5, 5 }, { 6, 6, 6, 6 }, 0, true, false, 0 },
		  false },
		{ "root that is him for now",
		  { 1, { 0, 5, 0, 5 }, { 6, 6, 6, 6 }, 0, true, false, 0 },
		  false },
		{ "setuid", { 1, { 5, 0, 0, 0 }, { 6, 6, 6, 6 }, 0, true, false, 0 }, false },
		{ "other saved user",
		  { 1, { 5, 5, 7, 5 }, { 6, 6, 6, 6 }, 0, true, false, 0 },
		  false },
		{ "for files", { 1, { 5, 5, 5, 7 }, { 6, 6, 6, 7 }, 0, true, false, 0 }, true },
		{ "setgid", { 1, { 5, 5, 5, 5 }, { 6, 7, 7, 7 }, 0, true, false, 0 }, false },
		{ "other real group",
		  { 1, { 5, 5, 5, 5 }, { 7, 6, 6, 6 }, 0, true, false, 0 },
		  false },
		{ "other saved group",
		  { 1, { 5, 5, 5, 5 }, { 6, 6, 7, 6 }, 0, true, false, 0 },
		  false },
		{ "not dumpable",
		  { 1, { 5, 5, 5, 5 }, { 6, 6, 6, 6 }, 0, false, false, 0 },
		  false },
		{ "capable",
		  { 1, { 5, 5, 5, 5 }, { 6, 6, 6, 6 }, 1 << 13, true, false, 0 },
		  false },
		{ "his container",
		  { 1, { 5, 5, 5, 5 }, { 6, 6, 6, 6 }, ~0ull, true, true, 5 },
		  true },
		{ "a user in it", { 1, { 9, 9, 9, 9 }, { 9, 9, 9, 9 }, 0, true, true, 5 }, true },
		{ "another's container",
		  { 1, { 5, 5, 5, 5 }, { 6, 6, 6, 6 }, 0, true, true, 7 },
		  false },
		{ "nobody knows whose",
		  { 1, { 5, 5, 5, 5 }, { 6, 6, 6, 6 }, 0, true, true, NOBODY_KNOWN },
		  false },
		{ "not dumpable there",
		  { 1, { 5, 5, 5, 5 }, { 6, 6, 6, 6 }, 0, false, true, 5 },
		  false },
	};
	const struct control_peer peer = { .uid = 5, .gid = 6 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		if (rights_may_trace(&row[i].rights, &peer) != row[i].may)
			fail_msg("row %zu: %s", i, row[i].what);
}

/* A child that waits for the pipe's end; before that it gives up being dumpable, if it is to. */
static pid_t begin_child(bool dumpable, int *ret_end)
{
	int end[2], ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(end), 0);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		close(end[1]);
		if (getuid() == 0 && (setgid(61006) || setuid(61005)))
			_exit(1);
		prctl(PR_SET_DUMPABLE, dumpable);
		(void)!write(ready[1], "", 1);
		_exit((int)read(end[0], &byte, 1));
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(end[0]);
	close(ready[0]);
	close(ready[1]);
	*ret_end = end[1];
	return child;
}

static void end_child(pid_t child, int end)
{
	close(end);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Of living processes; only root can make those of another user. */
static void processes_are_read(void **state)
{
	const struct process_search search = process_search_here();
	const struct control_peer root = { .all = true }, other = { .uid = 61007, .gid = 61006 };
	const bool switched = getuid() == 0;
	const struct control_peer own = { .uid = switched ? 61005 : getuid(),
					  .gid = switched ? 61006 : getgid() };

	(void)state;
	for (int dumpable = 0; dumpable < 2; dumpable++) {
		int end;
		pid_t child = begin_child(dumpable, &end);
		struct rights rights, earlier;
		struct rights_subject subject = { .pid = child };

		assert_int_equal(rights_read(&search, child, &rights), 0);
		assert_int_equal(rights.uid[1], own.uid);
		assert_int_equal(rights.gid[2], own.gid);
		assert_int_equal(rights.dumpable, dumpable);
		assert_false(rights.foreign);
		assert_int_equal(rights.capabilities, 0);
		assert_int_equal(rights_allow(&search, &subject, &own), dumpable);
		assert_false(rights_allow(&search, &subject, &other));
		assert_true(rights_allow(&search, &subject, &root));
		earlier = rights; /* another's when its session began */
		earlier.uid[1] = 0;
		subject.began = &earlier;
		assert_false(rights_allow(&search, &subject, &own));
		assert_true(rights_allow(&search, &subject, &root));
		earlier = rights; /* another process had its id */
		earlier.start_time--;
		assert_false(rights_allow(&search, &subject, &own));
		assert_false(rights_allow(&search, &subject, &root));
		end_child(child, end);
		assert_int_equal(rights_read(&search, child, &rights), -ESRCH);
		subject.began = NULL;
		assert_false(rights_allow(&search, &subject, &root));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table),
		cmocka_unit_test(processes_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
