/* SPDX-License-Identifier: MIT */
/*
 * stop.c - stopping the world, as rarely and as briefly as possible.
 *
 * Everything is seized before the first interrupt, because seizing stops
 * nothing; threads born meanwhile are found by listing again until a pass finds
 * no new one, or as many are stopped as there are. Threads are let go in the
 * order in which they were stopped. Waiting goes thread by thread within one
 * budget for all. Rejected: stopping one thread after the other while the rest
 * runs (the first ones then stand still for as long as the last ones take to be
 * scheduled).
 */
#include "inject/quiesce/stop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "inject/quiesce/stack_batch.h"
#include "inject/tracee/abandon.h"
#include "inject/tracee/eintr.h"
#include "inject/tracee/known_tids.h"
#include "inject/tracee/own_stack.h"
#include "inject/tracee/priority.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/sharers.h"
#include "inject/tracee/stood.h"
#include "inject/tracee/tracee.h"
#include "inject/tracee/transfers.h"
#include "inject/tracee/userfault.h"
#include "src/base/log.h"

#define STOP_LIMIT_NS 2000000000ull
enum { FEW_THREADS = 1000 };	/* a budget is for as many; one takes 15 us */

struct stopped_thread {
	pid_t tid;
	uint64_t begin_ns;	/* when it was asked to stop */
	bool stopped, gone;
	bool held;		/* target->held: was stopped before, stays stopped */
	int signal;		/* to be delivered when it is let go */
	struct user_regs_struct registers;
};
struct stop_all {
	const struct target *target;
	struct procmaps maps;
	struct stopped_thread *thread;
	size_t count, room;
	struct known_tids known;	/* those of thread[] */
};

static int make_room(struct stop_all *s)
{
	size_t room = s->room ? s->room * 2 : 64;
	struct stopped_thread *grown;

	if (s->count < s->room)
		return 0;
	if (abandon_prepare(room))
		return -ENOMEM;
	grown = reallocarray(s->thread, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->thread = grown;
	s->room = room;
	return 0;
}

/* Notes a seized thread. pre: make_room. */
static int stop_add(struct stop_all *s, pid_t tid)
{
	s->thread[s->count] = (struct stopped_thread){ .tid = tid };
	if (tid == s->target->held) {
		s->thread[s->count].held = s->thread[s->count].stopped = true;
		if (tracee_get_registers(tid, &s->thread[s->count].registers))
			return -ESRCH;
	}
	s->count++;
	return known_tids_add(&s->known, tid);
}

/* Seizes what is there now; *ret_new says how many were new. A thread that ends meanwhile is fine.
 */
static int seize_listed(struct stop_all *s, size_t *ret_new)
{
	_cleanup_free_ pid_t *tids = NULL;
	size_t found = 0;
	int count = proc_list_threads(s->target->ref.pid, &tids), error;

	for (int i = 0; i < count; i++) {
		if (known_tids_has(&s->known, tids[i]))
			continue;
		error = make_room(s);
		if (!error && tids[i] != s->target->held && !abandon_take(tids[i]))
			error = tracee_seize(tids[i]);
		if (error == -ESRCH ||
		    (error == -EPERM && proc_runs_no_code(s->target->ref.pid, tids[i])))
			continue;
		if (!error)
			error = stop_add(s, tids[i]);
		if (error)
			return error;
		found++;
	}
	known_tids_sort(&s->known);
	*ret_new = found;
	return count < 0 ? count : 0;
}

static int interrupt_from(struct stop_all *s, size_t first)
{
	for (size_t i = first; i < s->count; i++) {
		int error;

		s->thread[i].begin_ns = tracee_now_ns();
		error = s->thread[i].held ? 0 : tracee_interrupt(s->thread[i].tid);
		if (error && error != -ESRCH)
			return error;
		s->thread[i].gone = error == -ESRCH;
	}
	return 0;
}

static int await(struct stopped_thread *t, uint64_t deadline_ns)
{
	struct tracee_stop stop;
	int error;

	if (t->gone || t->stopped)
		return 0;
	error = tracee_wait(t->tid, deadline_ns, &stop);
	if (error == -ESRCH) {
		t->gone = true;
		return 0;
	}
	if (error)
		return error;
	t->stopped = true;
	t->signal = stop.kind == TRACEE_SIGNAL ? stop.signal : 0;
	if (stop.kind == TRACEE_GROUP_STOP)
		return -EBUSY;
	error = tracee_get_registers(t->tid, &t->registers);
	if (!error)
		error = eintr_hide(t->tid, &t->registers);
	return error;
}

/*
 * Are all threads that there are stopped? The kernel adds their number to the links of their
 * directory; to list thousands takes a third of the time that they stand.
 */
static bool has_all(const struct stop_all *s)
{
	struct stat task;
	nlink_t stopped = 2;

	for (size_t i = 0; i < s->count; i++)
		stopped += s->thread[i].stopped && !s->thread[i].gone;
	return fstat(s->target->task, &task) == 0 && task.st_nlink == stopped;
}

static int stop_everything(struct stop_all *s, uint64_t budget_ns)
{
	size_t first = 0, found;
	uint64_t deadline;
	int error = seize_listed(s, &found);

	if (s->count > FEW_THREADS)
		budget_ns = budget_ns * s->count / FEW_THREADS;
	deadline = tracee_now_ns() + budget_ns;
	while (!error && found) {
		error = interrupt_from(s, first);
		for (size_t i = first; !error && i < s->count; i++)
			error = await(&s->thread[i], deadline);
		first = s->count;
		if (error || has_all(s))
			break;
		error = seize_listed(s, &found);
	}
	return error;
}

int stop_all_begin(const struct target *target, uint64_t budget_ns, struct stop_all **ret)
{
	struct stop_all *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return -ENOMEM;
	s->target = target;
	error = procmaps_read(target->maps, &s->maps);
	priority_raise();
	if (!target->held)	/* else before that one was stopped */
		transfers_wait(target);
	if (!error)
		error = stop_everything(s, budget_ns);
	if (error) {
		log_debug("a stop of all %zu threads was given up: %s", s->count, strerror(-error));
		stop_all_end(s, NULL, NULL);
		return error;
	}
	*ret = s;
	return 0;
}

/* The most that is looked through of a stack whose end is not known, as in stack_scan.c. */
#define FAR_BYTES (16ull << 20)
#define NEAR_BYTES (64ull << 10)
#define PAGE_BYTES 4096ull

/*
 * Where what is looked through of t's stack ends. A mapping may have thousands of stacks side by
 * side: where its end is far, the thread's own stack ends at its control block.
 */
static uint64_t end_of_stack(const struct stop_all *s, const struct stopped_thread *t,
			     const struct procmap *map)
{
	uint64_t sp = t->registers.rsp & ~7ull;
	struct own_stack own;

	if (map->end - sp > NEAR_BYTES &&
	    own_stack_find(s->target, &s->maps, t->tid, sp, t->registers.fs_base, &own))
		return own.high;
	return map->end - sp > FAR_BYTES ? sp + FAR_BYTES : map->end;
}

/* Words that several stacks have in common are looked through once. */
static void part_from_others(struct stack_top *top, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++)
			if (top[k].sp > top[i].sp && top[k].sp < top[i].end &&
			    top[k].end >= top[i].end)
				top[i].end = top[k].sp;
}

