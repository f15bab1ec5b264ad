/* SPDX-License-Identifier: MIT */
/*
 * sharers.c - asks the kernel (kcmp) for every process that runs the same
 * program. Where it won't tell, the mapping that holds our ring would be the
 * same object in both, but only this call tells a fork from a shared memory.
 */
#include "inject/sharers.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "inject/proc_status.h"

bool sharers_exist(const struct target *target)
{
	/* a leader that has ended has no memory, and so "shares" it with kernel threads */
	pid_t pid = target->ref.pid, tid = proc_live_thread(pid);
	struct dirent *entry;
	bool found = false;
	DIR *dir = tid > 0 ? opendir("/proc") : NULL;

	while (dir && !found && (entry = readdir(dir))) {
		pid_t other = (pid_t)strtol(entry->d_name, NULL, 10);

		if (other > 0 && other != pid && other != getpid())
			found = syscall(SYS_kcmp, tid, other, KCMP_VM, 0, 0) == 0;
	}
	if (dir)
		(void)closedir(dir);
	return found;
}
