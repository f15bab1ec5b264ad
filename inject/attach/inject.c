/* SPDX-License-Identifier: MIT */
/*
 * inject.c - the table of steps: downwards to attach, upwards to detach.
 *
 * Every change to the target is one row with its undo beside it. The target
 * runs during all of them: what has to stop a thread does so itself, briefly
 * (load: one; entries: all, only where an entry needs it; quiesce: one at a
 * time). Each row leaves a target that runs correctly for ever if we end there.
 */
#include "inject/attach/inject.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "inject/abi/memfd_names.h"
#include "inject/attach/deadline.h"
#include "inject/attach/hooks.h"
#include "inject/attach/ring_setup.h"
#include "inject/attach/shim_image.h"
#include "inject/attach/target_lock.h"
#include "inject/attach/text_pages.h"
#include "inject/quiesce/loader_locks.h"
#include "inject/tracee/abandon.h"
#include "inject/tracee/launch.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/sharers.h"
#include "inject/tracee/steps.h"
#include "inject/tracee/tracee.h"
#include "src/base/spare_pages.h"
#include "src/base/why.h"

#define RECORD_PAUSE_NS	50000000l
#define QUIESCE_LIMIT_NS 500000000ull	/* then the analyst looks at who is in the way */

enum { RECORD_TRIES = 5 };

static int undo_lock(struct inject *in)
{
	cleanup_fd(&in->lock);
	in->lock = -1;
	return 0;
}

static int do_lock(struct inject *in)
{
	int error = target_lock_take(&in->at.target.ref, &in->lock);

	if (error == -EALREADY)
		(void)snprintf(in->problem, sizeof(in->problem),
			       "another memattach is attached to process %d; detach that one first",
			       in->at.target.ref.pid);
	return error;
}

static int do_record(struct inject *in)
{
	return pristine_take(&in->at.target.ref, &in->before);
}

/* For a cleanup, which does not know what the target looked like before. */
static int check_nothing_left(struct inject *in)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	int error = procmaps_read(in->at.target.maps, &maps);

	for (size_t i = 0; !error && i < maps.count; i++)
		if (memfd_path_is_ours(maps.map[i].path))
			error = -EUCLEAN;
	in->pristine = error == 0;
	return error;
}

/* What the machine refuses once, out of memory or descriptors, it may allow a moment later. */
static int take_again(const struct inject *in, struct pristine **ret)
{
	const struct pidref *ref = &in->at.target.ref;
	const struct timespec pause = { 0, RECORD_PAUSE_NS };
	int error = pristine_take(ref, ret);

	for (int i = 1; error && error != -ESRCH && i < RECORD_TRIES; i++) {
		(void)nanosleep(&pause, NULL);
		error = pristine_take(ref, ret);
	}
	return error;
}

/* What debuggers and the program itself have changed beside us is theirs. */
static int compare_with_before(struct inject *in, const struct pristine *after)
{
	struct pristine_diff diff;
	unsigned int left = text_pages_left(&in->at.target, &in->at.journal);

	if (pristine_compare(in->before, after, PRISTINE_SHARED, &diff))
		(void)snprintf(in->problem, sizeof(in->problem), "%.500s", diff.text);
	else if (left)
		(void)snprintf(in->problem, sizeof(in->problem),
			       "%u pages of code that were hooked are private copies", left);
	else
		return 0;
	return -EUCLEAN;
}

static int undo_record(struct inject *in)
{
	struct pristine *after = NULL;
	int error;

	if (!in->before)
		return check_nothing_left(in);
	(void)launch_release(&in->at.target);	/* nothing of ours is left to take out */
	abandon_await();
	error = take_again(in, &after);
	if (!error)
		error = compare_with_before(in, after);
	in->pristine = error == 0;
	pristine_free(after);
	return error;
}

static int do_load(struct inject *in)
{
	int error = load_shim(&in->at, &in->load);

	if (error == -EBUSY)
		(void)snprintf(in->problem, sizeof(in->problem),
			       "process %d was stopped by job control; continue it first",
			       in->at.target.ref.pid);
	if (error == -ENODEV)
		(void)snprintf(in->problem, sizeof(in->problem),
			       "its threads may not read the time stamp counter (prctl "
			       "PR_SET_TSC), which the hooks do; nothing can be done while it is "
			       "so");
	if (error == -ENOTSUP)
		(void)snprintf(in->problem, sizeof(in->problem),
			       "no thread of it can make calls for memattach: its stack has no "
			       "room or is not its own, its descriptors are not the process's "
			       "(unshare CLONE_FILES), or its system calls go to the program "
			       "itself (prctl PR_SET_SYSCALL_USER_DISPATCH, as in Wine)");
	return error;
}

