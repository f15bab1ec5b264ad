/* SPDX-License-Identifier: MIT */
/*
 * watched.h - the file that says whom memattachd has begun to watch and has not left yet, for the
 * one that is started after this one was killed.
 *
 * It only says where to look: what is there is decided by what a process carries. An entry that is
 * old, forged or torn does no harm.
 */
#ifndef MEMATTACH_DAEMON_WATCHED_H
#define MEMATTACH_DAEMON_WATCHED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

#define WATCHED_FILE	".watched"	/* rules, which have folders beside it, begin otherwise */
#define WATCHED_LOCK	".watched.lock"

struct watched_process {
	pid_t pid;
	uint64_t start_time;	/* in ticks; with pid and this boot its identity */
	char rule[80];
	char recording[160];	/* its file's name; "" not known */
};

struct watched {
	char *path;		/* NULL: nothing is written */
	int lock;		/* -1: not ours */
	int error;		/* of the last try to write */
	struct watched_process *process;
	size_t count;
};

/*
 * Reads the file of folder: the processes of this boot that live. One memattachd at a time has it.
 * Always good to go on with. 0; -EAGAIN another one has it: nothing is read or written; -errno: it
 * can't be read, and the next change writes it anew.
 */
int watched_open(struct watched *watched, const char *folder) _must_check_;
void watched_close(struct watched *watched);
/*
 * Takes in a process, or says more of it, before anything is done to it. recording: path or NULL.
 * 0, -ENOMEM, -errno: it could not be written, but is known.
 */
int watched_add(struct watched *watched, pid_t pid, uint64_t start_time, const char *rule,
		const char *recording) _must_check_;
/* NULL: not known. Good until the next call that changes something. */
const struct watched_process *watched_find(const struct watched *watched, pid_t pid);
/*
 * Nothing of ours is in it any more, or it has ended. Where that can't be written it is said by
 * error; an entry too many does no harm.
 */
void watched_remove(struct watched *watched, pid_t pid);

#endif
