/* SPDX-License-Identifier: MIT */
/* test_preflight.c - what kind of process, and in what state, is refused. */
#include "tests/unit/preflight_child.h"

#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

static void allow_ordinary_target(void **state)
{
	struct preflight_report report;
	struct child child;

	(void)state;
	child_begin(&child, NULL, true);
	expect(&child, PREFLIGHT_OK);
	assert_int_equal(preflight_check(&child.ref, &ordinary, &report), 0);
	assert_int_equal(report.threads, 1);
	assert_int_equal(report.needs_filter_check, prctl(PR_GET_SECCOMP) != 0);
	assert_false(report.attached);
	child_end(&child);
}

/* Blocked in read, it must not have been put on a CPU by being looked at. */
static void check_touches_nothing(void **state)
{
	uint64_t before, after;
	struct child child;

	(void)state;
	child_begin(&child, NULL, true);
	assert_int_equal(proc_read_run_count(child.pid, child.pid, &before), 0);
	expect(&child, PREFLIGHT_OK);
	assert_int_equal(proc_read_run_count(child.pid, child.pid, &after), 0);
	assert_int_equal(before, after);
	child_end(&child);
}

static void refuse_no_such_process(void **state)
{
	struct preflight_report report;
	struct pidref ref = PIDREF_NONE;

	(void)state;
	assert_int_equal(preflight_open(0x7ffffff0, &ref, &report), -ESRCH);
	assert_int_equal(report.code, PREFLIGHT_NO_SUCH_PROCESS);
	assert_string_equal(report.reason, "there is no process 2147483632");
	assert_int_equal(preflight_open(-5, &ref, &report), -ESRCH);
	assert_int_equal(report.code, PREFLIGHT_NO_SUCH_PROCESS);
	assert_int_equal(preflight_open(getpid(), &ref, &report), 0);
	pidref_done(&ref);
}

/* The reference outlives its process, and the number may be anybody's. */
static void refuse_ended_meanwhile(void **state)
{
	struct child child;
	struct pidref ref;

	(void)state;
	child_begin(&child, NULL, true);
	ref = child.ref;
	ref.fd = dup(ref.fd);
	child_end(&child);
	child.ref = ref;
	expect(&child, PREFLIGHT_NO_SUCH_PROCESS);
	pidref_done(&ref);
}

static void *report_tid(void *argument)
{
	int *fd = argument;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	char byte;

	if (write(fd[1], &tid, sizeof(tid)) != sizeof(tid) || read(fd[2], &byte, 1) < 0)
		abort();
	return NULL;
}

static void refuse_thread_id(void **state)
{
	struct preflight_report report;
	struct pidref ref = PIDREF_NONE;
	char expected[64];
	int up[2], down[2], fd[3];
	pthread_t thread;
	pid_t tid;

	(void)state;
	assert_int_equal(pipe(up), 0);
	assert_int_equal(pipe(down), 0);
	fd[1] = up[1];
	fd[2] = down[0];
	pthread_create(&thread, NULL, report_tid, fd);
	assert_int_equal(read(up[0], &tid, sizeof(tid)), sizeof(tid));
	assert_int_equal(preflight_open(tid, &ref, &report), -ESRCH);
	assert_int_equal(report.code, PREFLIGHT_THREAD_ID);
	(void)snprintf(expected, sizeof(expected), "use the id of the process: -p %d",
		       (int)getpid());
	assert_string_equal(report.remedy, expected);
	close(down[1]);
	pthread_join(thread, NULL);
	close(down[0]);
	close(up[0]);
	close(up[1]);
}

static void refuse_kernel_thread(void **state)
{
	struct child child = { .pid = 2 };
	struct proc_thread_status status;

	(void)state;
	if (proc_read_status(2, &status) != 0 || strcmp(status.name, "kthreadd") != 0)
		skip();
	assert_int_equal(pidref_open(2, &child.ref), 0);
	expect(&child, PREFLIGHT_KERNEL_THREAD);
	pidref_done(&child.ref);
}

static void refuse_zombie(void **state)
{
	struct child child;
	siginfo_t info;

	(void)state;
	child_begin(&child, NULL, true);
	close(child.go);
	assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
	expect(&child, PREFLIGHT_ZOMBIE);
	child.go = -1;
	child_end(&child);
}

