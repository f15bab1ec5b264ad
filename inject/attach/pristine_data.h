/* SPDX-License-Identifier: MIT */
/* pristine_data.h - what a snapshot holds; for pristine*.c only. */
#ifndef MEMATTACH_PRISTINE_DATA_H
#define MEMATTACH_PRISTINE_DATA_H

#include <sys/types.h>

#include "inject/attach/pristine.h"

struct pristine_map {
	uint64_t start, end, offset, inode;
	uint32_t dev_major, dev_minor, prot;
	bool watched;           /* code or read-only data of a module: the next two are known */
	uint64_t private_pages; /* that are no longer the file's */
	uint64_t content;       /* hash over them and where they are */
	char *path;             /* owned */
};
struct pristine_fd {
	int number;
	char *link; /* owned */
};
struct pristine_thread {
	pid_t tid, tracer;
	uint64_t blocked, ignored, caught;
};
struct pristine {
	size_t map_count, fd_count, thread_count;
	struct pristine_map *map;       /* by start; neighbours that differ in nothing joined */
	struct pristine_fd *fd;         /* by number */
	struct pristine_thread *thread; /* by tid */
};

#endif
