/* SPDX-License-Identifier: MIT */
/*
 * opener.h - the process that opens files for an analyst, which may open none itself.
 *
 * It parses nothing: a path comes in, and if it is one of those that are needed (opener_rules.h),
 * a descriptor goes out.
 */
#ifndef MEMATTACH_SESSION_OPENER_H
#define MEMATTACH_SESSION_OPENER_H

#include <limits.h>
#include <stdint.h>
#include <sys/socket.h>

#include "src/base/cleanup.h"
#include "src/base/file_reader.h"

struct opener_needs;

#define OPENER_PATH_BYTES PATH_MAX
#define OPENER_NAME "memattach-files"	/* what it is called in lists of processes */

enum opener_what { OPENER_OPEN = 1, OPENER_REMOVE };
/* Behind it comes the path, without a NUL; beside it the socket for the answer: an int32_t that is
 * 0 or -errno, and what was opened. */
struct opener_question {
	uint32_t what;		/* enum opener_what */
	int32_t flags;		/* of open(2) */
	uint32_t mode;
};

/*
 * Starts it as a child of this process; it ends when its socket is closed by all who have it. It
 * may open what is needed that this process may open; of what a target or a recording
 * names (opener_rules.h), what reader may open, too. Its socket, or -errno.
 */
int opener_begin(const struct opener_needs *needs, const struct file_reader *reader)
	_must_check_;
/*
 * Starts one and enters the analyst's sandbox: for a process that is no analyst, and reads what
 * may be forged. 0 or -errno; then nothing may be read.
 */
int opener_confine(const struct opener_needs *needs, const struct file_reader *reader)
	_must_check_;

#endif
