/* SPDX-License-Identifier: MIT */
/* inject.h - entering and leaving a target as one table of steps. Read this first. */
#ifndef MEMATTACH_INJECT_H
#define MEMATTACH_INJECT_H

#include "inject/attach/attachment.h"
#include "inject/attach/load.h"
#include "inject/attach/pristine.h"
#include "inject/quiesce/quiesce.h"
#include "inject/quiesce/suspended.h"

/* In the order in which they are taken on the way in. */
enum inject_step {
	INJECT_LOCK,		/* nobody else of us is at this target */
	INJECT_RECORD,		/* what it looked like before / is it that again */
	INJECT_LOAD,		/* shim, islands, ring are mapped */
	INJECT_ISLANDS,		/* the islands hold code */
	INJECT_ARM,		/* the shim knows its ring */
	INJECT_GAPS,		/* jumps stand in the gaps; nothing leads to them */
	INJECT_QUIESCE,		/* nothing on the way in; the proof on the way out */
	INJECT_ENTRIES,		/* calls go through the shim */
	INJECT_STEPS
};

struct inject {
	struct attachment at;
	unsigned int done;		/* steps [0, done) are done */
	int lock;
	struct pristine *before;
	struct load_options load;	/* how to load, and later to unload */
	struct quiesce_result quiesce;
	struct quiesce_todo todo;
	struct suspended_search suspended;
	bool pristine;			/* after INJECT_RECORD's undo */
	char problem[512];		/* of the step that failed, in words; "" */
};

/* Prepares for target (ownership taken). 0 or -ENOEXEC (this program was built wrong). */
int inject_init(struct inject *inject, struct target *target) _must_check_;
/* Releases what is ours on this side only; undoes nothing in the target. */
void inject_done(struct inject *inject);
/*
 * Rebuilds from the target's own journal what a keeper that died left there;
 * all steps then count as done. 0, -ENOENT nothing of ours is in the target,
 * -EALREADY its keeper still lives, -EBADMSG the journal makes no sense, -errno
 * (adopt.c). pre: plan has the gadgets.
 */
int inject_adopt(struct inject *inject, const struct hook_plan *plan) _must_check_;
/* Fills remote_fd with the descriptors of our memfds that are open in the target; their number. */
unsigned int adopt_descriptors(struct attachment *attachment);
/*
 * Takes every step up to and including last. 0, or the failed step's -errno
 * with problem set; the steps before it stay done.
 */
int inject_enter(struct inject *inject, enum inject_step last) _must_check_;
/*
 * Undoes every step down to and including first. Nothing is undone above a step
 * whose undo failed and that others rest on (entries, quiesce, gaps, load): call
 * again to go on from there. After others the way goes on. The first error.
 */
int inject_leave(struct inject *inject, enum inject_step first);

#endif
