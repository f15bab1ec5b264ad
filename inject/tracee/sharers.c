/* SPDX-License-Identifier: MIT */
/*
 * sharers.c - asks the kernel (kcmp) for every process that runs the same
 * program. Where it won't tell, the mapping that holds our ring would be the
 * same object in both, but only this call tells a fork from a shared memory.
 * That takes a microsecond for each process of the machine, which is not for a stop of all
 * threads: there only those are asked that have come since, by their numbers. (One to which
 * a tool that restores checkpoints gives a number of its own choice, clone3's set_tid, is missed.)
 */
#include "inject/tracee/sharers.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/tracee/proc_status.h"

enum { MAX_NEW = 1024 };	/* more numbers than that were given out since: all are asked */

/* Also true of the target's own threads but the first, which are in no list of processes. */
static bool has_its_memory(const struct target *target, pid_t tid, pid_t other)
{
	return other > 0 && other != target->ref.pid && other != getpid() &&
	       syscall(SYS_kcmp, tid, other, KCMP_VM, 0, 0) == 0;
}

/* As many as fit in pid; how many: room + 1 where there are more. */
static unsigned int list_sharers(const struct target *target, pid_t *pid, unsigned int room)
{
	/* a leader that has ended has no memory, and so "shares" it with kernel threads */
	pid_t tid = proc_live_thread(target->ref.pid);
	unsigned int count = 0;
	struct dirent *entry;
	DIR *dir = tid > 0 ? opendir("/proc") : NULL;

	while (dir && count <= room && (entry = readdir(dir))) {
		pid_t other = (pid_t)strtol(entry->d_name, NULL, 10);

		if (!has_its_memory(target, tid, other))
			continue;
		if (count < room)
			pid[count] = other;
		count++;
	}
	if (dir)
		(void)closedir(dir);
	return count;
}

pid_t sharers_find(const struct target *target)
{
	pid_t found = 0;

	return list_sharers(target, &found, 1) ? found : 0;
}

bool sharers_exist(const struct target *target) { return sharers_find(target) != 0; }

bool sharers_is_one(const struct target *target, pid_t pid)
{
	pid_t tid = proc_live_thread(target->ref.pid);

	return tid > 0 && has_its_memory(target, tid, pid);
}

/* The last number that a process or thread has got, proc(5); 0: not to be had. */
static pid_t last_number(void)
{
	int number = 0;
	FILE *file = fopen("/proc/loadavg", "re");

	if (!file || fscanf(file, "%*s %*s %*s %*s %d", &number) != 1)
		number = 0;
	if (file)
		(void)fclose(file);
	return number;
}

void sharers_look(const struct target *target, struct sharers_seen *ret)
{
	ret->last = last_number();
	ret->count = list_sharers(target, ret->pid, SHARERS_KEPT);
	ret->some = ret->count > 0;
}

bool sharers_exist_since(const struct target *target, const struct sharers_seen *seen)
{
	pid_t last = last_number(), tid;

	/* numbers that begin again say nothing */
	if (seen->count > SHARERS_KEPT || !seen->last || last < seen->last ||
	    last - seen->last > MAX_NEW)
		return sharers_exist(target);
	tid = seen->count || seen->last < last ? proc_live_thread(target->ref.pid) : 0;
	for (unsigned int i = 0; tid > 0 && i < seen->count; i++)
		if (has_its_memory(target, tid, seen->pid[i]))
			return true;
	for (pid_t other = seen->last + 1; tid > 0 && other <= last; other++)
		if (has_its_memory(target, tid, other))
			return sharers_exist(target);
	return false;
}