static int undo_load(struct inject *in)
{
	int error = unload_shim(&in->at, &in->load);

	if (error == -EDEADLK)
		(void)snprintf(in->problem, sizeof(in->problem), LOADER_LOCKS_STUCK);
	if (error == -ETXTBSY)
		(void)snprintf(in->problem, sizeof(in->problem),
			       "a copy that the program made of its code has jumps to the hooks, "
			       "which do nothing, but can't be taken out without harm; only a "
			       "restart of it removes them");
	return error;
}

static int do_islands(struct inject *in)
{
	char name[HOOK_NAME_BYTES] = "";
	int error = hooks_check(&in->at, &in->at.plan, name);

	if (error)
		(void)snprintf(in->problem, sizeof(in->problem),
			       "%.40s: %s", name, error == -ESTALE || error == -EINVAL ?
			       "the code in the target is not what was planned for" :
			       why_of(error).text);
	return error ? error : hooks_write_islands(&in->at);
}

static int write_root(struct inject *in, bool armed)
{
	struct shim_root root = { 0 };

	if (!in->at.shim_base)
		return 0;
	if (armed) {
		root.control = in->at.ring_base;
		root.shim_low = in->at.shim_base;
		root.shim_high = in->at.shim_base + in->at.layout.text_bytes;
	}
	return remote_write(&in->at.target, in->at.shim_base + in->at.layout.root, &root,
			    sizeof(root));
}

static int do_arm(struct inject *in)
{
	int error = in->at.control ? deadline_start(&in->at) : 0;

	return error ? error : write_root(in, true);
}

static int undo_arm(struct inject *in)
{
	int error = write_root(in, false);

	if (!error) {
		deadline_stop(in->at.clock);
		in->at.clock = NULL;
		load_look_ahead(&in->at);
	}
	return error;
}

static int do_gaps(struct inject *in) { return hooks_apply_gaps(&in->at); }
static int undo_gaps(struct inject *in) { return hooks_revert_gaps(&in->at); }
static int do_entries(struct inject *in)
{
	int error = hooks_apply_entries(&in->at);

	if (error == -ETIME)
		(void)snprintf(in->problem, sizeof(in->problem),
			       sharers_exist(&in->at.target) ?
				       "another process shares its memory (vfork, CLONE_VM); try "
				       "again when that has ended, or called exec" :
				       "its threads could not be stopped outside of the code to "
				       "patch; try again when it is less busy");
	return error;
}

static int undo_entries(struct inject *in) { return hooks_revert_entries(&in->at); }

/* The bytes of a patched word that are ours. */
static struct stack_range patched_bytes(const struct ring_patch *p)
{
	uint64_t changed = p->original ^ p->patched;

	if (!changed)
		return (struct stack_range){ .low = 0 };
	return (struct stack_range){
		.low = p->address + (uint64_t)__builtin_ctzll(changed) / 8,
		.high = p->address + 8 - (uint64_t)__builtin_clzll(changed) / 8,
	};
}

/* Shim, islands, and the gaps: a thread may stand before the jump in a gap. */
static size_t quiesce_ranges(const struct inject *in, struct stack_range *range)
{
	const struct attachment *a = &in->at;
	const struct ring_journal *j = &a->journal;
	size_t count = 0;

	if (a->shim_base)
		range[count++] = (struct stack_range){
			.low = a->shim_base, .high = a->shim_base + a->layout.total_bytes,
			.calls_low = j->hooks_low ? a->shim_base + j->hooks_low : 0,
			.calls_high = a->shim_base + j->hooks_high };
	for (uint32_t i = 0; i < a->island_count; i++)
		range[count++] = (struct stack_range){
			.low = a->island[i].address, .islands = true,
			.high = a->island[i].address + a->island[i].bytes };
	for (uint32_t i = 0; i < j->gap_patches; i++)
		range[count++] = patched_bytes(&j->patch[i]);
	return count;
}

static int see_threads_outside(struct inject *in)
{
	struct stack_range range[1 + RING_MAX_ISLANDS + RING_MAX_PATCHES];
	size_t count = quiesce_ranges(in, range);
	int error = quiesce_wait(&in->at.target, range, count, tracee_now_ns() + QUIESCE_LIMIT_NS,
				 &in->todo, &in->quiesce);

	attachment_note_stop(&in->at, in->quiesce.stop_us_max, in->quiesce.stopped);
	if (error == -ETIME)
		(void)snprintf(in->problem, sizeof(in->problem),
			       "thread %d is still inside a hooked call; the hooks do nothing "
			       "meanwhile; try again when it has gone on", in->quiesce.blocker);
	return error;
}

