/* SPDX-License-Identifier: MIT */
/* test_roster.c - which rule means a process, and when it is whose turn. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/daemon/roster.h"
#include "src/daemon/settings_private.h"

/* --- rules ---------------------------------------------------------------- */

static struct settings settings;
static struct matcher matcher = { .settings = &settings, .root = "" };

static struct watch_rule *rule_with(const char *name, enum rule_fact fact, const char *text)
{
	struct watch_rule *rule = settings_rule_add(&settings, name, "file", 1);

	assert_non_null(rule);
	assert_int_equal(settings_list_add(&rule->wanted[fact], text), 0);
	return rule;
}

static void also(struct text_list *list, const char *text)
{
	assert_int_equal(settings_list_add(list, text), 0);
}

static int begin_rules(void **state)
{
	(void)state;
	settings_init(&settings);
	return 0;
}

static int end_rules(void **state)
{
	(void)state;
	settings_done(&settings);
	return 0;
}

/* The facts of a made-up process. */
static const char *meant(const char *name, const char *executable, const char *cgroup, uid_t user)
{
	struct process_facts facts = { .pid = getpid(), .user = user };
	const struct watch_rule *rule;

	(void)snprintf(facts.name, sizeof(facts.name), "%s", name);
	(void)snprintf(facts.executable, sizeof(facts.executable), "%s", executable);
	(void)snprintf(facts.cgroup, sizeof(facts.cgroup), "%s", cgroup);
	rule = match_find(&matcher, &facts);
	return rule ? rule->name : "";
}

static void know_by_one_fact(void **state)
{
	char path[] = "/tmp/memattach-pid.XXXXXX", number[32];
	int fd = mkstemp(path), length = snprintf(number, sizeof(number), "%d\n", getpid());

	(void)state;
	assert_int_equal(write(fd, number, (size_t)length), length);
	(void)close(fd);
	rule_with("unit", RULE_UNIT, "redis-server");
	rule_with("group", RULE_CGROUP, "/batch.slice/*.scope");
	rule_with("exe", RULE_EXE, "/usr/lib/postgresql/*/bin/postgres");
	rule_with("name", RULE_NAME, "nginx");
	rule_with("user", RULE_USER, "4711");
	rule_with("root", RULE_USER, "root");
	assert_string_equal(meant("r", "/r", "/system.slice/redis-server.service", 1), "unit");
	assert_string_equal(meant("r", "/r", "/system.slice/redis-server.service/x", 1), "unit");
	assert_string_equal(meant("r", "/r", "/system.slice/xredis-server.service", 1), "");
	assert_string_equal(meant("r", "/r", "/batch.slice/a.scope", 1), "group");
	assert_string_equal(meant("r", "/r", "/batch.slice/a.scope/deeper", 1), "group");
	assert_string_equal(meant("r", "/r", "/batch.slice/sub.slice/a.scope", 1), "");
	assert_string_equal(meant("r", "/usr/lib/postgresql/15/bin/postgres", "/", 1), "exe");
	assert_string_equal(meant("r", "/usr/lib/postgresql/15/x/bin/postgres", "/", 1), "");
	assert_string_equal(meant("nginx", "/r", "/", 1), "name");
	assert_string_equal(meant("worker", "/usr/sbin/nginx", "/", 1), "name");
	assert_string_equal(meant("r", "/r", "/", 4711), "user");
	assert_string_equal(meant("r", "/r", "/", 0), "root");
	assert_string_equal(meant("r", "", "", 1), "");
	rule_with("file", RULE_PID_FILE, path);
	assert_string_equal(meant("r", "/r", "/", 1), "file");
	assert_int_equal(unlink(path), 0);
	assert_string_equal(meant("r", "/r", "/", 1), "");
}

/* Any of a kind, all kinds, nothing that is excluded; the first rule of several. */
static void put_facts_together(void **state)
{
	struct watch_rule *rule = rule_with("both", RULE_NAME, "a");

	(void)state;
	also(&rule->wanted[RULE_NAME], "b");
	also(&rule->wanted[RULE_USER], "7");
	also(&rule->excluded[RULE_CGROUP], "/test.slice");
	rule_with("rest", RULE_NAME, "b");
	assert_string_equal(meant("a", "/r", "/x", 7), "both");
	assert_string_equal(meant("b", "/r", "/x", 7), "both");
	assert_string_equal(meant("a", "/r", "/x", 8), "");
	assert_string_equal(meant("b", "/r", "/x", 8), "rest");
	assert_string_equal(meant("a", "/r", "/test.slice/t.scope", 7), "");
	assert_string_equal(meant("b", "/r", "/test.slice/t.scope", 7), "rest");
}

