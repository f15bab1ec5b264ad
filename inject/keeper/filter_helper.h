/* SPDX-License-Identifier: MIT */
/*
 * filter_helper.h - lets somebody else read a target's system call filters.
 *
 * The kernel shows them to a process that has CAP_SYS_ADMIN and no filter of its own. memattachd
 * and its keepers have neither; memattach-filters(8), which does nothing else, has both. It is
 * given a process, and says what seccomp_check() says of it: no filter leaves it.
 *
 * One SEQPACKET connection, one question (a pidfd), one answer, as packets of proto.h.
 */
#ifndef MEMATTACH_FILTER_HELPER_H
#define MEMATTACH_FILTER_HELPER_H

#include "inject/preflight/seccomp_check.h"
#include "src/base/pidref.h"

/* systemd listens here (packaging/systemd/memattach-filters.socket). */
#define FILTER_HELPER_PATH "/run/memattach-filters"

/*
 * Asks the one at path. 0, -ENOENT or -ECONNREFUSED nobody is there, -EACCES it is not for us,
 * -EPERM who listens is neither root nor we, -ETIME, -EPROTO, -ESRCH the process has ended, -errno.
 */
int filter_helper_ask(const char *path, const struct pidref *target, struct seccomp_verdict *ret)
	_must_check_;

/* The other side: answers the one question on socket. 0 or -errno (then there is no answer). */
int filter_helper_answer(int socket) _must_check_;

#endif
