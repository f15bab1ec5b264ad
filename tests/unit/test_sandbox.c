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
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "src/base/pagemap.h"
#include "src/base/pagemap_scan.h"
#include "src/base/sanitized.h"
#include "src/daemon/http_sandbox.h"
#include "src/sandbox/opener.h"
#include "src/sandbox/sandbox.h"
#include "src/sandbox/trapped.h"
#include "src/screen/screen_sandbox.h"
#include "src/session/session.h"
#include "tests/tools/break_out.h"

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

/* As the analyst does, of a session that writes no file. */
static bool enter(void)
{
	static const struct opener_needs needs;
	int opener = opener_begin(&needs, &FILE_READER_EVERYBODY);

	return opener >= 0 && !trapped_begin(opener) && !sandbox_enter();
}

static int check_ioctl(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct termios settings;
	char letter = 'x';

	if (!enter())
		return 1;
	if (ioctl(null, FIONREAD, &letter) != -1 || errno != EPERM)
		return 2;
	if (ioctl(null, TIOCSTI, &letter) != -1 || errno != EPERM)
		return 3;
	return ioctl(null, TCGETS, &settings) == -1 && errno == ENOTTY ? 0 : 4;
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
	if (!enter())
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

static int try_all(void)
{
	unsigned int tried, done = break_out(false, &tried);

	return tried < 80 ? 2 : done > 100 ? 103 : done ? (int)(3 + done) : 0;
}

static int check_analyst(void)
{
	return enter() ? try_all() : 1;
}

/* ncurses has opened what it needs before. */
static int check_screen(void)
{
	return screen_sandbox_enter() ? 1 : try_all();
}

static int check_http(void)
{
	return http_sandbox_enter() ? 1 : try_all();
}

static void nobody_breaks_out(void **state)
{
	char path[] = "/tmp/memattach-sandbox.XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(setenv("BREAK_OUT_FILE", path, 1), 0);
	assert_int_equal(in_sandbox(check_analyst), 0);
	if (!MEMATTACH_SANITIZED) {	/* which has calls of its own to make in there */
		assert_int_equal(in_sandbox(check_screen), 0);
		assert_int_equal(in_sandbox(check_http), 0);
	}
	assert_int_equal(unlink(path), 0);
	(void)close(fd);
}

/* Without one, and of one that is gone, nothing is to be had. */
static int check_no_opener(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return 1;
	(void)close(pair[1]);
	if (trapped_begin(pair[0]) || sandbox_enter())
		return 2;
	if (open("/proc/self/exe", O_RDONLY) != -1 || errno != EACCES)
		return 3;
	if (trapped_begin(-1))
		return 4;
	return open("/proc/self/exe", O_RDONLY) == -1 && errno == EACCES ? 0 : 5;
}

static void without_an_opener_nothing_opens(void **state)
{
	(void)state;
	assert_int_equal(in_sandbox(check_no_opener), 0);
}

/* ---- what it may ---- */

static int read_program(void)
{
	char head[4];
	int fd = open("/bin/true", O_RDONLY);
	bool good = fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head) &&
		    memcmp(head, "\177ELF", sizeof(head)) == 0 && fcntl(fd, F_GETFD) == 0;

	if (fd >= 0)
		(void)close(fd);
	return good ? 0 : 1;
}

static void *read_programs(void *context)
{
	uintptr_t bad = 0;

	(void)context;
	for (int i = 0; i < 50; i++)
		bad += (uintptr_t)read_program();
	return (void *)bad;
}

/* Side by side, in threads and children, each gets what it asked for. */
static int check_openings(void)
{
	pthread_t thread[4];
	void *bad = NULL;
	int status, fd;
	pid_t child;
	FILE *file;

	if (!enter())
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		if (pthread_create(&thread[i], NULL, read_programs, NULL))
			return 2;
	child = fork();
	if (child == 0)
		_exit(read_programs(NULL) ? 1 : 0);
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		if (pthread_join(thread[i], &bad) || bad)
			return 3;
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return 4;
	fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fcntl(fd, F_GETFD) != FD_CLOEXEC)
		return 5;
	file = fopen("/proc/loadavg", "re");	/* what the C library opens itself */
	if (!file)
		return 6;
	(void)fclose(file);
	return open("/bin/nothing-of-the-kind", O_RDONLY) == -1 && errno == ENOENT ? 0 : 7;
}

static void programs_are_opened_for_all(void **state)
{
	(void)state;
	assert_int_equal(in_sandbox(check_openings), 0);
}

/* Packets that are no questions, from somebody who has the socket, too. */
static int check_nonsense(void)
{
	static const struct opener_needs needs;
	struct opener_question question = { .what = 77 };
	char large[2 * OPENER_PATH_BYTES];
	int opener = opener_begin(&needs, &FILE_READER_EVERYBODY);

	memset(large, 'x', sizeof(large));
	if (opener < 0 || trapped_begin(opener) || sandbox_enter())
		return 1;
	(void)send(opener, "x", 1, MSG_NOSIGNAL);
	(void)send(opener, &question, sizeof(question), MSG_NOSIGNAL);
	(void)send(opener, large, sizeof(large), MSG_NOSIGNAL);
	(void)send(opener, large, sizeof(question) + 10, MSG_NOSIGNAL);
	return read_program();
}

static void nonsense_is_survived(void **state)
{
	(void)state;
	assert_int_equal(in_sandbox(check_nonsense), 0);
}

/* What a child that was taken over could write to is nobody else's filter. */
static void filters_made_before_hold_as_well(void **state)
{
	FILE *maps;
	char line[400];

	assert_int_equal(sandbox_prepare(), 0);
	maps = fopen("/proc/self/maps", "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		assert_null(strstr(line, " rw-s "));
	(void)fclose(maps);
	nobody_breaks_out(state);
	without_an_opener_nothing_opens(state);
	programs_are_opened_for_all(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_ioctl_two_questions_are_left),
		cmocka_unit_test(the_page_map_can_be_asked),
		cmocka_unit_test(nobody_breaks_out),
		cmocka_unit_test(without_an_opener_nothing_opens),
		cmocka_unit_test(programs_are_opened_for_all),
		cmocka_unit_test(nonsense_is_survived),
		cmocka_unit_test(filters_made_before_hold_as_well),	/* last: it stays */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
