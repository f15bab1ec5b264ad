/* SPDX-License-Identifier: MIT */
/* session_report.h - what a session prints and records, and when. */
#ifndef MEMATTACH_SESSION_REPORT_H
#define MEMATTACH_SESSION_REPORT_H

#include "src/recording/recording.h"
#include "src/screen/feed.h"
#include "src/session/session.h"
#include "src/session/session_leaks.h"
#include "src/names/names.h"
#include "src/session/report_names.h"
#include "src/symbolize/symbolize.h"
#include "src/watch/watch.h"

struct session_report {
	const struct session_options *options;
	const struct target_view *view;
	const struct hook_plan *plan;
	struct symbolizer *symbolizer;
	struct session_names *names;
	struct name_shaper *shaper;	/* of what is shown, not of what is recorded; NULL: none */
	struct feed *feed;	/* to the live screen; NULL: there is none */
	struct recording *recording;
	bool recording_failed;
	bool recording_full;	/* that was said, and not yet that it goes on */
	struct report_naming naming;	/* of the recording, while it is written */
	bool progress;		/* a progress line stands on stderr */
	enum attachment_loader loader;
	enum snapshot_detached detached;
	struct children_left left;
	unsigned int signal;		/* that ended it; 0: none, or not known */
	const char *became;		/* by exec, which ended the watch; NULL; borrowed */
	struct session_leaks *leaks;	/* borrowed; NULL: not searched for */
	const struct session_memory *memory;	/* borrowed */
	struct snapshot *last;		/* between session_report_conclude and its writing */
	struct snapshot_older older;
	uint64_t attach_stop_us, detach_stop_us;
	uint32_t threads_stopped;
	double saved;		/* CLOCK_MONOTONIC: the last by session_report_save */
	double begin_time;	/* seconds since 1970 */
	double begin;		/* CLOCK_MONOTONIC seconds */
	double end;		/* of watching; 0: still at it */
	double next_lives;	/* seconds watched: lifetimes are recorded again then */
	uint64_t lives_at;	/* TSC of the last time; 0: not yet */
	struct site_lives *lives;	/* of all sites, at the end; NULL: not yet */
	struct block_list *blocks;	/* the same */
	struct thread_table *threads;	/* the same */
};

/*
 * Opens the recording, if one was asked for. 0; -ENOTDIR it can't be had where it
 * was asked for (explained on stderr); -errno.
 */
int session_report_open(struct session_report *report, const struct session_options *options,
			const struct target_view *view, const struct hook_plan *plan) _must_check_;
void session_report_begin(struct session_report *report, struct watch *watch);
/* Watching is over: durations end here. */
void session_report_watched(struct session_report *report);
/* Every few milliseconds while watching: what the live screen, or memattachd, asks for. */
void session_report_turn(struct session_report *report, struct watch *watch);
/* The figures of this moment, which are the caller's. 0 or -ENOMEM. */
int session_report_snapshot(struct session_report *report, struct watch *watch,
			    struct snapshot **ret) _must_check_;
/* At the end of an interval: the recording's next snapshot, the reprinted top sites. 0 or -ENOMEM.
 */
int session_report_interval(struct session_report *report, struct watch *watch) _must_check_;
/* Between two intervals, for that reason; recorded, not printed. 0 or -ENOMEM. */
int session_report_extra(struct session_report *report, struct watch *watch,
			 enum snapshot_reason reason) _must_check_;
/*
 * Between two intervals: the snapshot that is waited for, where intervals may be long
 * (screen_can_wait), and not more than one a second. 0 or -ENOMEM.
 */
int session_report_save(struct session_report *report, struct watch *watch) _must_check_;
void session_report_stops(struct session_report *report, bool attach, uint64_t us,
			  uint32_t threads);
/*
 * Finds out what the final report says; --access takes its time here. *exit is changed for
 * leaks and failures. False: there will be none.
 */
bool session_report_conclude(struct session_report *report, struct watch *watch, int *exit);
/* After that was true: the report on stdout, with the stops that are known by now. */
void session_report_write(struct session_report *report, struct watch *watch, int *exit);
void session_report_close(struct session_report *report);

#endif
