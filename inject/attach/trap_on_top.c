/* SPDX-License-Identifier: MIT */
/*
 * trap_on_top.c - see trap_on_top.h. What is behind the breakpoint is written by /proc/PID/mem and
 * without it: should it be taken out at that moment, writing the whole word would put it back, and
 * a breakpoint that nobody knows ends the program. Nobody executes those bytes: a thread comes to
 * the breakpoint, or is past our jump.
 */
#include "inject/attach/trap_on_top.h"

#include <errno.h>
#include <unistd.h>

#include "inject/attach/journal.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/remote_mem.h"

enum { BREAKPOINT = 0xcc };

static uint8_t byte_of(uint64_t word, unsigned int index)
{
	return (uint8_t)(word >> (8 * index));
}

/* The first byte that differs; 8: none. */
static unsigned int first_difference(uint64_t a, uint64_t b)
{
	return a == b ? 8 : (unsigned int)__builtin_ctzll(a ^ b) / 8;
}

/* Behind the last byte that differs. pre: one does. */
static unsigned int differences_end(uint64_t a, uint64_t b)
{
	return 8 - (unsigned int)__builtin_clzll(a ^ b) / 8;
}

/* Is live that word of p's, but for a breakpoint in place of byte number at? */
static bool is_trap_on(const struct ring_patch *p, uint64_t live, uint64_t word, unsigned int at)
{
	uint64_t byte = 0xffull << (8 * at);

	return byte_of(live, at) == BREAKPOINT && byte_of(word, at) != BREAKPOINT &&
	       journal_is(p, (live & ~byte) | (word & byte), word);
}

static bool is_traced(const struct target *target)
{
	pid_t tid = proc_live_thread(target->ref.pid);
	struct proc_thread_status status;

	return tid <= 0 || proc_read_thread_status(target->ref.pid, tid, &status) != 0 ||
	       status.tracer != 0;
}

int trap_revert(const struct target *target, const struct ring_patch *p, uint64_t live)
{
	unsigned int at = first_difference(p->original, p->patched), behind = at + 1;
	ssize_t want = (ssize_t)differences_end(p->original, p->patched) - (ssize_t)behind;
	uint64_t original = p->original;

	if (at == 8 || byte_of(original, at) == BREAKPOINT)
		return -EEXIST;
	if (is_trap_on(p, live, original, at))
		return 0;
	if (!is_trap_on(p, live, p->patched, at) || target->read_only || is_traced(target))
		return -EEXIST;
	if (want && pwrite(target->mem, (uint8_t *)&original + behind, (size_t)want,
			   (off_t)(p->address + behind)) != want)
		return -errno;
	return 0;
}

unsigned int traps_yield(const struct target *target, struct ring_journal *j)
{
	unsigned int count = 0;
	uint64_t live;

	for (uint32_t i = 0; i < j->patch_count; i++) {
		struct ring_patch *p = &j->patch[i];

		if (p->state == RING_PATCH_INTENDED &&
		    remote_read(target, p->address, &live, sizeof(live)) == 0 &&
		    !journal_is(p, live, p->patched) && trap_revert(target, p, live) == 0) {
			p->state = RING_PATCH_REVERTED;
			count++;
		}
	}
	return count;
}
