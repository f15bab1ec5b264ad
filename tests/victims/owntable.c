/* SPDX-License-Identifier: MIT */
/*
 * owntable.c - threads that have descriptors of their own (unshare(CLONE_FILES)).
 *
 *	owntable [--files=none|other|memfd] [--leader=waits|deep|ends]
 *
 * One thread has a table of its own and waits. At the numbers that its next files get the process
 * has none, other files, or empty memfds that may be sealed. The first thread waits for commands,
 * also at the end of a fiber's stack, or ends and another thread does so, which has its table. 'c'
 * looks: "checked ok" if no table holds a file of memattach's and the process's own are what they
 * were.
 */
#include <alloca.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/victims/victim.h"

enum { FILES = 4, FIBER = 16 << 10, LEFT = 4500 };

static int mine[FILES], never[2];
static const char *files;
static char *fiber;
static volatile pid_t own_thread;

static void *run_own(void *unused)
{
	char byte;

	if (unshare(CLONE_FILES))
		victim_fail("unshare");
	own_thread = gettid();
	while (read(never[0], &byte, 1) != 1)
		continue;
	return unused;
}

static void open_mine(void)
{
	for (int i = 0; i < FILES; i++) {
		mine[i] = -1;
		if (strcmp(files, "other") == 0)
			mine[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		else if (strcmp(files, "memfd") == 0)
			mine[i] = memfd_create("mine", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	}
}

static const char *look_at_mine(void)
{
	struct stat file;

	for (int i = 0; i < FILES && strcmp(files, "none") != 0; i++) {
		if (fstat(mine[i], &file) || file.st_size)
			return "a file of the program's is gone, or not empty";
		if (S_ISREG(file.st_mode) && fcntl(mine[i], F_GET_SEALS) != 0)
			return "a file of the program's is sealed";
	}
	return NULL;
}

static const char *look_at_table(pid_t tid)
{
	const char *found = NULL;
	char path[300], name[64];
	struct dirent *entry;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/fd", (int)tid);
	dir = opendir(path);
	if (!dir)
		return "no list of descriptors";
	while ((entry = readdir(dir))) {
		ssize_t length;

		(void)snprintf(path, sizeof(path), "/proc/self/task/%d/fd/%.20s", (int)tid,
			       entry->d_name);
		length = readlink(path, name, sizeof(name) - 1);
		name[length > 0 ? length : 0] = 0;
		if (strncmp(name, "/memfd:memattach-", 17) == 0)
			found = "a file of memattach's is open";
	}
	(void)closedir(dir);
	return found;
}

static void obey_for_ever(void)
{
	victim_ready();
	while (victim_await() != 'q') {
		const char *wrong = look_at_mine();

		if (!wrong)
			wrong = look_at_table(gettid());
		if (!wrong)
			wrong = look_at_table(own_thread);
		free(victim_seen(malloc(victim_size(300))));
		victim_say("checked %s\n", wrong ? wrong : "ok");
	}
	_exit(victim_interrupts() ? 1 : 0);
}

/* So deep that LEFT bytes of the fiber's stack are left, or less. */
VICTIM_FRAME static void obey_deep(void)
{
	char *here = __builtin_frame_address(0);
	char *deep = victim_seen(alloca((size_t)(here - fiber) - LEFT));

	memset(deep, 1, 16);
	obey_for_ever();
}

static void become_fiber(void)
{
	ucontext_t left, there;

	fiber = mmap(NULL, FIBER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fiber == MAP_FAILED || getcontext(&there))
		victim_fail("no fiber");
	there.uc_stack.ss_sp = fiber;
	there.uc_stack.ss_size = FIBER;
	there.uc_link = NULL;
	makecontext(&there, obey_deep, 0);
	(void)swapcontext(&left, &there);
}

static void *run_heir(void *leader)
{
	(void)pthread_join(*(pthread_t *)leader, NULL);
	obey_for_ever();
	return NULL;
}

int main(int argc, char *argv[])
{
	const struct timespec moment = { 0, 1000000 };
	const char *leader = victim_option(argv, "leader", "waits");
	static pthread_t self;
	pthread_t thread;

	(void)argc;
	victim_setup();
	files = victim_option(argv, "files", "none");
	self = pthread_self();
	if (pipe2(never, O_CLOEXEC))
		victim_fail("no pipe");
	if (strcmp(leader, "ends") == 0 && pthread_create(&thread, NULL, run_heir, &self))
		victim_fail("no thread");
	if (pthread_create(&thread, NULL, run_own, NULL))
		victim_fail("no thread");
	while (!own_thread)
		(void)nanosleep(&moment, NULL);
	open_mine();
	if (strcmp(leader, "ends") == 0)
		pthread_exit(NULL);
	if (strcmp(leader, "deep") == 0)
		become_fiber();
	obey_for_ever();
	return 0;
}
