/* SPDX-License-Identifier: MIT */
/*
 * quiesce.c - rolling quiescence.
 *
 * Once nothing leads into the shim any more, a thread that is seen outside, with
 * no word of its stack pointing inside, stays outside for ever; new threads
 * start outside. So each thread must be seen clean once, not all at once, and
 * the world need not stop. A blocked thread is read from /proc with its switch
 * count before and after; a running one is stopped alone, for microseconds.
 * A word that a hook left (it wipes its own, but may be left by longjmp) looks like a
 * return address; a thread that is parked with one is unwound by the analyst instead
 * (quiesce_clear_unwound). Other words into the shim tell nothing: stack_scan.c. A thread whose
 * stack pointer is not surely on its own stack is not clean: what a coroutine left
 * behind can't be seen from there. What a signal handler interrupted can
 * (stack_scan.c). Some threads never come back to their own stack: fibers, Lisp (SBCL). Who is not
 * seen there for a second is looked at where it is, and all memory is searched afterwards
 * (todo->elsewhere, suspended.c). A reference count instead would not be a proof: it misses the
 * instructions before it is taken and after it is dropped, and handlers that
 * longjmp away.
 */
#include "inject/quiesce/quiesce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inject/tracee/abandon.h"
#include "inject/tracee/eintr.h"
#include "inject/tracee/own_stack.h"
#include "inject/tracee/priority.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/sharers.h"
#include "inject/tracee/tracee.h"
#include "inject/tracee/transfers.h"
#include "src/base/pagemap.h"

#define SCAN_BYTES (8ull * 1024 * 1024)
#define PAUSE_NS 2000000l
enum { ELSEWHERE_PASSES = 20 };
enum { PASSES_BEFORE_STOPS = 2 };	/* who runs may wait by then, and needs no stop */
#define ELSEWHERE_NS 1000000000ull	/* the analyst has unwound it by then, if it can */
#define STOP_LIMIT_NS 300000000ull

struct scan {
	const struct target *target;
	struct stack_scan stack;
	struct procmaps maps;
	struct quiesce_result *result;
	struct quiesce_todo *todo;
};

/*
 * Is sp on tid's own stack? Else it may be on another one (a handler's alternate one, a
 * coroutine's), from which nothing follows about the thread's own.
 */
static bool is_on_own(const struct scan *s, pid_t tid, uint64_t sp, uint64_t thread_pointer,
		      struct own_stack *ret)
{
	return own_stack_find(s->target, &s->maps, tid, sp, thread_pointer, ret) &&
	       ret->high - sp <= SCAN_BYTES;
}

/*
 * glibc's thread control block of tid above sp in sp's mapping, found without a
 * stop: its first and third word point to itself, its tid is at 0x2d0 (all of
 * glibc 2.17 to 2.41 on x86-64). 0: none, or another libc: the thread is then stopped.
 */
static uint64_t block_within(const struct scan *s, pid_t tid, uint64_t at, uint64_t end)
{
	uint64_t word[512];
	int32_t named;

	for (size_t got = sizeof(word); at < end && got == sizeof(word); at += got) {
		size_t want = end - at < sizeof(word) ? (size_t)(end - at) : sizeof(word);

		got = remote_read_some(s->target, at, word, want);
		for (size_t i = 0; i + 2 < got / sizeof(word[0]); i += 8)
			if (word[i] == at + i * 8 && word[i + 2] == word[i] &&
			    remote_read(s->target, word[i] + 0x2d0, &named, sizeof(named)) == 0 &&
			    named == tid)
				return word[i];
	}
	return 0;
}

static uint64_t find_thread_pointer(const struct scan *s, pid_t tid, uint64_t sp)
{
	const struct procmap *map = procmaps_find(&s->maps, sp);
	uint64_t at = (sp + 63) & ~63ull, found = 0, end;
	struct pagemap_range range;
	struct pagemap pagemap;

	if (!map)
		return 0;
	end = map->end - sp < SCAN_BYTES ? map->end : sp + SCAN_BYTES;
	pagemap_init(&pagemap, map->prot & PROCMAP_SHARED ? -1 : s->target->pagemap);
	while (!found && pagemap_stretch(&pagemap, &at, end, &range))
		found = block_within(s, tid, range.low, range.high);
	return found;
}

/* A thread is outside, at sp of its own stack: once each, so there is room. */
static void note_dead(const struct scan *s, const struct own_stack *own, uint64_t sp)
{
	if (own->low)
		s->todo->dead[s->todo->dead_count++] = (struct quiesce_dead){ own->low, sp };
}

/*
 * 1 clean, 0 not clean, -EAGAIN running or it moved meanwhile, -ESRCH. vain: where its stack
 * pointer was when its control block was looked for in vain, which takes long.
 */
