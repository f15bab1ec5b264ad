/* SPDX-License-Identifier: MIT */
/*
 * transfers.c - see transfers.h. Calls and their arguments as in their man pages; of the ones that
 * move what the caller has, only a single byte can't be divided. Not here: what returns with the
 * first part anyway (read, recv), what is never ended by a stop (files of disks).
 */
#include "inject/transfers.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject/tracee.h"

#define PATIENCE_NS 1000000000ull
#define ENTER 426			/* io_uring_enter */
#define ENTER_GETEVENTS 1u
#define CALM_NS 10000000000ull	/* without a pause: there is patience again */
enum { PAUSE_NS = 1000000 };

static uint64_t waited_ns, last_ns;

/* argument (from 0) is more than least, or has the bits. */
struct transfer {
	short number;
	uint8_t argument;
	uint8_t least;
	uint32_t bits;
};

static const struct transfer transfers[] = {
	{ SYS_write, 2, 1, 0 },
	{ SYS_writev, 2, 0, 0 },
	{ SYS_sendto, 2, 1, 0 },
	{ SYS_sendmsg, 0, 0, 0 },
	{ SYS_sendmmsg, 2, 0, 0 },
	{ SYS_sendfile, 3, 1, 0 },
	{ SYS_splice, 4, 1, 0 },
	{ SYS_vmsplice, 2, 0, 0 },
	{ SYS_recvfrom, 3, 0, MSG_WAITALL },
	{ SYS_recvmsg, 2, 0, MSG_WAITALL },
	{ SYS_recvmmsg, 2, 1, 0 },
	{ SYS_io_getevents, 1, 1, 0 },
#ifdef SYS_io_pgetevents
	{ SYS_io_pgetevents, 1, 1, 0 },
#endif
};

/*
 * Who submits and waits in one call gets the number that was submitted, which a stop can't take
 * back to have the wait go on; who waits for several gets those that are there.
 */
static bool is_wait_for_ring(const struct proc_thread_syscall *call)
{
	return !call->running && call->number == ENTER && (call->argument[3] & ENTER_GETEVENTS) &&
	       call->argument[2] > (call->argument[1] ? 0 : 1);
}

bool transfer_is_one(const struct proc_thread_syscall *call)
{
	if (is_wait_for_ring(call))
		return true;
	for (size_t i = 0; !call->running && i < ARRAY_SIZE(transfers); i++) {
		const struct transfer *t = &transfers[i];
		uint64_t argument = call->argument[t->argument];

		if (t->number == call->number)
			return t->bits ? (argument & t->bits) != 0 :
			       t->argument == 0 || argument > t->least;
	}
	return false;
}

bool transfers_have_patience(void)
{
	if (tracee_now_ns() - last_ns > CALM_NS)
		waited_ns = 0;
	return waited_ns < PATIENCE_NS;
}

void transfers_pause(void)
{
	uint64_t began = tracee_now_ns();

	(void)nanosleep(&(struct timespec){ 0, PAUSE_NS }, NULL);
	last_ns = tracee_now_ns();
	waited_ns += last_ns - began;
}

bool transfer_is_under_way(pid_t pid, pid_t tid)
{
	struct proc_thread_syscall call;

	return proc_read_thread_syscall(pid, tid, &call) == 0 && transfer_is_one(&call);
}

static bool any_is_under_way(const struct target *target)
{
	_cleanup_free_ pid_t *tids = NULL;
	int count = proc_list_threads(target->ref.pid, &tids);

	for (int i = 0; i < count; i++)
		if (transfer_is_under_way(target->ref.pid, tids[i]))
			return true;
	return false;
}

void transfers_wait(const struct target *target)
{
	while (transfers_have_patience() && any_is_under_way(target))
		transfers_pause();
}

void transfers_wait_for(pid_t pid, pid_t tid)
{
	while (transfers_have_patience() && transfer_is_under_way(pid, tid))
		transfers_pause();
}