/*
 * Those of [*first, s->count) that fit into one; end: where each stack ends. Of one that may end
 * before its mapping only sp's page is sure to have been in memory, and is read with the others.
 * False: one of them is in a range, or astray.
 */
static bool take_batch(const struct stop_all *s, const struct stack_scan *scan, size_t *first,
		       struct stack_top *top, uint64_t *end, size_t *ret_count)
{
	for (*ret_count = 0; *first < s->count && *ret_count < STACK_BATCH_THREADS; ++*first) {
		const struct stopped_thread *t = &s->thread[*first];
		const struct procmap *map = procmaps_find(&s->maps, t->registers.rsp);

		if (t->gone)
			continue;
		if (!map || stack_scan_hits(scan, t->registers.rip))
			return false;
		top[(*ret_count)++] = (struct stack_top){ .sp = t->registers.rsp & ~7ull,
							  .end = end_of_stack(s, t, map) };
	}
	part_from_others(top, *ret_count);
	for (size_t i = 0; i < *ret_count; i++) {
		end[i] = top[i].end;
		if (end[i] - top[i].sp > NEAR_BYTES)
			top[i].end = (top[i].sp | (PAGE_BYTES - 1)) + 1;
	}
	return true;
}

void stop_all_look(const struct target *target, struct sharers_seen *ret)
{
	sharers_look(target, ret);
	stack_batch_prepare(userfault_may_be_served(target));
}

void stop_all_look_done(void)
{
	stack_batch_done();
}

