/* SPDX-License-Identifier: MIT */
/* test_sandbox.c - what is refused to a process in the analyst's sandbox, and what it still may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "src/base/pagemap.h"
#include "src/base/pagemap_scan.h"
#include "src/session/sandbox.h"

#define PAGE 4096ull

/* In a child: which check failed first, 0 none. */
static int in_sandbox(int (*check)(void))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(check());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool is_refused(long result)
{
	return result == -1 && errno == EPERM;
}

static int check_ioctl(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct termios settings;
	char letter = 'x';

	if (sandbox_enter() != 0)
		return 1;
	if (!is_refused(ioctl(null, TIOCSTI, &letter)))
		return 2;
	if (!is_refused(ioctl(null, FIONREAD, &letter)))
		return 3;
	/* the kernel's command has 32 bits: what stands above them is nothing */
	if (!is_refused(syscall(SYS_ioctl, null, 1ull << 32 | TIOCSTI, &letter)))
		return 4;
	if (ioctl(null, TCGETS, &settings) != -1 || errno != ENOTTY)
		return 5;
	return 0;
}

static void of_ioctl_two_questions_are_left(void **state)
{
	(void)state;
	assert_int_equal(in_sandbox(check_ioctl), 0);
}

/* As before: whichever way the kernel has, it has in the sandbox. */
static int check_pagemap(void)
{
	char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	struct pagemap before, after;
	struct pagemap_range range[4];
	uint64_t at = (uintptr_t)p;

	pagemap_init(&before, fd);
	p[2 * PAGE] = 1;
	if (sandbox_enter() != 0)
		return 1;
	pagemap_init(&after, fd);
	if (after.way != before.way || after.way == PAGEMAP_UNKNOWN)
		return 2;
	if (pagemap_next(&after, &at, at + 4 * PAGE, range, 4) != 1)
		return 3;
	return range[0].low == (uintptr_t)p + 2 * PAGE && range[0].high == range[0].low + PAGE ? 0 :
												4;
}

static void the_page_map_can_be_asked(void **state)
{
	(void)state;
	assert_int_equal(in_sandbox(check_pagemap), 0);
}

static int check_calls(void)
{
	if (sandbox_enter() != 0)
		return 1;
	if (!is_refused(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL)))
		return 2;
	if (!is_refused(kill(getppid(), 0)))
		return 3;
	return is_refused(execl("/bin/true", "true", (char *)NULL)) ? 0 : 4;
}

static void nothing_is_done_to_others(void **state)
{
	(void)state;
	assert_int_equal(in_sandbox(check_calls), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_ioctl_two_questions_are_left),
		cmocka_unit_test(the_page_map_can_be_asked),
		cmocka_unit_test(nothing_is_done_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
