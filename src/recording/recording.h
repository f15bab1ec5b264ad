/* SPDX-License-Identifier: MIT */
/*
 * recording.h - a session in an SQLite database (docs/RECORDING.md).
 *
 * Every interval is one transaction: whatever kills memattach, the file opens
 * and holds everything up to the last whole interval.
 */
#ifndef MEMATTACH_RECORDING_H
#define MEMATTACH_RECORDING_H

#include "src/live/block_list.h"
#include "src/leak/candidates/trend.h"
#include "src/report/report.h"
#include "src/live/site_lives.h"
#include "src/live/thread_table.h"
#include "src/memory/heap_figures.h"
#include "src/memory/regions.h"

#define RECORDING_VERSION 1	/* PRAGMA user_version */

struct recording;
/*
 * Makes path anew (an existing recording of ours is replaced, any other existing
 * file refused; links are followed). 0, -EEXIST it is not a recording, or our own output; -EBUSY
 * somebody has that recording open; -ENOSPC, -EACCES, -errno.
 */
int recording_open(const char *path, struct recording **ret) _must_check_;
/* The same, but that a full disk is waited for: recording_is_full(). */
int recording_open_soon(const char *path, struct recording **ret) _must_check_;
/*
 * From now on the file keeps below bytes (RECORDING_LIMIT_LEAST at least; its log comes on top
 * while it is written): old snapshots are given up, the report says how many. What there is no room
 * for even then fails as on a full disk. 0 or -errno.
 */
int recording_set_limit(struct recording *recording, uint64_t bytes) _must_check_;
/*
 * pulse is called now and then while much is written, which may take longer than anybody waits. It
 * may add stacks, and modules. NULL: no more.
 */
void recording_set_pulse(struct recording *recording, void (*pulse)(void *context), void *context);
/* Gives up what is remembered for speed alone: nothing is added for a while. NULL is fine. */
void recording_rest(struct recording *recording);
/*
 * Writes the interval that snapshot ends: its figures, sites that changed, stacks
 * and frames not yet known. modules gives their files' names. 0; -errno. After an
 * error the file keeps the intervals before, later calls return the same error, and
 * recording_error says it in words.
 * A full disk is no error while the target is watched: what is not written now is in a later
 * interval, once there is room (tried again after a second, and so on up to five minutes).
 */
int recording_add(struct recording *recording, const struct snapshot *snapshot,
		  const struct stacks *stacks, const struct modules *modules) _must_check_;
/* Is there no room now for what is to be written? */
bool recording_is_full(const struct recording *recording);
/*
 * How long blocks lived, and when those that live were born, of sites with events since the last
 * time. Now and then: each tenth of the session, and at its end. As recording_add.
 */
int recording_add_lives(struct recording *recording, const struct site_lives *lives) _must_check_;
/* The blocks that live at the end. Once. As recording_add. */
int recording_add_blocks(struct recording *recording, const struct block_list *blocks)
	_must_check_;
/*
 * What threads did so far; replaces the last. Where add_lives is called. As recording_add, but left
 * out where it would take more than an eighth of a limit.
 */
int recording_add_threads(struct recording *recording, const struct thread_table *threads)
	_must_check_;
/*
 * While it is written: names up to most (RECORDING_NAMED_AT_ONCE at the most) of the recorded
 * frames that have no names yet and of which names has a function; its answer NULL: not yet. The
 * number of these. What there is no room for, or no time, is left to the next call: no error.
 */
uint32_t recording_name_some(struct recording *recording, const struct report_names *names,
			     uint32_t most);
#define RECORDING_NAMED_AT_ONCE 2048u
/*
 * Names every recorded frame (function, file, line), those that have names already excepted. Once,
 * at the end. As recording_add.
 */
int recording_symbolize(struct recording *recording, const struct report_names *names) _must_check_;
/* The report of a search for leaks, after the last interval. As recording_add. */
int recording_add_leaks(struct recording *recording, const struct leak_report *leaks)
	_must_check_;
/*
 * The mappings of the process and the figures of its heaps, each NULL if not known. Once, last:
 * where there is no room for them below the limit, they are left out. As recording_add.
 */
int recording_add_memory(struct recording *recording, const struct regions *regions,
			 const struct heap_figures *heaps) _must_check_;
/*
 * Folds everything into the one file and closes it. NULL is fine. 0 or -errno: with recording_error
 * still empty nothing is lost, but FILE-wal has some of it (recording_explain_close).
 */
int recording_close(struct recording *recording);
/* The error of a recording_close that left the log there, in words for the user. */
void recording_explain_close(const char *path, int error, char *to, size_t room);
/* What -EFBIG means. */
#define RECORDING_FILE_LIMIT "the limit on the size of files (ulimit -f) is reached"
/* "FILE: no space left on device; what was recorded until 12.0 s is kept". "" when all is well. */
const char *recording_error(const struct recording *recording);

/* Why a recording can't be read (an error of recording_read), in words for the user. */
void recording_explain(const char *path, int error, char *to, size_t room);

/* What a recording holds, ready for any report. */
struct recording_content {
	char *path;			/* of the file, without a moment */
	uint64_t snapshot_id;		/* in its table snapshots; 0: before the first */
	struct snapshot *snapshot;	/* the last one, or that of the moment */
	struct stacks *stacks;
	struct report_names names;
	struct leak_report *leaks;	/* NULL: memory was not searched */
	struct site_lives *lives;	/* NULL: made by a memattach that did not keep them */
	struct block_list *blocks;	/* NULL: as lives, or it has no end */
	struct regions *regions;	/* NULL: the same */
	struct heap_figures *heaps;	/* NULL: they were not walked */
	struct thread_table *threads;	/* NULL: as lives */
	struct trend *trend;		/* of snapshot->site[i]'s live bytes; NULL as above */
	uint64_t looks;			/* snapshots that trend rests on */
	char warning[400];		/* what is damaged and left out, for people; "": nothing */
	struct recording_names *own;	/* what names refers to */
};
/*
 * Opens path read-only and rebuilds the last snapshot. 0, -ENOENT, -EBADMSG not a
 * recording or damaged, -EPROTONOSUPPORT made by a newer memattach, -ENODATA it ends
 * before its first interval, -errno.
 */
int recording_read(const char *path, struct recording_content *ret) _must_check_;
/*
 * The same, of "FILE" or of a moment of it, "FILE@120s", "@2m", "@50%", "@peak", "@end": totals and
 * sites as of the last snapshot until then for which sites are known, whose time becomes the
 * session's duration (session.recorded_seconds is that of all of it). What is known of the end
 * only is not there: leaks, lives, trend, histogram; of sites, samples are in proportion and
 * threads those of the end. A file that exists under the whole name is meant as such.
 * Also -EINVAL no moment, -ERANGE the recording ends before it, -EOPNOTSUPP it was made without
 * figures of moments.
 */
int recording_read_at(const char *name, struct recording_content *ret) _must_check_;
void recording_content_done(struct recording_content *content);
/* Of a recorded module (frame.module), in hexadecimal; "" where it has none or is not known. */
const char *recording_build_id(const struct recording_content *content, uint32_t module);
/* Its file, as mapped; "" where it is not known. */
const char *recording_module_path(const struct recording_content *content, uint32_t module);
/* Has the recording a module with this build id? */
bool recording_has_build_id(const struct recording_content *content, const char *build_id);

#endif