bool stop_all_clear_of(const struct stop_all *s, const struct sharers_seen *before,
		       const struct stack_range *range, size_t count)
{
	struct stack_scan scan = { s->target, &s->maps, range, count };

	if (sharers_exist_since(s->target, before))
		return false;
	for (size_t at = 0; at < s->count;) {
		struct stack_top top[STACK_BATCH_THREADS];
		uint64_t end[STACK_BATCH_THREADS];
		pid_t tid = s->thread[at].tid;
		size_t n;

		if (!take_batch(s, &scan, &at, top, end, &n))
			return false;
		stack_batch_read(tid, top, n);
		for (size_t i = 0; i < n; i++)
			if (!stack_scan_clean_known(&scan, top[i].sp, end[i], top[i].word,
						    top[i].count))
				return false;
	}
	return true;
}

size_t stop_all_threads(const struct stop_all *s, struct stop_thread *ret, size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (s->thread[i].gone)
			continue;
		if (count < room)
			ret[count] = (struct stop_thread){ .tid = s->thread[i].tid,
							   .registers = s->thread[i].registers };
		count++;
	}
	return count;
}

void stop_all_end(struct stop_all *s, uint64_t *ret_us, uint32_t *ret_threads)
{
	uint64_t longest = 0, end;
	uint32_t held = 0;

	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		struct stopped_thread *t = &s->thread[i];

		if (t->gone || t->held)
			continue;
		held++;
		if (t->stopped) {
			(void)eintr_detach(t->tid, t->signal);
			end = tracee_now_ns();
			longest = end - t->begin_ns > longest ? end - t->begin_ns : longest;
			continue;
		}
		if (tracee_interrupt(t->tid) == -ESRCH)	/* it may not have been asked yet */
			continue;
		abandon_tracee(t->tid);
	}
	priority_restore();
	(void)abandon_release();
	if (ret_us)
		*ret_us = longest / 1000;
	if (ret_threads)
		*ret_threads = held;
	procmaps_done(&s->maps);
	known_tids_done(&s->known);
	free(s->thread);
	free(s);
}

static int take_sample(const struct target *target, const struct procmaps *maps, size_t room,
		       struct stop_sample *sample)
{
	const struct procmap *map;
	size_t want;
	int error = tracee_get_registers(sample->tid, &sample->registers);

	if (!error)
		error = eintr_hide(sample->tid, &sample->registers);
	map = procmaps_find(maps, sample->registers.rsp);
	if (error || !map)
		return error ? error : -ENOTSUP;
	want = map->end - sample->registers.rsp < room ?
		(size_t)(map->end - sample->registers.rsp) : room;
	sample->stack_bytes = remote_read_some(target, sample->registers.rsp, sample->stack, want);
	return 0;
}

/* Asks tid, which is seized, to stop, and copies what is to be seen; lets it go if not kept. */
static int stop_and_take(const struct target *target, const struct procmaps *maps, size_t room,
			 bool keep, struct stop_sample *sample)
{
	struct tracee_stop stop;
	struct stood stood;
	uint64_t begin_ns;
	int error;

	stood_ask(&stood, target->ref.pid, sample->tid);
	error = tracee_interrupt(sample->tid);
	if (!error)
		error = tracee_wait(sample->tid, tracee_now_ns() + STOP_LIMIT_NS, &stop);
	if (error) {
		abandon_tracee(sample->tid);
		return error;
	}
	begin_ns = stood_since(&stood);
	if (stop.kind == TRACEE_EVENT_STOP)
		error = take_sample(target, maps, room, sample);
	else
		error = stop.kind == TRACEE_GROUP_STOP ? -EBUSY : -EAGAIN;
	if (!error && keep)
		sample->kept_ns = begin_ns;
	else
		(void)eintr_release(sample->tid, &stop);
	sample->held_us = (tracee_now_ns() - begin_ns) / 1000;
	return error;
}

int stop_sample(const struct target *target, pid_t tid, size_t room, bool keep,
		struct stop_sample *ret)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	struct stop_sample sample = { .tid = tid, .stack = malloc(room) };
	int error = sample.stack ? procmaps_read(target->maps, &maps) : -ENOMEM;

	if (!error)
		error = tracee_seize(tid);
	if (!error) {
		priority_raise();
		error = stop_and_take(target, &maps, room, keep, &sample);
		priority_restore();
	}
	if (error)
		stop_sample_done(&sample);
	else
		*ret = sample;
	return error;
}

void stop_sample_release(struct stop_sample *sample)
{
	static const struct tracee_stop stop = { TRACEE_EVENT_STOP, 0 };

	if (!sample->kept_ns)
		return;
	(void)eintr_release(sample->tid, &stop);
	sample->held_us = (tracee_now_ns() - sample->kept_ns) / 1000;
	sample->kept_ns = 0;
}

void stop_sample_done(struct stop_sample *sample)
{
	stop_sample_release(sample);
	free(sample->stack);
	sample->stack = NULL;
}
