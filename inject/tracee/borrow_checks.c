/* SPDX-License-Identifier: MIT */
/* borrow_checks.c - see borrow_checks.h. */
#include "inject/tracee/borrow_checks.h"

#include <string.h>

#include "inject/arch/x86_64/regs.h"
#include "inject/tracee/remote_mem.h"

bool borrow_follows_syscall(const struct borrow *b, uint64_t rip)
{
	uint8_t code[REGS_SYSCALL_BYTES];

	return remote_read(b->target, rip - sizeof(code), code, sizeof(code)) == 0 &&
	       code[0] == 0x0f && code[1] == 0x05;
}

bool borrow_is_as_expected(const struct borrow *b, const struct user_regs_struct *r)
{
	const struct borrow_request *q = &b->request;
	size_t done = 0;

	if (!q->expect)
		return true;
	if (memcmp(q->expect, r, sizeof(*r)) != 0)
		return false;
	while (done < q->expect_stack_bytes) {
		uint8_t now[4096];
		size_t part = q->expect_stack_bytes - done;

		if (part > sizeof(now))
			part = sizeof(now);
		if (remote_read(b->target, r->rsp + done, now, part) ||
		    memcmp((const uint8_t *)q->expect_stack + done, now, part) != 0)
			return false;
		done += part;
	}
	return true;
}

bool borrow_is_dispatched(const struct borrow *b)
{
	uint64_t selector = 0;
	uint8_t state = 1;

	if (!tracee_dispatches_calls(b->request.tid, &selector))
		return false;
	return !selector || remote_read(b->target, selector, &state, sizeof(state)) || state != 0;
}