static void refuse_self_and_ancestors(void **state)
{
	struct child me = { .pid = getpid() }, parent = { .pid = getppid() }, child;
	pid_t own[1];

	(void)state;
	assert_int_equal(pidref_open(me.pid, &me.ref), 0);
	expect(&me, PREFLIGHT_SELF);
	pidref_done(&me.ref);
	if (parent.pid != 0) {
		assert_int_equal(pidref_open(parent.pid, &parent.ref), 0);
		expect(&parent, PREFLIGHT_SELF);
		pidref_done(&parent.ref);
	}
	child_begin(&child, NULL, true);
	own[0] = child.pid;
	expect_with(&child, &(struct preflight_options){ .own = own, .own_count = 1 },
		    PREFLIGHT_SELF);
	child_end(&child);
}

static pid_t traced_pid;

static bool trace_other(void)
{
	prctl(PR_SET_NAME, "my\033tracer", 0, 0, 0);
	return ptrace(PTRACE_SEIZE, traced_pid, NULL, NULL) == 0;
}

static void refuse_traced(void **state)
{
	struct child child, tracer;
	struct preflight_report report;

	(void)state;
	child_begin(&child, NULL, true);
	traced_pid = child.pid;
	child_begin(&tracer, trace_other, false);
	expect(&child, PREFLIGHT_TRACED);
	assert_int_equal(preflight_check(&child.ref, &ordinary, &report), 0);
	/* By name, and the name may not reach a terminal as it is. */
	assert_non_null(strstr(report.reason, "(my?tracer)"));
	child_end(&tracer);
	expect(&child, PREFLIGHT_OK);
	child_end(&child);
}

static void refuse_stopped(void **state)
{
	struct child child;
	int status;

	(void)state;
	child_begin(&child, NULL, true);
	kill(child.pid, SIGSTOP);
	assert_int_equal(waitpid(child.pid, &status, WUNTRACED), child.pid);
	expect(&child, PREFLIGHT_STOPPED);
	kill(child.pid, SIGCONT);
	assert_int_equal(waitpid(child.pid, &status, WCONTINUED), child.pid);
	expect(&child, PREFLIGHT_OK);
	child_end(&child);
}

/* The smallest i386 program: for (;;) pause(); */
static int open_elf32(void)
{
	static const unsigned char code[] = { 0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7 };
	const uint32_t base = 0x08048000, start = sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr);
	const Elf32_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_386,
		.e_version = EV_CURRENT,
		.e_entry = base + start,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = 1,
	};
	const Elf32_Phdr load = {
		.p_type = PT_LOAD,
		.p_vaddr = base,
		.p_filesz = start + sizeof(code),
		.p_memsz = start + sizeof(code),
		.p_flags = PF_R | PF_X,
		.p_align = 4096,
	};
	int fd = memfd_create("elf32", MFD_CLOEXEC);

	if (write(fd, &header, sizeof(header)) != sizeof(header) ||
	    write(fd, &load, sizeof(load)) != sizeof(load) ||
	    write(fd, code, sizeof(code)) != sizeof(code))
		return -1;
	return fd;
}

static bool become_elf32(void)
{
	char *const none[] = { NULL };

	fexecve(open_elf32(), none, none);
	return false;
}

/* Has it come to its pause(), or ended on the way? */
static bool is_waiting(pid_t pid)
{
	struct proc_thread_status status;

	for (int i = 0; i < 5000; i++) {
		if (proc_read_status(pid, &status) != 0 || status.state == 'Z')
			return false;
		if (status.state == 'S')
			return true;
		usleep(1000);
	}
	return false;
}

static void refuse_32_bit(void **state)
{
	struct child child;

	(void)state;
	child_begin(&child, become_elf32, false);
	if (!is_waiting(child.pid)) {	/* this kernel runs none */
		child_end(&child);
		skip();
	}
	expect(&child, PREFLIGHT_ARCHITECTURE);
	kill(child.pid, SIGKILL);
	child_end(&child);
}

static bool map_code_named(const char *name)
{
	char path[] = "/tmp/preflight-XXXXXX", file[64];
	int fd;
	void *map;

	if (!mkdtemp(path))
		return false;
	(void)snprintf(file, sizeof(file), "%s/%s", path, name);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return false;
	map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	unlink(file);
	rmdir(path);
	return map != MAP_FAILED;
}

static bool map_libasan(void)
{
	return map_code_named("libasan.so.8");
}

static bool map_valgrind(void)
{
	return map_code_named("vgpreload_core-amd64-linux.so");
}

static bool map_asan_shadow(void)
{
	void *wanted = (void *)0x7fff7000;

	return instrumented() ||
	       mmap(wanted, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		    0) == wanted;
}

static void refuse_instrumented(void **state)
{
	(void)state;
	check_target(map_libasan, false, PREFLIGHT_INSTRUMENTED);
	check_target(map_valgrind, false, PREFLIGHT_INSTRUMENTED);
	check_target(map_asan_shadow, false, PREFLIGHT_INSTRUMENTED);
}

