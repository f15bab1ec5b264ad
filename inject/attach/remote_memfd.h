/* SPDX-License-Identifier: MIT */
/*
 * remote_memfd.h - the two unlinked files, ring and shim, that a borrowed thread makes in the
 * target, and closes there once they are mapped.
 */
#ifndef MEMATTACH_REMOTE_MEMFD_H
#define MEMATTACH_REMOTE_MEMFD_H

#include "inject/attach/attachment.h"
#include "inject/tracee/remote_call.h"

/* Which of them: an index of attachment's remote_fd and inode. */
enum remote_memfd {
	REMOTE_RING,
	REMOTE_SHIM
};

/*
 * memfd_create in the target; *ret_fd is our descriptor of the same file, the caller's. pre: the
 * thread was borrowed with process_files. 0; -EBADF, -ENOTSUP: the process has another file under
 * that number, and nothing was done to it; -errno. What was made all the same is noted in the
 * attachment's remote_fd, for the close.
 */
int remote_memfd_make(struct attachment *attachment, struct borrow *borrow,
		      enum remote_memfd which, int *ret_fd) _must_check_;
/*
 * Was what the target has mapped by number fd ours? Once closed it does not come back, so it was
 * if it is now. 0; -EBADF: another thread has closed it since. pre: both were made, the thread is
 * held.
 */
int remote_memfd_confirm(const struct attachment *attachment, const struct borrow *borrow,
			 enum remote_memfd which, int fd) _must_check_;
/*
 * Closes both in the target, if in the borrowed thread the numbers still are theirs; pre: as above.
 * The first error.
 */
int remote_memfd_close(struct attachment *attachment, struct borrow *borrow);
/* Is thread tid's descriptor fd one of ours? 1, 0, or -errno: that can't be told now. */
int remote_memfd_is_ours(pid_t pid, pid_t tid, int fd);

#endif
