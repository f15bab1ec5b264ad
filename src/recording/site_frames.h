/* SPDX-License-Identifier: MIT */
/* site_frames.h - the source-level frames of a recorded site, as sites are matched and shown. */
#ifndef MEMATTACH_RECORDING_SITE_FRAMES_H
#define MEMATTACH_RECORDING_SITE_FRAMES_H

#include "src/recording/recording.h"
#include "src/report/diff.h"

/* Zeroed but for what is set by the caller; ended by site_frames_done. */
struct site_frames {
	/* The one copy of text that outlives this; NULL for NULL, and when out of memory. */
	const char *(*keep)(void *context, const char *text);
	/*
	 * The kept text of the build id that a frame in a file is matched by; NULL: by its names.
	 * path: of the file.
	 */
	const char *(*match)(void *context, const char *build_id, const char *path);
	void *context;
	bool with_code;			/* keep where code is, for frames without names */
	struct diff_frame *frame;	/* innermost first */
	uint32_t frame_count, frame_room;
};

/*
 * Sets frame to what there is at site's frames, without the allocator's own: all inlined ones, too.
 * Of hostile recordings as many as fit a limit. 0 or -ENOMEM.
 */
int site_frames_take(struct site_frames *frames, const struct recording_content *content,
		     const struct snapshot_site *site) _must_check_;
void site_frames_done(struct site_frames *frames);

#endif
