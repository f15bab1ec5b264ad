/* SPDX-License-Identifier: MIT */
/* regs.h - what of x86-64's registers means what, for remote_call.c. */
#ifndef MEMATTACH_REGS_H
#define MEMATTACH_REGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

enum {
	REGS_SYSCALL_BYTES = 2,		/* length of the `syscall` instruction */
	REGS_USER_CS = 0x33,		/* 64-bit user code segment */
	REGS_TF_DF = 0x500,		/* trap and direction flags, clear during calls */
};

/* Makes `to` run number at the gadget `syscall; ret` (rip there) with the given arguments. */
void regs_set_syscall(struct user_regs_struct *to, long number, const uint64_t arguments[6]);
/* True at the exit of a call that has opened a file: its name is at *ret_name. */
bool regs_has_opened(const struct user_regs_struct *at_exit, uint64_t *ret_name, int *ret_fd);
/* The mapping that a thread at the exit of mmap has made: where, how, by which descriptor. */
struct regs_mapped {
	uint64_t address, bytes, flags;
	int fd;
};
/* False at the exit of any other call, or of one that failed. */
bool regs_has_mapped(const struct user_regs_struct *at_exit, struct regs_mapped *ret);
/*
 * True at the exit of an mmap or mprotect that has failed; ret: what it was asked for, with flags 0
 * and fd -1 of mprotect.
 */
bool regs_has_not_mapped(const struct user_regs_struct *at_exit, struct regs_mapped *ret);
/* Makes the call return that. */
void regs_set_result(struct user_regs_struct *at_exit, int64_t result);
/* True when the call that was interrupted is one whose -EINTR comes from the interruption alone. */
bool regs_eintr_is_ours(long number);
/* The same if the descriptor in rdi is a socket's (SO_SNDTIMEO); who knows what other files do. */
bool regs_eintr_is_ours_of_socket(long number);

#endif
