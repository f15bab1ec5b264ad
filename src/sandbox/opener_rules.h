/* SPDX-License-Identifier: MIT */
/* opener_rules.h - which files a session may have opened, and how. */
#ifndef MEMATTACH_SESSION_OPENER_RULES_H
#define MEMATTACH_SESSION_OPENER_RULES_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/base/cleanup.h"
#include "src/base/file_reader.h"

struct recording_unnamed;

/* The purposes that a process has files opened for. Zeroed: names alone. All is borrowed. */
struct opener_needs {
	const char *output;	/* a recording, or a log of calls, as the user wrote it; NULL */
	const struct recording_unnamed *unnamed;	/* that recording has no name; NULL */
	const char *history;	/* a recording that is only read; NULL */
	bool is_log;		/* output is a log of calls */
	bool sources;		/* leaks are told with variables, or it is a view of sources */
	bool only_public;	/* of sources those that anybody may read */
};

struct opener_rules {
	const char *output;	/* as in opener_needs */
	bool is_log, sources, only_public;
	char *recording;	/* its place without links; NULL: none, or one without a name */
	char *history;		/* the same of the recording that is only read */
	int unnamed[2];		/* descriptors of a recording without a name; -1 */
	struct file_reader reader;	/* of programs, debug files and sources */
};
struct opener_file {
	const char *path;
	int flags;		/* of open(2) */
	unsigned int mode;
	pid_t from;		/* who asks */
};

/* Borrows what needs refers to. 0 or -ENOMEM. */
int opener_rules_init(const struct opener_needs *needs, const struct file_reader *reader,
		      struct opener_rules *ret) _must_check_;
void opener_rules_done(struct opener_rules *rules);
/*
 * Opens it, if these rules let it be: the recording and what SQLite has beside it; the log; for
 * reading only regular files: --history, ELF files that are no core dumps and source files (by
 * their names) that rules->reader may read, some of the kernel's that are about the machine. A
 * descriptor above 0; -EACCES; -ENOENT, also for a file that is not of these kinds; -errno.
 */
int opener_rules_open(const struct opener_rules *rules, const struct opener_file *file)
	_must_check_;
/* Takes it away: the recording, to make way for a new one, or what SQLite has beside it. */
int opener_rules_remove(const struct opener_rules *rules, const char *path) _must_check_;

#endif