/* What the Go runtime does first, in a program or a library. */
static bool map_go_arena(void)
{
	void *wanted = (void *)0xc000000000;

	return mmap(wanted, 4 << 20, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == wanted;
}

static void refuse_go(void **state)
{
	const struct preflight_options cleanup = { .expect_attached = true };
	struct child child;

	(void)state;
	if (instrumented())
		skip();
	child_begin(&child, map_go_arena, false);
	expect(&child, PREFLIGHT_GO);
	expect_with(&child, &cleanup, PREFLIGHT_OK);
	child_end(&child);
}

static bool preload_libasan(void)
{
	static const char library[] = "/usr/lib/x86_64-linux-gnu/libasan.so.8";

	return access(library, R_OK) == 0 && setenv("LD_PRELOAD", library, 1) == 0;
}

static void refuse_preloaded_sanitizer(void **state)
{
	struct child child;

	(void)state;
	child_begin(&child, preload_libasan, true);
	expect(&child, PREFLIGHT_INSTRUMENTED);
	child_end(&child);
}

static bool enter_strict_seccomp(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0;
}

static void refuse_strict_seccomp(void **state)
{
	struct child child;

	(void)state;
	if (prctl(PR_GET_SECCOMP))	/* in a filter there is no way into the strict mode */
		skip();
	child_begin(&child, enter_strict_seccomp, false);
	expect(&child, PREFLIGHT_SECCOMP_STRICT);
	kill(child.pid, SIGKILL);
	child_end(&child);
}

static bool install_filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* Whether a filter is in the way can only be seen by a tracer: noted, not refused. */
static void note_seccomp_filter(void **state)
{
	struct preflight_report report;
	struct child child;

	(void)state;
	child_begin(&child, install_filter, true);
	assert_int_equal(preflight_check(&child.ref, &ordinary, &report), 0);
	assert_int_equal(report.code, PREFLIGHT_OK);
	assert_true(report.needs_filter_check);
	child_end(&child);
}

static bool map_ring(void)
{
	_cleanup_fd_ int fd = memfd_create("memattach-ring", MFD_CLOEXEC);

	return ftruncate(fd, 65536) == 0 &&
	       mmap(NULL, 65536, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED;
}

static void refuse_attached(void **state)
{
	const struct preflight_options cleanup = { .expect_attached = true };
	struct preflight_report report;
	struct child child;
	char expected[64];

	(void)state;
	if (instrumented())
		skip();
	child_begin(&child, map_ring, false);
	expect(&child, PREFLIGHT_ATTACHED);
	assert_int_equal(preflight_check(&child.ref, &ordinary, &report), 0);
	(void)snprintf(expected, sizeof(expected), "memattach cleanup -p %d", (int)child.pid);
	assert_non_null(strstr(report.remedy, expected));
	expect_with(&child, &cleanup, PREFLIGHT_OK);
	assert_int_equal(preflight_check(&child.ref, &cleanup, &report), 0);
	assert_true(report.attached);
	child_end(&child);
}

static void refuse_vfork(void **state)
{
	struct child child;
	int ready[2], input[2];
	char byte;

	(void)state;
	if (instrumented())
		skip();
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	child.pid = fork();
	if (child.pid == 0) {
		close(input[1]);
		if (vfork() == 0) {
			if (write(ready[1], "x", 1) == 1 && read(input[0], &byte, 1) == 0)
				_exit(0);
			_exit(1);
		}
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(pidref_open(child.pid, &child.ref), 0);
	expect(&child, PREFLIGHT_VFORK);
	child.go = input[1];
	child_end(&child);
	close(input[0]);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allow_ordinary_target),
		cmocka_unit_test(check_touches_nothing),
		cmocka_unit_test(refuse_no_such_process),
		cmocka_unit_test(refuse_ended_meanwhile),
		cmocka_unit_test(refuse_thread_id),
		cmocka_unit_test(refuse_kernel_thread),
		cmocka_unit_test(refuse_zombie),
		cmocka_unit_test(refuse_self_and_ancestors),
		cmocka_unit_test(refuse_traced),
		cmocka_unit_test(refuse_stopped),
		cmocka_unit_test(refuse_32_bit),
		cmocka_unit_test(refuse_instrumented),
		cmocka_unit_test(refuse_go),
		cmocka_unit_test(refuse_preloaded_sanitizer),
		cmocka_unit_test(refuse_strict_seccomp),
		cmocka_unit_test(note_seccomp_filter),
		cmocka_unit_test(refuse_attached),
		cmocka_unit_test(refuse_vfork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
