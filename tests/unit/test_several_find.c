/* SPDX-License-Identifier: MIT */
/*
 * test_several_find.c - processes by name and by unit, in a /proc of our own making: control groups
 * of both versions, nested ones, containers, units of users, memattach's own processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/several/find.h"

static char proc[64], own[96];

static void write_file(pid_t pid, const char *name, const char *text)
{
	char path[160];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

struct process {
	pid_t pid;
	const char *comm, *exe, *cgroup;
	uid_t user;
	bool kernel;
};

/* 20 and 21 are traced; of the end of 21 and 22 nobody is told. */
static int tracer_of(pid_t pid)
{
	return pid == 20 || pid == 21 ? 9 : 0;
}

static int exit_signal_of(pid_t pid)
{
	return pid == 21 || pid == 22 ? 0 : SIGCHLD;
}

static void make_process(const struct process *p)
{
	char path[160], status[300];

	snprintf(path, sizeof(path), "%s/%d", proc, p->pid);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(status, sizeof(status), "%s\n", p->comm);
	write_file(p->pid, "comm", status);
	snprintf(status, sizeof(status), "Name:\t%s\nPPid:\t%d\nTracerPid:\t%d\n"
		 "Uid:\t0\t%u\t0\t0\n%s", p->comm, p->pid - 1, tracer_of(p->pid), p->user,
		 p->kernel ? "" : "VmSize:\t  10 kB\n");
	write_file(p->pid, "status", status);
	snprintf(status, sizeof(status), "%d (a ) b) t 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 "
		 "0 2829 2588672 223 18446744073709551615 1 1 1 0 0 0 0 0 0 1 0 0 %d 0 0\n",
		 p->pid, exit_signal_of(p->pid));
	write_file(p->pid, "stat", status);
	write_file(p->pid, "cgroup", p->cgroup);
	snprintf(path, sizeof(path), "%s/%d/exe", proc, p->pid);
	assert_int_equal(p->kernel ? 0 : symlink(p->exe, path), 0);
}

static int begin(void **state)
{
	const struct process process[] = {
		{ 1, "systemd", "/sbin/init", "0::/init.scope\n", 0, false },
		{ 2, "nginx", NULL, "0::/\n", 0, true },
		{ 10, "nginx", "/usr/sbin/nginx", "0::/system.slice/nginx.service\n", 0, false },
		{ 11, "nginx", "/usr/sbin/nginx (deleted)",
		  "0::/system.slice/nginx.service/w\n", 33, false },
		{ 12, "worker", "/usr/sbin/nginx", "3:cpu:/x\n1:name=systemd:/system.slice/"
		  "nginx.service\n", 33, false },
		{ 13, "other", "/usr/sbin/nginxd", "0::/system.slice/xnginx.service\n", 33, false },
		{ 14, "nginx", own, "0::/system.slice/nginx.service\n", 0, false },
		{ 15, "sh", "/bin/sh", "0::/user.slice/user-33.slice/user@33.service/app.slice/"
		  "nginx.service\n", 33, false },
		{ 16, "sh", "/bin/sh", "0::/machine.slice/c1.service/system.slice/nginx.service\n",
		  0, false },
		{ 17, "sh", "/bin/sh", "5:cpu:/system.slice/nginx.service\n0::/\n", 0, false },
		{ 18, "sh", "/bin/sh", "9:name=systemd:/\n5:cpu:/x\n0::/hybrid.service\n", 0,
		  false },
		{ 19, "sh", "/bin/sh", "9:name=systemd:/hybrid.service\n0::/\n", 0, false },
		{ 20, "copied", "/bin/copied", "0::/c.service\n", 0, false },
		{ 21, "copied", "/bin/copied", "0::/c.service\n", 0, false },
		{ 22, "copied", "/bin/copied", "0::/c.service\n", 0, false },
	};
	FILE *file;

	(void)state;
	strcpy(proc, "/tmp/memattach-proc.XXXXXX");
	if (!mkdtemp(proc))
		return -1;
	snprintf(own, sizeof(own), "%s/memattach", proc);
	file = fopen(own, "w");
	fclose(file);
	for (size_t i = 0; i < ARRAY_SIZE(process); i++)
		make_process(&process[i]);
	return 0;
}

static int end(void **state)
{
	char command[120];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", proc);
	return system(command) ? -1 : 0;
}

