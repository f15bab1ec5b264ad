/* SPDX-License-Identifier: MIT */
/*
 * remote_mem.c - target memory through /proc/PID/mem.
 *
 * One mechanism for everything: a descriptor opened once stays with the address
 * space it was opened for, also when the pid is recycled or the target calls
 * exec (reads then fail), which process_vm_readv by number does not promise. Who may not
 * write there writes through a stopped thread (remote_poke.c).
 * Text is written one 8-byte word at a time: an aligned one is the unit that the
 * processors' instruction fetch sees as a whole (docs/SAFETY.md).
 */
#include "inject/tracee/remote_mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/tracee/proc_status.h"
#include "inject/tracee/remote_poke.h"
#include "inject/tracee/steps.h"

/* CAP_SYS_PTRACE lets us in, but the file is its owner's to write. */
static int open_mem(const char *path, bool *ret_read_only)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	*ret_read_only = fd < 0 && errno == EACCES;
	return *ret_read_only ? open(path, O_RDONLY | O_CLOEXEC) : fd;
}

int target_open(const struct pidref *ref, struct target *ret)
{
	struct target target = TARGET_NONE;
	char path[64];
	pid_t tid = proc_live_thread(ref->pid);
	int error;

	if (tid <= 0)
		return tid ? tid : -ESRCH;
	(void)snprintf(path, sizeof(path), "/proc/%d/task", ref->pid);
	target.task = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", ref->pid, tid);
	target.mem = open_mem(path, &target.read_only);
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", ref->pid, tid);
	target.maps = open(path, O_RDONLY | O_CLOEXEC);
	if (target.task < 0 || target.mem < 0 || target.maps < 0)
		error = errno == ENOENT ? -ESRCH : -errno;
	else
		error = proc_open_pagemap(tid, &target.pagemap);
	if (error) {
		target_done(&target);
		return error;
	}
	if (!pidref_alive(ref)) {
		target_done(&target);
		return -ESRCH;
	}
	target.ref = *ref;
	*ret = target;
	return 0;
}

void target_done(struct target *target)
{
	cleanup_fd(&target->mem);
	cleanup_fd(&target->maps);
	cleanup_fd(&target->task);
	cleanup_fd(&target->pagemap);
	pidref_done(&target->ref);
	free(target->owed);
	*target = TARGET_NONE;
}

bool remote_is_gone(const struct target *target, uint64_t address)
{
	char byte;

	return pread(target->mem, &byte, sizeof(byte), (off_t)address) == 0;
}

/*
 * Why not all was read or written. got: 0 (the address space is gone), or -1 and errno: EIO where
 * nothing is mapped, EINVAL where nothing can be.
 */
static int why_not(const struct target *target, ssize_t got)
{
	int error = got < 0 && errno != EIO && errno != EINVAL ? -errno : -EFAULT;

	return pidref_alive(&target->ref) ? error : -ESRCH;
}

/* How much was read; *ret_last: what the last call returned (then errno is its). */
static size_t read_some(const struct target *target, uint64_t address, void *buffer, size_t bytes,
			ssize_t *ret_last)
{
	size_t done = 0;

	while (done < bytes) {
		*ret_last = pread(target->mem, (char *)buffer + done, bytes - done,
				  (off_t)(address + done));
		if (*ret_last < 0 && errno == EINTR)
			continue;
		if (*ret_last <= 0)
			break;
		done += (size_t)*ret_last;
	}
	return done;
}

size_t remote_read_some(const struct target *target, uint64_t address, void *buffer, size_t bytes)
{
	ssize_t last;

	return read_some(target, address, buffer, bytes, &last);
}

int remote_read(const struct target *target, uint64_t address, void *buffer, size_t bytes)
{
	ssize_t last = 0;

	return read_some(target, address, buffer, bytes, &last) == bytes ? 0 :
									   why_not(target, last);
}

int remote_expect(const struct target *target, uint64_t address, const void *expected,
		  size_t bytes)
{
	uint8_t live[64];
	int error = bytes <= sizeof(live) ? remote_read(target, address, live, bytes) : -EINVAL;

	if (error)
		return error == -EFAULT && remote_is_gone(target, address) ? -ESTALE : error;
	return memcmp(live, expected, bytes) == 0 ? 0 : -ESTALE;
}

static int write_file(const struct target *target, uint64_t address, const void *buffer,
		      size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t put = pwrite(target->mem, (const char *)buffer + done, bytes - done,
				     (off_t)(address + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return why_not(target, put);
		done += (size_t)put;
	}
	return 0;
}

int remote_write(const struct target *target, uint64_t address, const void *buffer, size_t bytes)
{
	int error = target->read_only ? remote_poke(target, address, buffer, bytes) :
					write_file(target, address, buffer, bytes);

	if (!error)
		step_point();
	return error;
}

int remote_write_word(const struct target *target, uint64_t address, uint64_t word)
{
	int error;

	if (address % 4096 > 4096 - sizeof(word))
		return -EINVAL;
	if (!target->read_only)
		return remote_write(target, address, &word, sizeof(word));
	error = remote_poke_word(target, address, word);
	if (!error)
		step_point();
	return error;
}

int remote_page_is_file(const struct target *target, uint64_t address)
{
	const uint64_t present = 1ull << 63, swapped = 1ull << 62, file_or_shared = 1ull << 61;
	uint64_t entry;
	ssize_t got;

	if (target->pagemap < 0)
		return 0;
	got = pread(target->pagemap, &entry, sizeof(entry),
		    (off_t)(address / 4096 * sizeof(entry)));
	if (got < 0)
		return -errno;
	if (got != (ssize_t)sizeof(entry))
		return -ESRCH;
	return entry & present ? (entry & file_or_shared) != 0 : !(entry & swapped);
}
