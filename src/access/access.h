/* SPDX-License-Identifier: MIT */
/*
 * access.h - are the suspects of a leak report still used? For some seconds their words are watched
 * in the live target (inject/snapshot/access_watch.h), which is not stopped for it.
 */
#ifndef MEMATTACH_ACCESS_H
#define MEMATTACH_ACCESS_H

#include "inject/attach/hook_plan.h"
#include "src/access/changes.h"
#include "src/leak/findings/leak_report.h"
#include "src/symbolize/symbolize.h"
#include "src/target/target_view.h"

struct access_input {
	struct target_view *view;
	const struct hook_plan *plan;	/* where its allocators are */
	struct symbolizer *symbolizer;
	struct access_changes *changes;	/* since the picture, which is kept; NULL: it is not */
	double seconds;
	bool progress;			/* say on stderr that this takes a while */
};
/*
 * Completes report: what was seen in its groups, and their verdicts where that changes them;
 * report->access says what could not be watched, and why. Ends early when nothing is left to be
 * found out, the target ends, or the user asks to stop (again). 0, -ENOMEM, -EPIPE.
 */
int access_run(const struct access_input *input, struct leak_report *report) _must_check_;

#endif
