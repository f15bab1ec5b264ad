/* SPDX-License-Identifier: MIT */
/* said.h - what a child that watches a process says: kept to its end, then said with its name. */
#ifndef MEMATTACH_CLI_SAID_H
#define MEMATTACH_CLI_SAID_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

/* A file in memory for it, with room for 8 KiB: what is more is not written. Or -errno. */
int said_open(void) _must_check_;
/* In the child: its standard error goes into said, its output nowhere. 0 or -errno. */
int said_redirect(int said) _must_check_;
/*
 * Prints it, unless quiet: "PID NAME: " before each line. ret_last: the last line, which is why it
 * failed, where it did; as it was if nothing was said.
 */
void said_pass_on(int said, pid_t pid, const char *name, bool quiet, char *ret_last, size_t room);

#endif
