/* SPDX-License-Identifier: MIT */
/*
 * leak_picture.h - pictures for unit tests: of this very program, or of another.
 *
 * A forked child that never runs on stands for the keeper's clone.
 */
#ifndef MEMATTACH_TESTS_LEAK_PICTURE_H
#define MEMATTACH_TESTS_LEAK_PICTURE_H

#include <asm/prctl.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/memory/picture.h"

static inline int leak_picture_open_file(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The picture of pid, with these threads. 0 or -errno. */
static inline int leak_picture_of(pid_t pid, const struct picture_thread *threads, size_t count,
				  struct picture *ret)
{
	int maps = leak_picture_open_file(pid, "maps");
	int error = picture_open(leak_picture_open_file(pid, "mem"), maps, threads, count, ret);

	if (maps >= 0)
		close(maps);
	return error;
}

/* The child: stands still, at the longest for as long as its parent is there. */
static inline _Noreturn void leak_picture_stand(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* That comes for a death from now on: not for one before. */
	if (getppid() != parent)
		_exit(99);
	for (;;)
		pause();
}

/*
 * This program as it stands: one thread, the caller, whose stack pointer is this
 * function's frame; callee-saved registers are not in it. Returns the child, to be
 * ended by leak_picture_end; where a test fails before that, it ends with this thread.
 */
static inline pid_t leak_picture_fork(struct picture *ret)
{
	struct picture_thread self = { .tid = getpid() };
	pid_t child;

	self.registers.rsp = (uintptr_t)__builtin_frame_address(0);
	syscall(SYS_arch_prctl, ARCH_GET_FS, &self.registers.fs_base);
	child = fork();
	if (child == 0)
		leak_picture_stand(self.tid);
	if (child < 0 || leak_picture_of(child, &self, 1, ret)) {
		perror("picture");
		exit(99);
	}
	return child;
}

static inline void leak_picture_end(pid_t child, struct picture *picture)
{
	picture_done(picture);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

#endif
