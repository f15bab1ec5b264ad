/* SPDX-License-Identifier: MIT */
/* userfault.c - a look through the target's descriptors. */
#include "inject/tracee/userfault.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inject/tracee/proc_status.h"

bool userfault_may_be_served(const struct target *target)
{
	char path[64], link[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	/* a leader that has ended has no descriptors */
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", target->ref.pid,
		       proc_live_thread(target->ref.pid));
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		ssize_t got = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		link[got < 0 ? 0 : got] = '\0';
		found = strcmp(link, "anon_inode:[userfaultfd]") == 0;
	}
	if (dir)
		(void)closedir(dir);
	return found;
}
