/* SPDX-License-Identifier: MIT */
/* open_recording.h - recordings for commands, with what there is to be said about them. */
#ifndef MEMATTACH_OPEN_RECORDING_H
#define MEMATTACH_OPEN_RECORDING_H

#include "src/recording/recording.h"
#include "src/report/name_shape.h"

/*
 * recording_read_at, with a line on stderr for an error, for what is damaged and for a session that
 * has no end. SESSION_OK, to be ended by recording_content_done; SESSION_USAGE.
 */
int open_recording(const char *name, struct recording_content *ret) _must_check_;
/*
 * Names of content are shown in that shape from now on; *ret as of report_names_shape, to be freed
 * after the last use of content. SESSION_OK; SESSION_FAILED with a line on stderr.
 */
int open_recording_names(struct recording_content *content, const struct name_shape *shape,
			 struct name_shaper **ret) _must_check_;
/*
 * SESSION_OK; SESSION_USAGE with a line on stderr: calls were only counted (--counts), and what
 * needs to know which blocks live.
 */
int open_recording_blocks(const char *name, const struct recording_content *content,
			  const char *what) _must_check_;
/* That line for an error of recording_read and the like: SESSION_USAGE. */
int open_recording_failed(const char *name, int error);
/*
 * Makes content->leaks what the view leaks shows: the search for leaks, or where there was none, a
 * judgement by lifetimes. SESSION_OK; SESSION_USAGE, SESSION_FAILED with a line on stderr.
 */
int open_recording_leaks(const char *name, struct recording_content *content) _must_check_;

#endif
