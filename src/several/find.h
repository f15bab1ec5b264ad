/* SPDX-License-Identifier: MIT */
/* find.h - processes by the name of their program or by the unit of systemd that they are in. */
#ifndef MEMATTACH_SEVERAL_FIND_H
#define MEMATTACH_SEVERAL_FIND_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

/* Ids, ascending, each once. A zeroed one is empty. */
struct process_set {
	size_t count;
	pid_t *pid;
};
void process_set_done(struct process_set *set);
bool process_set_has(const struct process_set *set, pid_t pid);
/* 0 (also if it is there already) or -ENOMEM. */
int process_set_add(struct process_set *set, pid_t pid) _must_check_;

/* Where to look. Processes that run self's very program are memattach's own: never found. */
struct process_search {
	const char *proc;	/* "/proc" */
	const char *self;	/* "/proc/self/exe" */
	uid_t user;		/* whose processes (effective id); 0: everyone's */
};
struct process_search process_search_here(void);

/*
 * Adds those whose command name (comm) is name, or whose executable file is called so. The number
 * that was found, -ENOMEM, -errno (proc can't be read).
 */
int process_find_name(const struct process_search *search, const char *name,
		      struct process_set *to) _must_check_;
/*
 * Adds those that are in unit's control group or below it, by the kernel's word (/proc/PID/cgroup;
 * version 2, or systemd's own hierarchy of version 1): "nginx.service", "user.slice"; without a
 * type, a service. Units of the system; of a user's manager only search->user's. As above.
 */
int process_find_unit(const struct process_search *search, const char *unit,
		      struct process_set *to) _must_check_;
/* Adds all processes that there are. 0, -ENOMEM, -errno. */
int process_find_all(const struct process_search *search, struct process_set *to) _must_check_;
/* Does it run a program that is not memattach's own? Not of kernel threads, nor once it ended. */
bool process_has_program(const struct process_search *search, pid_t pid);
/*
 * Is it the copy of a target, made by a keeper (inject/snapshot/freeze.h)? It is traced as long as
 * it lives, and its end is told to nobody. It is nobody's target; what else is so could not be one
 * either, since somebody traces it.
 */
bool process_is_picture(const struct process_search *search, pid_t pid);
/* Who traces it; 0: nobody, or it has ended. */
pid_t process_tracer(const struct process_search *search, pid_t pid);
/* Its parent; 0: unknown, or it has ended. */
pid_t process_parent(const struct process_search *search, pid_t pid);
/* Its command name (comm); "" if it has ended. */
struct process_name {
	char text[64];
};
struct process_name process_name(const struct process_search *search, pid_t pid);

/* Its effective user; -1: it has ended. */
uid_t process_user(const struct process_search *search, pid_t pid);
/*
 * The path of its executable file, without what the kernel adds to a replaced one's; "" if it is
 * not known.
 */
void process_executable(const struct process_search *search, pid_t pid, char *ret, size_t room);
/*
 * The path of its control group as the kernel names it (version 2, or systemd's own hierarchy of
 * version 1); "" if it is not known.
 */
void process_cgroup(const struct process_search *search, pid_t pid, char *ret, size_t room);
/* Where systemd's groups begin in such paths: "", but in some containers. */
void process_cgroup_root(const struct process_search *search, char *ret, size_t room);
/* Is its command name, or its executable file's without folders, the given one? */
bool process_is_called(const char *command, const char *executable, const char *name);

/* unit with its type: ".service" if it has none. */
void process_unit_name(const char *unit, char *ret, size_t room);
/* Is unit (with its type) the one that path, a line's of /proc/PID/cgroup, lies in? */
bool process_unit_holds(const char *path, const char *root, const char *unit, uid_t user);

#endif
