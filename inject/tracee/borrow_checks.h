/* SPDX-License-Identifier: MIT */
/* borrow_checks.h - what must be true of a thread that is to make calls for us. */
#ifndef MEMATTACH_BORROW_CHECKS_H
#define MEMATTACH_BORROW_CHECKS_H

#include "inject/tracee/remote_call.h"

/* True if the instruction before rip is `syscall`: what a restart goes back to. */
bool borrow_follows_syscall(const struct borrow *borrow, uint64_t rip);
/* Are registers and stack those that the request expects, if it expects any? */
bool borrow_is_as_expected(const struct borrow *borrow, const struct user_regs_struct *registers);
/*
 * Would our calls go to the program itself, as a SIGSYS? By its own range of addresses they may be
 * exempt, but not those of a function that we have it call.
 */
bool borrow_is_dispatched(const struct borrow *borrow);

#endif