/* --- processes ------------------------------------------------------------ */

/* A child called name that waits to be killed. */
static pid_t child(const char *name)
{
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_NAME, name);
		(void)!write(ready[1], "", 1);
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Children of this test run its very program; elsewhere such are memattach's own. */
static const struct process_search search = { .proc = "/proc", .self = "/bin/sh", .user = 0 };

static void wait_for_their_turn(void **state)
{
	struct watch_rule *rule = rule_with("r", RULE_NAME, "memattach-kid");
	struct roster roster = { .random = 1 };
	struct roster_process *process;
	pid_t pid = child("memattach-kid"), other = child("memattach-not");
	double now = roster_now();

	(void)state;
	rule->watch.attach_after = 100;
	rule->watch.spread = 10;
	assert_int_equal(roster_look(&roster, &search, &matcher, now), 0);
	assert_int_equal(roster_find(&roster, other)->state, ROSTER_UNMEANT);
	process = roster_find(&roster, pid);
	assert_int_equal(process->state, ROSTER_WAITING);
	assert_true(process->due > now + 90 && process->due < now + 111);
	assert_true(roster_next(&roster) == process->due);
	assert_null(roster_due(&roster, now));
	assert_ptr_equal(roster_due(&roster, process->due), process);
	/* Another look changes nothing; who is watched is left in peace, also once it has ended. */
	now = process->due;
	assert_int_equal(roster_ask_again(&roster, &search, &matcher, now), 0);
	assert_true(roster_find(&roster, pid)->due == now);
	roster_find(&roster, pid)->state = ROSTER_WATCHED;
	end(pid);
	end(other);
	assert_int_equal(roster_ask_again(&roster, &search, &matcher, now), 0);
	assert_null(roster_find(&roster, other));
	process = roster_find(&roster, pid);
	assert_int_equal(process->state, ROSTER_WATCHED);
	assert_true(isinf(roster_next(&roster)));
	roster_ended(process, false, 1, now);
	assert_int_equal(roster_look(&roster, &search, &matcher, now), 0);
	assert_null(roster_find(&roster, pid));
	roster_done(&roster);
}

static void back_off_when_refused(void **state)
{
	static const double factor[] = { 1, 2, 4, 8, 16, 16, 16 };
	struct watch_rule *rule = rule_with("r", RULE_NAME, "memattach-kid");
	struct roster roster = { .random = 1 };
	pid_t pid = child("memattach-kid");
	double now = roster_now();
	struct roster_process *process;

	(void)state;
	rule->watch.attach_after = rule->watch.spread = 0;
	assert_int_equal(roster_look(&roster, &search, &matcher, now), 0);
	for (size_t i = 0; i < ARRAY_SIZE(factor); i++) {
		process = roster_due(&roster, now);
		assert_non_null(process);
		process->state = ROSTER_WATCHED;
		roster_ended(process, true, 30, now);
		assert_true(fabs(process->due - now - 30 * factor[i]) < 1e-6);
		assert_null(roster_due(&roster, now + 30 * factor[i] - 1));
		now = process->due;
	}
	/* What ended in order is asked about anew: it may be another program now. */
	process = roster_due(&roster, now);
	process->state = ROSTER_WATCHED;
	roster_ended(process, false, 30, now);
	assert_null(roster_due(&roster, now));
	assert_int_equal(roster_look(&roster, &search, &matcher, now), 0);
	assert_non_null(roster_due(&roster, now));
	assert_int_equal(roster_due(&roster, now)->refusals, 0);
	end(pid);
	roster_done(&roster);
}

/* Whom the kernel tells of is looked at a second later, and only who is still there. */
static void look_at_noted_ones(void **state)
{
	struct roster roster = { .random = 1 };
	pid_t pid = child("memattach-kid"), gone = child("memattach-kid");
	double now = roster_now();
	int error = 0;

	(void)state;
	rule_with("r", RULE_NAME, "memattach-kid");
	assert_int_equal(roster_note(&roster, gone, now), 0);
	assert_int_equal(roster_note(&roster, pid, now + 0.5), 0);
	assert_true(roster_next(&roster) == now + 1);
	end(gone);
	assert_int_equal(roster_look_at_noted(&roster, &search, &matcher, now + 0.9), 0);
	assert_int_equal(roster.count, 0);
	assert_int_equal(roster_look_at_noted(&roster, &search, &matcher, now + 1.2), 0);
	assert_int_equal(roster.count, 0);
	assert_int_equal(roster_look_at_noted(&roster, &search, &matcher, now + 1.6), 0);
	assert_int_equal(roster.count, 1);
	assert_int_equal(roster_find(&roster, pid)->state, ROSTER_WAITING);
	for (unsigned int i = 0; i < 100000 && !error; i++)
		error = roster_note(&roster, pid, now);
	assert_int_equal(error, -ENOBUFS);
	assert_int_equal(roster_ask_again(&roster, &search, &matcher, now), 0);
	assert_int_equal(roster.notes, 0);
	end(pid);
	roster_done(&roster);
}

