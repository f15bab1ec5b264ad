/* SPDX-License-Identifier: MIT */
/* paths.h - call paths: what the rest of the shim asks of recognition (docs/RECOGNITION.md). */
#ifndef MEMATTACH_SHIM_PATHS_H
#define MEMATTACH_SHIM_PATHS_H

#include "inject/shim/shim.h"

/* [low, high) is about to go: if code with published rules lies there, they no longer hold. */
void shim_rules_unmap(struct ring_control *control, uint64_t low, uint64_t high);

/* Is the stack of a call one that needs no copy? */
enum shim_path {
	SHIM_PATH_NONE = 0,	/* not known: copy it */
	SHIM_PATH,		/* the reader knows it by this name */
	SHIM_PATH_AND_COPY,	/* it does, and shall see for itself (control.verify) */
};
/* *ret_path: its name; SHIM_PATH_NONE: enum ring_copied. */
enum shim_path shim_path_find(struct ring_control *control, const struct shim_call *call,
			      uint64_t *ret_path);

/* A path to be told: its frames, the outermost first. */
struct shadow_frame;
struct shim_path_record {
	uint64_t name;
	const struct shadow_frame *frame;
	uint32_t count;
	bool truncated;
};
/* Records it; false: not recorded (that is no loss). */
bool shim_record_path(struct ring_control *control, const struct shim_call *call,
		      const struct shim_path_record *path);
/*
 * A recognised stack goes with its copy, for the audit alone: what happened is counted, or
 * recorded, elsewhere. Without room it is left out.
 */
void shim_record_audit(struct ring_control *control, const struct shim_call *call, uint64_t path);
/*
 * A call of size bytes that is not counted by its path goes with the copy of its stack. false: not
 * recorded; that is no loss, it is to be counted.
 */
bool shim_record_unknown(struct ring_control *control, const struct shim_call *call,
			 uint64_t size);

#endif
