/* SPDX-License-Identifier: MIT */
/*
 * marks.h - what our sessions leave in a process that is forked meanwhile: copies of mappings of
 * the session's own files, by which it is known whoever its parent is.
 */
#ifndef MEMATTACH_SEVERAL_MARKS_H
#define MEMATTACH_SEVERAL_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

struct mark {
	uint64_t device, inode;
};
/* A zeroed one is empty. */
struct marks {
	size_t count;
	struct mark *of;
};

void marks_done(struct marks *marks);
/* Adds those of pid, a process that is watched. 1 there were new ones, 0 not (yet), -ENOMEM. */
int marks_add(struct marks *marks, pid_t pid) _must_check_;
/* Has pid one of them? */
bool marks_has(const struct marks *marks, pid_t pid);

#endif