/* Who is held is left alone by every look, also after its session, until that is taken back. */
static void hold_by_hand(void **state)
{
	struct roster roster = { .random = 1 };
	pid_t pid = child("memattach-kid");
	struct roster_process *process;
	double now = roster_now();

	(void)state;
	rule_with("r", RULE_NAME, "memattach-kid");
	assert_int_equal(roster_ask_again(&roster, &search, &matcher, now), 0);
	assert_int_equal(roster_find(&roster, pid)->state, ROSTER_WAITING);
	assert_int_equal(roster_know(&roster, pid, &process), 0);
	assert_ptr_equal(process, roster_find(&roster, pid));
	assert_int_equal(process->state, ROSTER_WAITING);
	roster_hold(process);
	assert_null(roster_due(&roster, now + 1e6));
	assert_int_equal(roster_ask_again(&roster, &search, &matcher, now), 0);
	assert_null(roster_due(&roster, now + 1e6));
	process = roster_find(&roster, pid);
	process->state = ROSTER_WATCHED;
	roster_ended(process, false, 1, now);
	assert_int_equal(roster_look(&roster, &search, &matcher, now), 0);
	assert_null(roster_due(&roster, now + 1e6));
	roster_unhold(roster_find(&roster, pid));
	assert_int_equal(roster_ask_again(&roster, &search, &matcher, now), 0);
	assert_ptr_equal(roster_due(&roster, now + 1e6), roster_find(&roster, pid));
	end(pid);
	assert_int_equal(roster_know(&roster, pid, &process), -ESRCH);
	roster_done(&roster);
}

/* Other rules, and no look that succeeded since: nobody is due by one that is not there. */
static void follow_rules_by_name(void **state)
{
	struct roster_process process[] = {
		{ .pid = 1, .state = ROSTER_WAITING, .due = 5, .rule = 1, .refusals = 1 },
		{ .pid = 2, .state = ROSTER_WAITING, .due = 6, .rule = 0, .refusals = 1 },
		{ .pid = 3, .state = ROSTER_WATCHED, .rule = 1 },
		{ .pid = 4, .state = ROSTER_WAITING, .due = 7, .rule = 1 },
	};
	char a[] = "a", b[] = "b";
	struct watch_rule rule[] = { { .name = a }, { .name = b } };
	const struct settings both = { .rule = rule, .rules = 2 }, none = { .rules = 0 };
	const struct settings only_b = { .rule = &rule[1], .rules = 1 };
	struct roster roster = { .process = process, .count = ARRAY_SIZE(process) };

	(void)state;
	assert_ptr_equal(roster_due(&roster, 10), &process[0]);
	roster_rules_changed(&roster, &both, &only_b);
	assert_ptr_equal(roster_due(&roster, 10), &process[0]);	/* refused: it waits on */
	assert_int_equal(process[0].rule, 0);
	assert_int_equal(process[1].state, ROSTER_UNMEANT);
	assert_int_equal(process[2].state, ROSTER_WATCHED);	/* its rule stands there, too */
	assert_int_equal(process[2].rule, 0);
	assert_int_equal(process[3].state, ROSTER_UNMEANT);	/* when it is due is asked anew */
	roster_rules_changed(&roster, &only_b, &none);
	assert_null(roster_due(&roster, 10));
	roster_rules_changed(&roster, &none, &both);
	assert_null(roster_due(&roster, 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(know_by_one_fact, begin_rules, end_rules),
		cmocka_unit_test_setup_teardown(put_facts_together, begin_rules, end_rules),
		cmocka_unit_test_setup_teardown(wait_for_their_turn, begin_rules, end_rules),
		cmocka_unit_test_setup_teardown(back_off_when_refused, begin_rules, end_rules),
		cmocka_unit_test_setup_teardown(look_at_noted_ones, begin_rules, end_rules),
		cmocka_unit_test_setup_teardown(hold_by_hand, begin_rules, end_rules),
		cmocka_unit_test(follow_rules_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
