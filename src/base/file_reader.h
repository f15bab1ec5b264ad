/* SPDX-License-Identifier: MIT */
/*
 * file_reader.h - whom the files are for that a target names.
 *
 * Debug information says where source and debug files are, and may say anything: /root/keys.c, or a
 * link of the target's that leads there. A memattach that may read more than the target's owner
 * opens for a session only what that owner may read as well.
 */
#ifndef MEMATTACH_BASE_FILE_READER_H
#define MEMATTACH_BASE_FILE_READER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

#define FILE_READER_GROUPS 64u	/* more are left out: what only they let read is not read */

/* A user by whom a file must be readable. Zeroed: by everybody. */
struct file_reader {
	bool unbounded;		/* the kernel's answer to us is his, or he is root: no more is asked */
	bool known;		/* uid and groups are; else only what everybody may read */
	uid_t uid;
	gid_t group[FILE_READER_GROUPS];
	unsigned int groups;
};

/*
 * The owner of process pid as it is now; of one that can't be looked at, everybody. pid 0: the
 * user of this process, or everybody where that is root.
 */
void file_reader_of(pid_t pid, struct file_reader *ret);
/* The owner of the file at path, which names other files; everybody where that is root. */
void file_reader_of_file(const char *path, struct file_reader *ret);
/* May he read a file of this status, or look into such a folder? By owner, group and mode. */
bool file_reader_may(const struct file_reader *reader, const struct stat *status);
/*
 * Opens the regular file at path for reading, if reader may read it where it really lies, which is
 * every folder on the way there. ret_place has room for PATH_MAX bytes: where that is, without
 * links. A descriptor; -EACCES; -ENOENT, also for what is no regular file; -errno.
 */
int file_reader_open(const struct file_reader *reader, const char *path, char *ret_place)
	_must_check_;

#endif
