/* SPDX-License-Identifier: MIT */
/*
 * rseq.c - restartable sequences (include/uapi/linux/rseq.h).
 *
 * The kernel aborts a section only when it sees the thread's instruction
 * pointer inside it; changing rip behind its back would let the section commit
 * as if it had not been interrupted. So a thread inside one is left alone.
 */
#include "inject/tracee/rseq.h"

#include <errno.h>

#include "inject/tracee/remote_mem.h"
#include "inject/tracee/tracee.h"

enum { RSEQ_CS_OFFSET = 8 };	/* struct rseq: cpu_id_start, cpu_id, rseq_cs */

struct rseq_section {
	uint32_t version, flags;
	uint64_t start_ip, post_commit_offset, abort_ip;
};

int rseq_allows_redirect(const struct target *target, pid_t tid, uint64_t rip)
{
	struct rseq_section section;
	uint64_t area, pointer;
	int error = tracee_get_rseq(tid, &area);

	if (error)
		return error == -EOPNOTSUPP ? -ENOTSUP : error;
	if (!area)
		return 0;
	error = remote_read(target, area + RSEQ_CS_OFFSET, &pointer, sizeof(pointer));
	if (error || !pointer)
		return error;
	error = remote_read(target, pointer, &section, sizeof(section));
	if (error)
		return -EAGAIN;
	return rip - section.start_ip < section.post_commit_offset ? -EAGAIN : 0;
}