/* Calls of hooks that can be left for another stack; where somebody is on one, all, and signals. */
static int see_no_call_suspended(struct inject *in)
{
	struct stack_range range[1 + RING_MAX_ISLANDS + RING_MAX_PATCHES];
	const struct attachment *a = &in->at;
	struct suspended_words words = { .low = a->shim_base + a->journal.hooks_suspended,
					 .high = a->shim_base + a->journal.hooks_high };
	int error;

	if (in->todo.elsewhere) {
		words.low = a->shim_base + a->journal.hooks_low;
		words.range = range;
		words.count = quiesce_ranges(in, range);
	}
	error = suspended_calls_wait(&a->target, &words, &in->todo,
				     tracee_now_ns() + QUIESCE_LIMIT_NS, &in->suspended);
	in->quiesce.blocker = 0;
	if (error == -ETIME)
		(void)snprintf(in->problem, sizeof(in->problem),
			       "a hooked call is still under way on a stack at 0x%llx that no "
			       "thread runs on", (unsigned long long)in->suspended.at);
	else if (error == -ENOTSUP)
		(void)snprintf(in->problem, sizeof(in->problem),
			       "its memory can't be searched for hooked calls that are still "
			       "under way: no /proc/PID/pagemap");
	return error;
}

/* Threads twice where calls may be suspended: one that went on meanwhile may be about to leave. */
static int undo_quiesce(struct inject *in)
{
	int error = see_threads_outside(in);

	if (error || !(in->at.journal.hooks_suspended || in->todo.elsewhere) ||
	    !in->at.shim_base || in->suspended.complete)
		return error;
	(void)abandon_release();
	error = see_no_call_suspended(in);
	if (error)
		return error;
	quiesce_todo_done(&in->todo);
	return see_threads_outside(in);
}

static const struct {
	int (*enter)(struct inject *in);
	int (*leave)(struct inject *in);
	bool must_leave;	/* nothing below may be undone unless this was */
	const char *not_entered, *not_left;	/* for people */
} step[INJECT_STEPS] = {
	[INJECT_LOCK] = { do_lock, undo_lock, false, "memattach's lock could not be taken",
			  "memattach's lock could not be given back" },
	[INJECT_RECORD] = { do_record, undo_record, true, "it could not be looked at",
			    "it could not be compared with what it was" },
	[INJECT_LOAD] = { do_load, undo_load, true, "the hooks could not be brought in",
			  "the hooks could not be taken out" },
	[INJECT_ISLANDS] = { do_islands, NULL, false, "jumps to the hooks could not be written",
			     NULL },
	[INJECT_ARM] = { do_arm, undo_arm, true, "the hooks could not be switched on",
			 "the hooks could not be switched off" },
	[INJECT_GAPS] = { do_gaps, undo_gaps, true, "functions could not be hooked",
			  "functions could not be given back" },
	[INJECT_QUIESCE] = { NULL, undo_quiesce, true, NULL,
			     "threads may still be in the hooks" },
	[INJECT_ENTRIES] = { do_entries, undo_entries, true, "functions could not be hooked",
			     "functions could not be given back" },
};

int inject_init(struct inject *in, struct target *target)
{
	spare_clear(in, sizeof(*in));
	in->at.target = *target;
	*target = TARGET_NONE;
	in->at.ring_fd = in->at.shim_fd = in->lock = -1;
	in->at.remote_fd[0] = in->at.remote_fd[1] = -1;
	return shim_layout_read(shim_image_start, shim_image_bytes(), &in->at.layout);
}

void inject_done(struct inject *in)
{
	pristine_free(in->before);
	quiesce_todo_done(&in->todo);
	(void)undo_lock(in);
	cleanup_fd(&in->at.ring_fd);
	cleanup_fd(&in->at.shim_fd);
	target_done(&in->at.target);
}

static int explain(struct inject *in, const char *failed, int error)
{
	struct why why = why_of(error);

	if (!in->problem[0])
		(void)snprintf(in->problem, sizeof(in->problem), "%s: %s", failed,
			       error == -EEXIST ? "the program maps memory wherever there was room "
			       "a moment ago; try again when it does less of that" : why.text);
	return error;
}

int inject_enter(struct inject *in, enum inject_step last)
{
	for (unsigned int i = in->done; i <= (unsigned int)last; i++) {
		int error = step[i].enter ? step[i].enter(in) : 0;

		step_point();
		/* a row that failed half-way has something to undo: from load on it counts as done
		 */
		if (!error || i >= INJECT_LOAD)
			in->done = i + 1;
		if (error)
			return explain(in, step[i].not_entered, error);
	}
	return 0;
}

int inject_leave(struct inject *in, enum inject_step first)
{
	int error = 0;

	while (in->done > (unsigned int)first) {
		unsigned int i = in->done - 1;
		int one = step[i].leave ? step[i].leave(in) : 0;

		step_point();
		if (one)
			error = error ? error : explain(in, step[i].not_left, one);
		if (one && step[i].must_leave)
			return error;
		in->done = i;
	}
	return error;
}
