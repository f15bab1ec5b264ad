/* SPDX-License-Identifier: MIT */
/*
 * memory.h - what a session finds out of the target's memory as a whole, once, at its end: its
 * mappings, and where the memory of its heaps went.
 */
#ifndef MEMATTACH_SESSION_MEMORY_H
#define MEMATTACH_SESSION_MEMORY_H

#include "src/leak/analysis/analysis.h"
#include "src/memory/regions.h"
#include "src/session/session.h"
#include "src/target/target_view.h"

/* Zeroed: nothing is known. */
struct session_memory {
	struct regions *regions;	/* NULL: not taken */
	struct heap_figures *figures;	/* NULL: no picture was taken and walked */
	struct ranges present;		/* of regions: resident private memory of no file */
	bool told;			/* present is complete */
};

/* Is a picture of the heaps to be taken for these options? Are the mappings to be looked at? */
bool session_memory_wants_heaps(const struct session_options *options);
bool session_memory_wants_regions(const struct session_options *options);
/*
 * The mappings as they are now; idle may be NULL. The target runs on. 0; -ESRCH it has ended;
 * -errno: then nothing is known of them.
 */
int session_memory_take(struct session_memory *memory, const struct target_view *view,
			void (*idle)(void *context), void *idle_context) _must_check_;
/* Before a walk: where its figures go to. 0 or -ENOMEM. */
int session_memory_begin_walk(struct session_memory *memory, struct analysis_input *input)
	_must_check_;
/* After it: the books, and which mappings are heaps and stacks. 0 or -ENOMEM. */
int session_memory_end_walk(struct session_memory *memory, struct analysis *analysis,
			    const struct picture *picture) _must_check_;
/* A walk that came to nothing. */
void session_memory_forget_walk(struct session_memory *memory);
void session_memory_done(struct session_memory *memory);

#endif