static int look_without_stop(const struct scan *s, pid_t tid, uint64_t *vain)
{
	struct proc_thread_syscall call;
	struct own_stack own;
	uint64_t before, after, thread_pointer;
	bool clean;
	int error = proc_read_run_count(s->target->ref.pid, tid, &before);

	if (!error)
		error = proc_read_thread_syscall(s->target->ref.pid, tid, &call);
	if (error)
		return error;
	if (call.running)
		return -EAGAIN;
	thread_pointer = *vain == call.sp ? 0 : find_thread_pointer(s, tid, call.sp);
	*vain = thread_pointer ? 0 : call.sp;
	if (!is_on_own(s, tid, call.sp, thread_pointer, &own))
		/* its registers will tell, once that costs it nothing, or for long it would */
		return transfer_is_one(&call) &&
		       tracee_now_ns() - s->todo->listed_ns < ELSEWHERE_NS ? 0 : -EAGAIN;
	clean = !stack_scan_hits(&s->stack, call.pc) &&
		stack_scan_clean(&s->stack, call.sp, own.high);
	error = proc_read_run_count(s->target->ref.pid, tid, &after);
	if (error)
		return error;
	if (before != after)
		return -EAGAIN;
	if (clean)
		note_dead(s, &own, call.sp);
	return clean;
}

/* A stack that is not its own ends somewhere above sp in that mapping. 0: it is no mapping. */
static uint64_t other_stack_end(const struct scan *s, uint64_t sp)
{
	const struct procmap *map = procmaps_find(&s->maps, sp);

	if (!map || !(map->prot & PROCMAP_W))
		return 0;
	return map->end - sp <= SCAN_BYTES ? map->end : sp + SCAN_BYTES;
}

static int look_at_stopped(const struct scan *s, pid_t tid)
{
	struct user_regs_struct r;
	struct own_stack own;
	uint64_t end = 0;
	bool is_own;
	int error = tracee_get_registers(tid, &r);

	if (error)
		return error;
	is_own = is_on_own(s, tid, r.rsp, r.fs_base, &own);
	if (is_own)
		end = own.high;
	else if (s->todo->passes > ELSEWHERE_PASSES &&
		 tracee_now_ns() - s->todo->listed_ns > ELSEWHERE_NS)
		end = other_stack_end(s, r.rsp);
	if (!end || stack_scan_hits(&s->stack, r.rip) ||
	    !stack_scan_clean(&s->stack, r.rsp, end))
		return 0;
	if (is_own)
		note_dead(s, &own, r.rsp);
	else
		s->todo->elsewhere = true;
	return 1;
}

static void clear(struct quiesce_todo *todo, pid_t tid)
{
	for (size_t i = 0; i < todo->count; i++)
		if (todo->tid[i] == tid) {
			todo->tid[i] = todo->tid[--todo->count];
			todo->vain[i] = todo->vain[todo->count];
			return;
		}
}

/* Threads that run: asked to stop all together, each let go as soon as it was looked at. */
struct batch {
	pid_t *tid;
	size_t count;
};

static void ask_to_stop(struct scan *s, struct batch *batch, struct quiesce_todo *todo)
{
	size_t kept = 0;

	for (size_t i = 0; i < batch->count; i++) {
		pid_t tid = batch->tid[i];

		/* seized before and still running; or gone; or another's tracee: next time */
		if (!abandon_take(tid) && tracee_seize(tid) != 0) {
			if (proc_runs_no_code(s->target->ref.pid, tid))
				clear(todo, tid);
			continue;
		}
		if (tracee_interrupt(tid) == 0)
			batch->tid[kept++] = tid;
	}
	batch->count = kept;
}

/* 1 tid was looked at or is gone, 0 it has not stopped yet, -errno. */
static int look_if_stopped(struct scan *s, pid_t tid, struct quiesce_todo *todo)
{
	struct tracee_stop stop;
	uint64_t begin, held;
	int got = tracee_wait(tid, 0, &stop);

	if (got)
		return got == -ESRCH ? 1 : got == -ETIME ? 0 : got;
	begin = tracee_now_ns();
	got = look_at_stopped(s, tid);
	(void)eintr_release(tid, &stop);
	held = (tracee_now_ns() - begin) / 1000;
	s->result->stopped++;
	if (held > s->result->stop_us_max)
		s->result->stop_us_max = held;
	if (got == 1)
		clear(todo, tid);
	return got < 0 && got != -ESRCH ? got : 1;
}

