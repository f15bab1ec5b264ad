/* SPDX-License-Identifier: MIT */
/* match.h - which rule means a process. */
#ifndef MEMATTACH_DAEMON_MATCH_H
#define MEMATTACH_DAEMON_MATCH_H

#include "src/daemon/settings.h"
#include "src/several/find.h"

/* What rules ask of a process, read once. */
struct process_facts {
	pid_t pid;
	uid_t user;			/* effective */
	char name[64];			/* comm */
	char executable[4096];		/* "" unknown */
	char cgroup[4096];		/* "" unknown */
};
/* 0; -ESRCH it has ended, is a kernel thread, memattach's own, or a copy of a target. */
int facts_read(const struct process_search *search, pid_t pid, struct process_facts *ret)
	_must_check_;

/* Where units begin: process_cgroup_root(), read once. */
struct matcher {
	const struct settings *settings;
	char root[4096];
};
/*
 * The first rule, in the order of the files, that means the process; NULL: none does. It means
 * those that are any of each kind that the rule names, and none of what it excludes.
 */
const struct watch_rule *match_find(const struct matcher *matcher,
				    const struct process_facts *facts);

#endif
