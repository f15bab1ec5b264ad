/* SPDX-License-Identifier: MIT */
/*
 * transfers.c - see transfers.h. Calls and their arguments as in their man pages; of the ones that
 * move what the caller has, only a single byte can't be divided. Not here: what returns with the
 * first part anyway (read, recv), what is never ended by a stop (files of disks).
 */
#include "inject/tracee/transfers.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject/tracee/tracee.h"

#define PATIENCE_NS 1000000000ull
#define ENTER 426			/* io_uring_enter */
#define ENTER_GETEVENTS 1u
#define CALM_NS 10000000000ull	/* without a pause: there is patience again */
enum { PAUSE_NS = 1000000, RUNNING_LOOKS = 3 };

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

enum transfer_seen transfer_seen(pid_t pid, pid_t tid)
{
	struct proc_thread_syscall call;

	if (proc_read_thread_syscall(pid, tid, &call) != 0 || call.running)
		return TRANSFER_UNKNOWN;
	return transfer_is_one(&call) ? TRANSFER_UNDER_WAY : TRANSFER_NONE;
}

/* Threads that were seen in one; those for which there was no memory are not here. */
struct suspects {
	struct suspect {
		pid_t tid;
		unsigned int running;	/* looks in a row since it was seen in its transfer */
	} *thread;
	size_t count;
};

static struct suspect *suspect_of(const struct suspects *s, pid_t tid)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->thread[i].tid == tid)
			return &s->thread[i];
	return NULL;
}

static void suspect(struct suspects *s, pid_t tid)
{
	struct suspect *known = suspect_of(s, tid), *grown;

	if (!known) {
		grown = reallocarray(s->thread, s->count + 1, sizeof(*grown));
		if (!grown)
			return;
		s->thread = grown;
		known = &grown[s->count++];
	}
	*known = (struct suspect){ .tid = tid };
}

/*
 * One that takes its next part runs for a moment, and nothing shows in what. With a look at each of
 * dozens of parts, that is how most transfers would be seen to be over.
 */
static bool may_be_under_way(struct suspects *s, pid_t pid, pid_t tid)
{
	struct proc_thread_syscall call;
	struct suspect *known;

	if (proc_read_thread_syscall(pid, tid, &call) != 0)
		return false;
	if (transfer_is_one(&call)) {
		suspect(s, tid);
		return true;
	}
	known = suspect_of(s, tid);
	if (known && call.running && known->running < RUNNING_LOOKS) {
		known->running++;
		return true;
	}
	if (known)
		*known = s->thread[--s->count];
	return false;
}

static bool any_may_be_under_way(struct suspects *s, const struct target *target)
{
	_cleanup_free_ pid_t *tids = NULL;
	int count = proc_list_threads(target->ref.pid, &tids);
	bool any = false;

	for (int i = 0; i < count; i++)
		any |= may_be_under_way(s, target->ref.pid, tids[i]);
	return any;
}

void transfers_wait(const struct target *target)
{
	struct suspects suspects = { .count = 0 };

	while (transfers_have_patience() && any_may_be_under_way(&suspects, target))
		transfers_pause();
	free(suspects.thread);
}

void transfers_wait_for(pid_t pid, pid_t tid)
{
	struct suspects suspects = { .count = 0 };

	while (transfers_have_patience() && may_be_under_way(&suspects, pid, tid))
		transfers_pause();
	free(suspects.thread);
}