/* Looks at all of the batch that stop in time. 0 or -errno. */
static int look_at_running(struct scan *s, struct batch *batch, struct quiesce_todo *todo)
{
	uint64_t end = tracee_now_ns() + STOP_LIMIT_NS;
	int error = batch->count ? abandon_prepare(batch->count) : 0, late = 0;

	if (error || !batch->count)
		return error;
	priority_raise();	/* else who has stopped waits for us until our turn */
	ask_to_stop(s, batch, todo);
	while (batch->count && !late) {
		size_t left = 0;

		for (size_t i = 0; i < batch->count; i++) {
			int got = look_if_stopped(s, batch->tid[i], todo);

			if (got < 0)
				error = error ? error : got;
			if (got == 0)
				batch->tid[left++] = batch->tid[i];
		}
		batch->count = left;
		if (left)
			late = tracee_wait_any(end);
	}
	for (size_t i = 0; i < batch->count; i++)
		abandon_tracee(batch->tid[i]);
	priority_restore();
	return error;
}

/* Looks at what can be seen without a stop; the running ones are left in batch. 0 or -errno. */
static int look_at_blocked(struct scan *s, struct quiesce_todo *todo, struct batch *batch)
{
	size_t left = 0;
	int error = 0;

	for (size_t i = 0; i < todo->count; i++) {
		pid_t tid = todo->tid[i];
		int got = error ? 0 : look_without_stop(s, tid, &todo->vain[i]);

		if (got == 1 || got == -ESRCH || got == -ENOENT ||
		    (got == 0 && proc_is_worker(s->target->ref.pid, tid)))
			continue;
		todo->vain[left] = todo->vain[i];
		todo->tid[left++] = tid;
		if (got == -EAGAIN || got == -ENODATA) {	/* runs; is about to end */
			if (todo->passes > PASSES_BEFORE_STOPS)
				batch->tid[batch->count++] = tid;
		} else if (got < 0) {
			error = got;
		}
	}
	todo->count = left;
	return error;
}

/* One look at every thread of todo. 0 or -errno. */
static int pass(struct scan *s, struct quiesce_todo *todo)
{
	_cleanup_free_ pid_t *running = calloc(todo->count + 1, sizeof(*running));
	struct batch batch = { running, 0 };
	int error;

	if (!running)
		return -ENOMEM;
	todo->passes++;
	procmaps_done(&s->maps);
	error = procmaps_read(s->target->maps, &s->maps);
	if (!error)
		error = look_at_blocked(s, todo, &batch);
	if (!error)
		error = look_at_running(s, &batch, todo);
	return error;
}

void quiesce_todo_done(struct quiesce_todo *todo)
{
	free(todo->tid);
	free(todo->vain);
	free(todo->dead);
	*todo = (struct quiesce_todo){ .tid = NULL };
}

void quiesce_clear_unwound(const struct target *target, struct quiesce_todo *todo, pid_t tid,
			   uint64_t sp, uint64_t thread_pointer)
{
	struct scan scan = { .target = target };
	struct own_stack own;

	if (procmaps_read(target->maps, &scan.maps) != 0 ||
	    !is_on_own(&scan, tid, sp, thread_pointer, &own))
		todo->elsewhere = true;
	procmaps_done(&scan.maps);
	clear(todo, tid);
}

static int list_threads(const struct target *target, struct quiesce_todo *todo)
{
	int count = proc_list_threads(target->ref.pid, &todo->tid);

	if (count < 0)
		return count;
	todo->dead = calloc((size_t)count + 1, sizeof(*todo->dead));
	todo->vain = calloc((size_t)count + 1, sizeof(*todo->vain));
	if (!todo->dead || !todo->vain) {
		quiesce_todo_done(todo);
		return -ENOMEM;
	}
	todo->count = (size_t)count;
	todo->listed = true;
	todo->listed_ns = tracee_now_ns();
	return 0;
}

int quiesce_wait(const struct target *target, const struct stack_range *range, size_t count,
		 uint64_t deadline_ns, struct quiesce_todo *todo, struct quiesce_result *ret)
{
	struct scan scan = { .target = target, .result = ret, .todo = todo };
	struct timespec pause = { 0, PAUSE_NS };
	int error = todo->listed ? 0 : list_threads(target, todo);

	scan.stack = (struct stack_scan){ target, &scan.maps, range, count };
	*ret = (struct quiesce_result){ .threads = (uint32_t)todo->count };
	while (!error) {
		error = pass(&scan, todo);
		if (error || (!todo->count && !sharers_exist(target)))
			break;
		ret->blocker = todo->count ? todo->tid[0] : 0;
		if (!pidref_alive(&target->ref))
			error = -ESRCH;
		else if (tracee_now_ns() > deadline_ns)
			error = -ETIME;
		else
			(void)nanosleep(&pause, NULL);
		(void)abandon_release();
	}
	procmaps_done(&scan.maps);
	return error;
}
