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
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

#define FILE_READER_GROUPS 64u	/* more are left out: what only they let read is not read */

/* A user by whom a file must be readable. */
struct file_reader {
	bool unbounded;		/* he is root or ourselves: what the kernel says to us is enough */
	bool known;		/* uid and groups are; else only what everybody may read */
	uid_t uid;
	gid_t group[FILE_READER_GROUPS];
	unsigned int groups;
};

#define FILE_READER_EVERYBODY ((struct file_reader){ 0 })

/* The owner of process pid as it is now; of one that can't be looked at, everybody. */
void file_reader_of(pid_t pid, struct file_reader *ret);
/* The user of this process; everybody where that is root, whom files of others may lead astray. */
void file_reader_of_us(struct file_reader *ret);
/*
 * For names in the recording at path. owner: of the process that was recorded, as it says,
 * snapshot_target.owner; believed where the recording is ours or root's, else its own owner's.
 */
void file_reader_of_recording(const char *path, uint32_t owner, struct file_reader *ret);
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
