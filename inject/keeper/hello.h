/* SPDX-License-Identifier: MIT */
/* hello.h - what the analyst is told about its target, and the descriptors it gets. */
#ifndef MEMATTACH_HELLO_H
#define MEMATTACH_HELLO_H

#include "inject/keeper/proto.h"

enum hello_fd { HELLO_MEM, HELLO_MAPS, HELLO_STATM, HELLO_PAGEMAP, HELLO_JIT, HELLO_FDS };

/* Fills ret from /proc. 0 or -ESRCH. */
int hello_fill(const struct target *target, struct proto_hello *ret) _must_check_;
/* A new descriptor for the analyst: memory read only, maps, statm, pagemap and perf map of JIT
 * code (or /dev/null, for these two). */
int hello_open(const struct target *target, enum hello_fd which) _must_check_;

#endif
