/* SPDX-License-Identifier: MIT */
/* test_priority.c - after a stop the process's scheduling is what it was, whatever that was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/tracee/priority.h"

/* All that sched_getattr(2) tells, in words. */
struct scheduling {
	uint32_t word[14];
};

static struct scheduling scheduling_now(void)
{
	struct scheduling s = { { 0 } };

	(void)!syscall(SYS_sched_getattr, 0, &s, sizeof(s), 0);
	return s;
}

enum { SAME, CHANGED, NOT_RAISED, NOT_ALLOWED };

/* In a child: raises (twice, as stops nest) and restores. */
static int check_in_child(int policy, int priority, int nice, bool real_time)
{
	struct sched_param parameter = { .sched_priority = priority };
	struct scheduling before, after;
	int during;

	if (sched_setscheduler(0, policy, &parameter) || setpriority(PRIO_PROCESS, 0, nice))
		return NOT_ALLOWED;
	before = scheduling_now();
	priority_raise();
	priority_raise();
	during = sched_getscheduler(0);
	priority_restore();
	if (sched_getscheduler(0) != during)
		return CHANGED;
	priority_restore();
	after = scheduling_now();
	if (!real_time && (during & ~SCHED_RESET_ON_FORK) != SCHED_FIFO)
		return NOT_ALLOWED;
	if (real_time && during != policy)
		return NOT_RAISED;
	return memcmp(&before, &after, sizeof(before)) == 0 ? SAME : CHANGED;
}

static void expect_same(int policy, int priority, int nice)
{
	int plain = policy & ~SCHED_RESET_ON_FORK, status = -1;
	bool real_time = plain == SCHED_FIFO || plain == SCHED_RR;
	pid_t child = fork();

	if (child == 0)
		_exit(check_in_child(policy, priority, nice, real_time));
	assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	if (WEXITSTATUS(status) == NOT_ALLOWED)
		skip();
	assert_int_equal(WEXITSTATUS(status), SAME);
}

static void ordinary_ones_are_put_back(void **state)
{
	(void)state;
	expect_same(SCHED_OTHER, 0, 0);
	expect_same(SCHED_OTHER, 0, 7);
	expect_same(SCHED_BATCH, 0, 3);
	expect_same(SCHED_IDLE, 0, 0);
}

static void the_flag_for_children_is_put_back(void **state)
{
	(void)state;
	expect_same(SCHED_OTHER | SCHED_RESET_ON_FORK, 0, 2);
	expect_same(SCHED_BATCH | SCHED_RESET_ON_FORK, 0, 0);
}

/* What has a higher one already keeps it. */
static void real_time_stays(void **state)
{
	(void)state;
	expect_same(SCHED_RR, 5, 0);
	expect_same(SCHED_FIFO, 9, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_ones_are_put_back),
		cmocka_unit_test(the_flag_for_children_is_put_back),
		cmocka_unit_test(real_time_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
