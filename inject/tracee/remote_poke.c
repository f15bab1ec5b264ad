/* SPDX-License-Identifier: MIT */
/*
 * remote_poke.c - see remote_poke.h.
 *
 * /proc/PID/mem of another user is opened for writing by who holds CAP_DAC_OVERRIDE alone, which is
 * as good as being root. CAP_SYS_PTRACE is enough to write through a thread that we have stopped:
 * it can't exec meanwhile, so it is still the address space that was meant. A thread that is
 * stopped by us already, as all are in a stop and one is in a call, is taken as it is; else one is
 * stopped for as long as the writing takes, some 50 microseconds.
 * Rejected: having the target open its own file for us: it may lack /proc, or the right to.
 */
#include "inject/tracee/remote_poke.h"

#include <errno.h>
#include <sys/uio.h>

#include "inject/tracee/abandon.h"
#include "inject/tracee/eintr.h"
#include "inject/tracee/priority.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/tracee.h"
#include "inject/tracee/transfers.h"

#define STOP_LIMIT_NS 200000000ull
enum { MAX_THREADS = 256 };

/* What is to be written: one word, or bytes. */
struct poke {
	uint64_t address, word;
	const void *buffer;	/* NULL: the word */
	size_t bytes;
};

/* pre: tid is stopped by us. */
static int write_through(pid_t tid, const struct poke *poke)
{
	struct iovec from = { (void *)(uintptr_t)poke->buffer, poke->bytes };
	struct iovec to = { (void *)(uintptr_t)poke->address, poke->bytes };
	ssize_t put;
	int error;

	if (!poke->buffer) {
		error = tracee_write_word(tid, poke->address, poke->word);
		return error == -EIO ? -EFAULT : error;
	}
	put = process_vm_writev(tid, &from, 1, &to, 1, 0);
	if (put < 0)
		return -errno;
	return (size_t)put == poke->bytes ? 0 : -EFAULT;
}

/* pre: it is seized; it is let go. */
static int stop_and_write(pid_t tid, const struct poke *poke)
{
	struct tracee_stop stop;
	int error = tracee_interrupt(tid);

	if (!error)
		error = tracee_wait(tid, tracee_now_ns() + STOP_LIMIT_NS, &stop);
	if (error) {
		abandon_tracee(tid);
		return error;
	}
	error = write_through(tid, poke);
	(void)eintr_release(tid, &stop);
	return error;
}

static bool is_stopped_by_us(pid_t tid)
{
	struct user_regs_struct registers;

	return tracee_get_registers(tid, &registers) == 0;
}

static int poke_by(pid_t tid, const struct poke *poke)
{
	int error;

	if (is_stopped_by_us(tid))
		return write_through(tid, poke);
	error = tracee_seize(tid);
	if (error)
		return error;
	priority_raise();
	error = stop_and_write(tid, poke);
	priority_restore();
	return error;
}

/* Is it the thread, not the address, that it failed for? */
static bool another_may_do(int error)
{
	return error && error != -EFAULT;
}

/* Those first that a stop costs nothing: dozens of words are written, all by the same thread. */
static int poke_by_any_of(pid_t pid, const pid_t *tids, int count, const struct poke *poke)
{
	int error = -ESRCH;

	for (enum transfer_seen seen = TRANSFER_NONE; seen <= TRANSFER_UNDER_WAY; seen++)
		for (int i = 0; i < count && another_may_do(error); i++) {
			if (seen == TRANSFER_UNDER_WAY)
				transfers_wait_for(pid, tids[i]);
			else if (transfer_seen(pid, tids[i]) != seen)
				continue;
			error = poke_by(tids[i], poke);
		}
	return error;
}

static int poke_by_any(const struct target *target, const struct poke *poke)
{
	pid_t tids[MAX_THREADS], lead = proc_live_thread(target->ref.pid);
	int count, error = -ESRCH;

	if (!pidref_alive(&target->ref))
		return -ESRCH;
	if (lead > 0 && transfer_seen(target->ref.pid, lead) == TRANSFER_NONE)
		error = poke_by(lead, poke);
	if (!another_may_do(error))
		return error;
	count = proc_list_task(target->task, tids, MAX_THREADS);
	return poke_by_any_of(target->ref.pid, tids, count < MAX_THREADS ? count : MAX_THREADS,
			      poke);
}

int remote_poke(const struct target *target, uint64_t address, const void *buffer, size_t bytes)
{
	return poke_by_any(target, &(struct poke){ .address = address, .buffer = buffer,
						   .bytes = bytes });
}

int remote_poke_word(const struct target *target, uint64_t address, uint64_t word)
{
	return poke_by_any(target, &(struct poke){ .address = address, .word = word });
}
