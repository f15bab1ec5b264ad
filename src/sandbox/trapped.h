/* SPDX-License-Identifier: MIT */
/*
 * trapped.h - calls that open files and take them away, in a process that may not: they are asked
 * of the opener, and whoever made them, a library of others too, has their results as usual.
 */
#ifndef MEMATTACH_SESSION_TRAPPED_H
#define MEMATTACH_SESSION_TRAPPED_H

#include "src/base/cleanup.h"

/*
 * From now on, in this process and its children. opener: its socket, which stays open; -1: all are
 * refused. pre: SIGSYS is never blocked where files are opened. 0 or -errno.
 */
int trapped_begin(int opener) _must_check_;

#endif
