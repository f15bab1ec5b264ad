/* SPDX-License-Identifier: MIT */
/*
 * quiesce.c - rolling quiescence.
 *
 * Once nothing leads into the shim any more, a thread that is seen outside, with
 * no word of its stack pointing inside, stays outside for ever; new threads
 * start outside. So each thread must be seen clean once, not all at once, and
 * the world need not stop. A blocked thread is read from /proc with its switch
 * count before and after; a running one is stopped alone, for microseconds.
 * A stale word on a stack looks like a return address; a thread that is parked
 * with one is unwound by the analyst instead (quiesce_clear). A reference count instead would not
 * be a proof: it misses the instructions before it is taken and after it is dropped, and handlers
 * that longjmp away.
 */
#include "inject/quiesce.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "inject/abandon.h"
#include "inject/eintr.h"
#include "inject/proc_status.h"
#include "inject/remote_mem.h"
#include "inject/tracee.h"

#define SCAN_BYTES (8ull * 1024 * 1024)
#define PAUSE_NS 2000000l

struct scan {
	const struct target *target;
	const struct quiesce_range *range;
	size_t count;
	struct procmaps maps;
	struct quiesce_result *result;
};

static bool inside(const struct scan *s, uint64_t value)
{
	for (size_t i = 0; i < s->count; i++)
		if (value >= s->range[i].low && value < s->range[i].high)
			return true;
	return false;
}

/* Every aligned word from sp to the end of its mapping. An unknown stack is not clean. */
static bool stack_clean(const struct scan *s, uint64_t sp)
{
	const struct procmap *map = procmaps_find(&s->maps, sp);
	uint64_t at = sp & ~7ull, end;
	uint64_t word[512];

	if (!map)
		return false;
	end = map->end - at > SCAN_BYTES ? at + SCAN_BYTES : map->end;
	while (at < end) {
		size_t want = end - at < sizeof(word) ? (size_t)(end - at) : sizeof(word);
		size_t got = remote_read_some(s->target, at, word, want);

		for (size_t i = 0; i < got / sizeof(word[0]); i++)
			if (inside(s, word[i]))
				return false;
		if (got < want)
			return true;
		at += got;
	}
	return true;
}

/* 1 clean, 0 not clean, -EAGAIN running or it moved meanwhile, -ESRCH. */
static int look_without_stop(const struct scan *s, pid_t tid)
{
	struct proc_thread_syscall call;
	uint64_t before, after;
	bool clean;
	int error = proc_read_run_count(s->target->ref.pid, tid, &before);

	if (!error)
		error = proc_read_thread_syscall(s->target->ref.pid, tid, &call);
	if (error)
		return error;
	if (call.running)
		return -EAGAIN;
	clean = !inside(s, call.pc) && stack_clean(s, call.sp);
	error = proc_read_run_count(s->target->ref.pid, tid, &after);
	if (error)
		return error;
	return before != after ? -EAGAIN : clean;
}

static int look_at_stopped(const struct scan *s, pid_t tid, const struct tracee_stop *stop)
{
	struct user_regs_struct r;
	int error = tracee_get_registers(tid, &r);

	if (error)
		return error;
	if (stop->kind == TRACEE_EVENT_STOP && eintr_hide(tid, &r))
		return -ESRCH;
	return !inside(s, r.rip) && stack_clean(s, r.rsp);
}

static int look_with_stop(const struct scan *s, pid_t tid)
{
	struct tracee_stop stop;
	uint64_t begin, held;
	int clean, error = tracee_seize(tid);

	if (error)
		return error == -EPERM ? 0 : error;	/* abandoned or traced: look again later */
	error = tracee_interrupt(tid);
	if (!error)
		error = tracee_wait(tid, tracee_now_ns() + 100000000ull, &stop);
	if (error == -ETIME) {
		abandon_tracee(tid);
		return 0;
	}
	if (error)
		return error;
	begin = tracee_now_ns();
	clean = look_at_stopped(s, tid, &stop);
	(void)tracee_detach(tid, stop.kind == TRACEE_SIGNAL ? stop.signal : 0);
	held = (tracee_now_ns() - begin) / 1000;
	s->result->stopped++;
	if (held > s->result->stop_us_max)
		s->result->stop_us_max = held;
	return clean;
}

/* One pass over all threads that were not yet seen clean; the number still inside, or -errno. */
static int pass(struct scan *s, struct hashmap *clean)
{
	_cleanup_free_ pid_t *tids = NULL;
	int count, left = 0;

	procmaps_done(&s->maps);
	count = procmaps_read(s->target->maps, &s->maps);
	if (count)
		return count;
	count = proc_list_threads(s->target->ref.pid, &tids);
	s->result->threads = count > 0 ? (uint32_t)count : 0;
	for (int i = 0; i < count; i++) {
		uint64_t seen;
		int got;

		if (hashmap_get(clean, (uint64_t)tids[i], &seen))
			continue;
		got = look_without_stop(s, tids[i]);
		if (got == -EAGAIN || got == -ENODATA)	/* runs; is about to end */
			got = look_with_stop(s, tids[i]);
		if (got == -ESRCH || got == -ENOENT)
			continue;
		if (got == 1)
			got = hashmap_put(clean, (uint64_t)tids[i], 1) ? -ENOMEM : 1;
		if (got < 0)
			return got;
		if (!got) {
			left++;
			s->result->blocker = tids[i];
		}
	}
	return count < 0 ? count : left;
}

void quiesce_seen_done(struct quiesce_seen *seen)
{
	hashmap_done(&seen->tid);
}

int quiesce_clear(struct quiesce_seen *seen, pid_t tid)
{
	return hashmap_put(&seen->tid, (uint64_t)tid, 1);
}

int quiesce_wait(const struct target *target, const struct quiesce_range *range, size_t count,
		 uint64_t deadline_ns, struct quiesce_seen *seen, struct quiesce_result *ret)
{
	struct scan scan = { .target = target, .range = range, .count = count, .result = ret };
	struct timespec pause = { 0, PAUSE_NS };
	int left;

	*ret = (struct quiesce_result){ 0 };
	for (;;) {
		left = pass(&scan, &seen->tid);
		if (left <= 0)
			break;
		if (!pidref_alive(&target->ref))
			left = -ESRCH;
		else if (tracee_now_ns() > deadline_ns)
			left = -ETIME;
		if (left < 0)
			break;
		(void)nanosleep(&pause, NULL);
		(void)abandon_release();
	}
	procmaps_done(&scan.maps);
	return left;
}
