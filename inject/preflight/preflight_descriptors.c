/* SPDX-License-Identifier: MIT */
/*
 * preflight_descriptors.c - may the target open what memattach opens in it for a moment?
 *
 * Two files in memory and, by dlopen, one of them once more; and while they are open the target's
 * own next files must not be refused for ours.
 */
#include "inject/preflight/preflight_checks.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/*
 * Numbers below limit that no descriptor has: all of them, or enough as soon as there are so many.
 * The kernel lists descriptors by number.
 */
static int count_free(const struct preflight *p, uint64_t limit, uint64_t enough, uint64_t *ret)
{
	_cleanup_(close_directory) DIR *directory = NULL;
	struct dirent *entry;
	uint64_t next = 0, number;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", (int)p->pid, (int)p->tid);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret = 0;
	while (*ret < enough && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		number = strtoull(entry->d_name, NULL, 10);
		if (number >= limit)
			break;
		*ret += number - next;
		next = number + 1;
	}
	if (*ret < enough && next < limit)
		*ret += limit - next;
	return 0;
}

int preflight_check_descriptors(struct preflight *p)
{
	uint64_t limit, count = 0, wanted = p->options->descriptors;
	int r = wanted ? proc_read_limit(p->pid, "Max open files", &limit) : 0;

	if (r < 0 || !wanted)
		return r;
	r = count_free(p, limit, wanted, &count);
	if (r < 0 || count >= wanted)
		return r;
	preflight_reason(p, PREFLIGHT_DESCRIPTORS,
			 "the limit on open files (%llu, ulimit -n) leaves process %d (%s) %llu "
			 "more, memattach wants %llu to be left",
			 (unsigned long long)limit, (int)p->pid, p->status.name,
			 (unsigned long long)count, (unsigned long long)wanted);
	return preflight_remedy(p, "raise it: prlimit --nofile=%llu: --pid %d",
				(unsigned long long)(limit + wanted), (int)p->pid);
}
