/* SPDX-License-Identifier: MIT */
/*
 * dlopen_files.h - dlopen maps the file that it was asked for, or fails.
 *
 * The loader reads and maps by a descriptor of its own. Another thread of the target may close that
 * and open another file under its number, whose bytes would then be code and data of the shim: the
 * target would die of them. So each mapping by that number is looked at as the call that makes it
 * returns; where the number is another file's by then, the call fails, as far as dlopen can see.
 *
 * dlopen's own result is not seen. A loader whose mapping fails unmaps what it has mapped (glibc
 * 2.36), or leaves it, known to nobody (2.41).
 */
#ifndef MEMATTACH_DLOPEN_FILES_H
#define MEMATTACH_DLOPEN_FILES_H

#include "inject/attach/attachment.h"
#include "inject/tracee/remote_call.h"

struct dlopen_files {
	const struct attachment *attachment;
	const char *path;	/* what dlopen was asked for */
	int fd;			/* by which it has opened that, -1: not yet */
	uint64_t low, bytes;	/* where it lies; bytes 0: nowhere yet */
	bool failed;		/* a part was not mapped, by us or the kernel: so dlopen fails */
	struct load_stray left;	/* one that dlopen does not know of; bytes 0: none */
};

/* The see_exit of a borrow whose thread is in dlopen; files: a struct dlopen_files. 0 or -errno. */
int dlopen_files_see(struct borrow *borrow, void *files);

#endif
