/* SPDX-License-Identifier: MIT */
/* test_preflight_limits.c - refusals for want of memory and of rights. */
#include "tests/unit/preflight_child.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static bool limit_address_space(void)
{
	const struct rlimit limit = { 40 * MIB, 40 * MIB };

	return setrlimit(RLIMIT_AS, &limit) == 0;
}

static void refuse_address_space_limit(void **state)
{
	const struct preflight_options large = { .memory_bytes = 38 * MIB };
	struct child child;

	(void)state;
	child_begin(&child, limit_address_space, true);
	expect_with(&child, &large, PREFLIGHT_MEMORY);
	expect_with(&child, &(struct preflight_options){ .memory_bytes = 8 * MIB }, PREFLIGHT_OK);
	child_end(&child);
}

static void refuse_machine_too_small(void **state)
{
	struct child child;

	(void)state;
	child_begin(&child, NULL, true);
	expect_with(&child, &(struct preflight_options){ .memory_bytes = 1ull << 50 },
		    PREFLIGHT_MEMORY);
	child_end(&child);
}

static bool map_very_often(void)
{
	uint64_t limit;
	char *area;

	if (proc_read_number("/proc/sys/vm/max_map_count", "", &limit) < 0 || limit > 200000)
		return false;
	area = mmap(NULL, limit * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (uint64_t i = 0; i < limit; i += 2) {
		if (mprotect(area + i * 4096, 4096, PROT_READ) < 0)
			return errno == ENOMEM;
	}
	return true;
}

static void refuse_too_many_mappings(void **state)
{
	(void)state;
	check_target(map_very_often, false, PREFLIGHT_MEMORY);
}

/* Drops to nobody without becoming undumpable, which exec would undo as well. */
static bool become_nobody(void)
{
	return setgid(NOBODY) == 0 && setuid(NOBODY) == 0 &&
	       prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

static bool lock_memory(void)
{
	const struct rlimit limit = { MIB, MIB };
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && become_nobody() &&
	       syscall(SYS_mlock, page, 4096) == 0;
}

static void refuse_locked_memory(void **state)
{
	(void)state;
	check_target(lock_memory, false, PREFLIGHT_LOCKED_MEMORY);
}

/* Of 64 numbers below its limit FREE are free, here and there; many are in use above it. */
enum { FILES = 64, FREE = 9 };

static bool limit_files(void)
{
	const struct rlimit high = { 256, 256 }, limit = { FILES, 256 };

	if (setrlimit(RLIMIT_NOFILE, &high) < 0)
		return false;
	for (int fd = 0; fd < 200;) {
		fd = dup(0);
		if (fd < 0)
			return false;
	}
	for (int i = 0; i < FREE; i++)
		close(i < 4 ? FILES - 1 - i : 5 * i);
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static void refuse_file_limit(void **state)
{
	struct preflight_options some = { .memory_bytes = MIB, .descriptors = FREE };
	struct child child;

	(void)state;
	if (instrumented())
		skip();
	child_begin(&child, limit_files, false);
	expect_with(&child, &some, PREFLIGHT_OK);
	some.descriptors = FREE + 1;
	expect_with(&child, &some, PREFLIGHT_DESCRIPTORS);
	some.descriptors = 0;
	expect_with(&child, &some, PREFLIGHT_OK);
	child_end(&child);
}

/* What another user would be told. */
static void check_as(const struct child *target, bool (*become)(void), struct preflight_report *ret)
{
	struct preflight_report *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (!become())
			_exit(77);
		_exit(preflight_check(&target->ref, &ordinary, shared) < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*ret = *shared;
	munmap(shared, sizeof(*shared));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void refuse_other_user(void **state)
{
	struct preflight_report report;
	struct child child;

	(void)state;
	if (geteuid() != 0)
		skip();
	child_begin(&child, NULL, true);
	check_as(&child, become_nobody, &report);
	assert_string_equal(preflight_code_name(report.code), "no-capability");
	assert_non_null(strstr(report.reason, "belongs to user 0"));
	assert_string_equal(report.remedy, "run memattach with sudo");
	child_end(&child);
}

static bool become_protected_nobody(void)
{
	return become_nobody() && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

static void refuse_undumpable(void **state)
{
	struct preflight_report report;
	struct child child;

	(void)state;
	if (geteuid() != 0)
		skip();
	child_begin(&child, become_protected_nobody, false);
	check_as(&child, become_nobody, &report);
	assert_string_equal(preflight_code_name(report.code), "no-capability");
	assert_non_null(strstr(report.reason, "protected"));
	child_end(&child);
}

/* Allowed among one user's processes, unless yama says otherwise: then with the exact remedy. */
static void own_process_without_privilege(void **state)
{
	struct preflight_report report;
	struct child child;
	uint64_t scope = 0;

	(void)state;
	if (geteuid() != 0)
		skip();
	child_begin(&child, become_nobody, true);
	check_as(&child, become_nobody, &report);
	if (proc_read_number("/proc/sys/kernel/yama/ptrace_scope", "", &scope) == 0 && scope > 0) {
		assert_string_equal(preflight_code_name(report.code), "yama");
		if (scope == 1)
			assert_non_null(strstr(report.remedy, "sysctl kernel.yama.ptrace_scope=0"));
	} else {
		assert_string_equal(preflight_code_name(report.code), "ok");
	}
	child_end(&child);
}

static bool enter_user_namespace(void)
{
	return unshare(CLONE_NEWUSER) == 0;
}

static void refuse_from_user_namespace(void **state)
{
	struct preflight_report report;
	struct child child;

	(void)state;
	child_begin(&child, NULL, true);
	check_as(&child, enter_user_namespace, &report);
	assert_string_equal(preflight_code_name(report.code), "user-namespace");
	child_end(&child);
}

/* Denied although nothing that can be seen forbids it: only a security module is left. */
static void explain_denied_init(void **state)
{
	_cleanup_fd_ int mem = open("/proc/1/mem", O_RDWR | O_CLOEXEC);
	struct preflight_report report;
	struct pidref ref;

	(void)state;
	if (mem >= 0 || (errno != EACCES && errno != EPERM) || pidref_open(1, &ref) < 0)
		skip();
	assert_int_equal(preflight_explain_denied(&ref, &report), 0);
	assert_true(report.code == PREFLIGHT_LSM || report.code == PREFLIGHT_USER_NAMESPACE ||
		    report.code == PREFLIGHT_YAMA || report.code == PREFLIGHT_NO_CAPABILITY);
	assert_true(report.reason[0] && report.remedy[0]);
	pidref_done(&ref);
}

static bool write_text(const char *directory, const char *file, const char *text)
{
	char path[512];
	_cleanup_fd_ int fd = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static void check_in_group(const char *parent, const char *limit_file)
{
	struct child child;
	char group[128], inner[160], pid[32];
	bool ready;

	(void)snprintf(group, sizeof(group), "%s/preflight-test-%d", parent, (int)getpid());
	(void)snprintf(inner, sizeof(inner), "%s/inner", group);
	if (mkdir(group, 0755) < 0 || !write_text(group, limit_file, "12582912")) {
		rmdir(group);
		skip();
	}
	mkdir(inner, 0755);
	child_begin(&child, NULL, true);
	(void)snprintf(pid, sizeof(pid), "%d", (int)child.pid);
	ready = write_text(inner, "cgroup.procs", pid);
	if (ready) {
		/* The limit is the outer group's. */
		expect(&child, PREFLIGHT_MEMORY);
		expect_with(&child, &(struct preflight_options){ .memory_bytes = MIB },
			    PREFLIGHT_OK);
	}
	child_end(&child);
	rmdir(inner);
	rmdir(group);
	if (!ready)
		skip();
}

static void refuse_full_control_group_v1(void **state)
{
	(void)state;
	check_in_group("/sys/fs/cgroup/memory", "memory.limit_in_bytes");
}

static void refuse_full_control_group_v2(void **state)
{
	(void)state;
	check_in_group("/sys/fs/cgroup", "memory.max");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuse_address_space_limit),
		cmocka_unit_test(refuse_machine_too_small),
		cmocka_unit_test(refuse_too_many_mappings),
		cmocka_unit_test(refuse_locked_memory),
		cmocka_unit_test(refuse_file_limit),
		cmocka_unit_test(refuse_other_user),
		cmocka_unit_test(refuse_undumpable),
		cmocka_unit_test(own_process_without_privilege),
		cmocka_unit_test(refuse_from_user_namespace),
		cmocka_unit_test(explain_denied_init),
		cmocka_unit_test(refuse_full_control_group_v1),
		cmocka_unit_test(refuse_full_control_group_v2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
