/* SPDX-License-Identifier: MIT */
/*
 * picture_calls.c - see picture_calls.h. These calls are the only thing that the child ever runs.
 *
 * CLOSE_RANGE_UNSHARE copies only what it is not to close: nothing (Linux 5.9). The file with the
 * child's score belongs to the target's user: the child writes it itself where we are another user
 * without CAP_DAC_OVERRIDE. It must have a table of its own then, or the target would see the
 * descriptor.
 */
#include "inject/snapshot/picture_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "inject/tracee/proc_status.h"
#include "inject/tracee/tracee.h"

#define CLOSE_RANGE_NUMBER   436 /* older headers don't have it */
#define CLOSE_RANGE_UNSHARED 2u  /* CLOSE_RANGE_UNSHARE */
#define CALL_LIMIT_NS        500000000ull
#define BELOW_STACK          256u /* bytes below what its stack holds */

/* Where what a call is given lies, in dead stack: 8 words, text and a NUL. */
union call_text {
	char text[64];
	uint64_t word[8];
};
static const union call_text score_file = { "/proc/self/oom_score_adj" };
static const union call_text highest_score = { "1000" };

static bool run_to(pid_t child, enum tracee_stop_kind wanted)
{
	struct tracee_stop stop;

	return tracee_run_to_syscall(child) == 0 &&
	       tracee_wait(child, tracee_now_ns() + CALL_LIMIT_NS, &stop) == 0 &&
	       stop.kind == wanted;
}

static bool is_filtered(pid_t child)
{
	struct proc_thread_status status;

	return proc_read_status(child, &status) != 0 || status.seccomp != 0;
}

/*
 * Makes one call, with the registers found otherwise, and puts those back: should we be killed by
 * what does not take the child along, it ends itself, as before. Its result; -EIO: it was not made.
 */
static int64_t call_in(pid_t child, uint64_t syscall_ret, long number, const uint64_t argument[3])
{
	struct user_regs_struct found, call;
	bool done;

	if (tracee_get_registers(child, &found) != 0)
		return -EIO;
	call = found;
	call.rip = syscall_ret;
	call.rax = (unsigned long long)number;
	call.rdi = argument[0];
	call.rsi = argument[1];
	call.rdx = argument[2];
	call.orig_rax = ~0ull;
	done = tracee_set_registers(child, &call) == 0 && run_to(child, TRACEE_SYSCALL_ENTRY) &&
	       run_to(child, TRACEE_SYSCALL_EXIT) && tracee_get_registers(child, &call) == 0;
	if (tracee_set_registers(child, &found) != 0 || !done)
		return -EIO;
	return (int64_t)call.rax;
}

bool picture_drop_files(pid_t child, uint64_t syscall_ret)
{
	const uint64_t all[3] = { 0, ~0u, CLOSE_RANGE_UNSHARED };

	return !is_filtered(child) && call_in(child, syscall_ret, CLOSE_RANGE_NUMBER, all) == 0;
}

/* The address of a copy of it in the child; 0: there is no room. */
static uint64_t put_text(pid_t child, const union call_text *text)
{
	struct user_regs_struct found;
	uint64_t address;

	if (tracee_get_registers(child, &found) != 0)
		return 0;
	address = (found.rsp - BELOW_STACK) & ~7ull;
	for (size_t i = 0; i < ARRAY_SIZE(text->word); i++)
		if (tracee_write_word(child, address + i * 8, text->word[i]) != 0)
			return 0;
	return address;
}

bool picture_offer_to_oom(pid_t child, uint64_t syscall_ret)
{
	uint64_t open[3] = { put_text(child, &score_file), O_WRONLY | O_NONBLOCK, 0 };
	uint64_t write[3] = { 0, 0, strlen(highest_score.text) };
	int64_t fd = open[0] ? call_in(child, syscall_ret, SYS_open, open) : -EIO;

	if (fd < 0)
		return false;
	write[0] = (uint64_t)fd;
	write[1] = put_text(child, &highest_score);
	return write[1] && call_in(child, syscall_ret, SYS_write, write) == (int64_t)write[2];
}