static void found(int count, const struct process_set *set, const char *wanted)
{
	char text[200] = "";

	for (size_t i = 0; i < set->count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d ", set->pid[i]);
	assert_string_equal(text, wanted);
	assert_int_equal(count, (int)set->count);
}

static void by_name(const char *name, uid_t user, const char *wanted)
{
	const struct process_search search = { proc, own, user };
	struct process_set set = { 0 };
	int count = process_find_name(&search, name, &set);

	found(count, &set, wanted);
	process_set_done(&set);
}

static void by_unit(const char *unit, uid_t user, const char *wanted)
{
	const struct process_search search = { proc, own, user };
	struct process_set set = { 0 };
	int count = process_find_unit(&search, unit, &set);

	found(count, &set, wanted);
	process_set_done(&set);
}

static void names_are_of_the_command_or_the_file(void **state)
{
	(void)state;
	by_name("nginx", 0, "10 11 12 ");	/* no kernel thread, not memattach itself */
	by_name("worker", 0, "12 ");
	by_name("nginxd", 0, "13 ");
	by_name("ngin", 0, "");
	by_name("nginx", 33, "11 12 ");		/* only one's own */
	by_name("nginx", 99, "");
}

static void units_are_control_groups(void **state)
{
	(void)state;
	by_unit("nginx.service", 0, "10 11 12 ");
	by_unit("nginx", 0, "10 11 12 ");
	by_unit("nginx", 33, "11 12 15 ");	/* the system's and this user's */
	by_unit("system.slice", 0, "10 11 12 13 ");
	by_unit("user@33.service", 0, "15 ");
	by_unit("w", 0, "");			/* nested, but no unit */
	by_unit("nginx.scope", 0, "");
	by_unit("hybrid", 0, "18 19 ");		/* both versions: the one that has it */
}

/* In a container that sees the host's groups, units begin where its systemd does. */
static void a_container_has_its_own_root(void **state)
{
	(void)state;
	write_file(1, "cgroup", "0::/machine.slice/c1.service/init.scope\n");
	by_unit("nginx", 0, "16 ");
	write_file(1, "cgroup", "0::/init.scope\n");
}

static void paths(void **state)
{
	static const struct {
		const char *path, *root, *unit;
		uid_t user;
		bool holds;
	} row[] = {
		{ "/a.service", "", "a.service", 0, true },
		{ "a.service", "", "a.service", 0, true },
		{ "//x.slice//a.service/", "", "a.service", 0, true },
		{ "/a.service2", "", "a.service", 0, false },
		{ "/b.service/a.service", "", "a.service", 0, false },
		{ "/slice/a.service", "", "a.service", 0, false },
		{ "/.slice/a.service", "", "a.service", 0, false },
		{ "/x/a.service", "/x", "a.service", 0, true },
		{ "/a.service", "/x", "a.service", 0, false },
		{ "/", "", "a.service", 0, false },
		{ "", "", "a.service", 0, false },
		{ "/user@5.service/a.service", "", "a.service", 5, true },
		{ "/user@5.service/a.service", "", "a.service", 6, false },
		{ "/user@5.service", "", "a.service", 5, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		if (process_unit_holds(row[i].path, row[i].root, row[i].unit, row[i].user) !=
		    row[i].holds)
			fail_msg("row %zu: %s", i, row[i].path);
}

static void sets_are_sorted_and_have_each_once(void **state)
{
	static const pid_t pid[] = { 5, 1, 9, 5, 7, 1, 2 };
	struct process_set set = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pid); i++)
		assert_int_equal(process_set_add(&set, pid[i]), 0);
	found(5, &set, "1 2 5 7 9 ");
	assert_true(process_set_has(&set, 7));
	assert_false(process_set_has(&set, 3));
	assert_false(process_set_has(&set, 10));
	process_set_done(&set);
}

static void a_copy_is_nobodys_target(void **state)
{
	const struct process_search search = { proc, own, 0 };

	(void)state;
	by_name("copied", 0, "20 22 ");		/* 21: traced, and its end is told to nobody */
	by_unit("c", 0, "20 22 ");
	assert_true(process_is_picture(&search, 21));
	assert_false(process_is_picture(&search, 4242));
}

static void what_is_gone_is_nothing(void **state)
{
	const struct process_search search = { proc, own, 0 };
	const struct process_search nowhere = { "/nonexistent", own, 0 };
	struct process_set set = { 0 };

	(void)state;
	assert_int_equal(process_parent(&search, 12), 11);
	assert_int_equal(process_parent(&search, 4242), 0);
	assert_string_equal(process_name(&search, 12).text, "worker");
	assert_string_equal(process_name(&search, 4242).text, "");
	assert_int_equal(process_find_name(&nowhere, "x", &set), -ENOENT);
	assert_int_equal(process_find_all(&search, &set), 0);
	assert_int_equal(set.count, 15);
	process_set_done(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_of_the_command_or_the_file),
		cmocka_unit_test(units_are_control_groups),
		cmocka_unit_test(a_container_has_its_own_root),
		cmocka_unit_test(paths),
		cmocka_unit_test(sets_are_sorted_and_have_each_once),
		cmocka_unit_test(a_copy_is_nobodys_target),
		cmocka_unit_test(what_is_gone_is_nothing),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
