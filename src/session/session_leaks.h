/* SPDX-License-Identifier: MIT */
/*
 * session_leaks.h - the leak report of a session: a picture of the target, what the books
 * know of its blocks at that moment, and the search, once the target has been left.
 */
#ifndef MEMATTACH_SESSION_LEAKS_H
#define MEMATTACH_SESSION_LEAKS_H

#include "inject/attach/hook_plan.h"
#include "src/base/hashmap.h"
#include "src/recording/history.h"
#include "src/leak/analysis/analysis.h"
#include "src/session/memory.h"
#include "src/session/session.h"
#include "src/names/names.h"
#include "src/symbolize/symbolize.h"
#include "src/target/target_view.h"
#include "src/watch/watch.h"

struct session_block {
	struct analysis_known known;
	uint64_t time;			/* TSC of its allocation */
	double weight;
	bool reachable;
};
/* Zeroed, but for picture.mem and pagemap = -1: nothing taken. */
struct session_leaks {
	const struct session_options *options;
	struct target_view *view;
	const struct hook_plan *plan;
	struct session_memory *memory;	/* borrowed; filled from the picture; NULL: not wanted */
	struct picture picture;
	int pagemap;			/* of the picture; -1 */
	struct ranges uncopied;		/* what was there before it, and it has no copy of */
	bool taken;
	bool torn;			/* an allocator was at work in the picture; try another */
	char torn_why[160], torn_before[160];	/* of the last picture, and the one before it */
	uint64_t places;		/* where all threads stood, as one number */
	unsigned int same_why;		/* pictures in a row that were torn at the same place */
	int late;			/* pictures of which a record did not come in time */
	bool ended;			/* it was gone before its heaps were walked */
	bool for_older;			/* of the beginning: see session_preattach.h */
	bool under_way;			/* a thread may be in a call from before the hooks */
	struct hashmap by_address;	/* block -> index in known */
	struct session_block *known;	/* as the books stood at the picture */
	size_t known_count, known_room;
	uint64_t moment;		/* TSC of the picture */
	struct analysis *analysis;	/* of it, begun; NULL: not taken */
	struct leak_report *report;	/* after session_leaks_search */
	struct history *history;	/* NULL: none was given */
	struct leak_content *kept;	/* of blocks that may be suspect, see show_bytes.h */
	size_t kept_count;
};

void session_leaks_init(struct session_leaks *leaks, const struct session_options *options,
			struct target_view *view, const struct hook_plan *plan);
/*
 * Reads the recording given as --history, if one was: before the target is touched. 0; -ENOTDIR it
 * can't be used (explained on stderr).
 */
int session_leaks_open_history(struct session_leaks *leaks) _must_check_;
/*
 * Takes the picture, walks its heaps, and from watch (NULL: nothing was watched) has what is
 * known of the blocks at that moment; takes another one when an allocator was at work in it. 0;
 * -EAGAIN and torn: it was in all of them; -ETIME: records of what was before it do not come;
 * -ECANCELED, -EACCES it may not be taken (the
 * keeper's text says why); -errno.
 */
int session_leaks_take(struct session_leaks *leaks, struct watch *watch) _must_check_;
/*
 * The same in two steps, for a search beside a session that goes on (check.h): the picture alone,
 * as session_leaks_take, but never another one; */
int session_leaks_freeze(struct session_leaks *leaks) _must_check_;
/* and, where watch is held at leaks->moment, its books and the heaps. 0, -EAGAIN torn, -errno. */
int session_leaks_walk(struct session_leaks *leaks, const struct watch *watch) _must_check_;
/* Searches it. 0 or -errno. */
int session_leaks_search(struct session_leaks *leaks) _must_check_;
/*
 * Completes the report: sites whose blocks are reachable and yet suspect (stuck, growing,
 * old), and the variables of all groups with a site. 0 or -ENOMEM.
 */
int session_leaks_complete(struct session_leaks *leaks, struct symbolizer *symbolizer,
			   struct session_names *names, const struct watch *watch,
			   const struct snapshot *snapshot) _must_check_;
/*
 * Ends the search, but keeps the picture for --access, to be given back after that. False: it is
 * of no use, as there is none, nothing was asked for, or what it is of has ended.
 */
bool session_leaks_keep_picture(struct session_leaks *leaks);
/* Gives the picture back; nothing of it is left in the target. 0 or -errno. */
int session_leaks_thaw(struct session_leaks *leaks);
void session_leaks_done(struct session_leaks *leaks);

#endif
