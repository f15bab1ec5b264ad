/* SPDX-License-Identifier: MIT */
/* several_private.h - what the files that put recordings together share. */
#ifndef MEMATTACH_SEVERAL_PRIVATE_H
#define MEMATTACH_SEVERAL_PRIVATE_H

#include "src/recording/site_frames.h"
#include "src/several/several.h"
#include "src/view/text_store.h"

struct several_path;
struct several_module;
struct several_tables {
	struct text_store texts;
	bool no_memory;
	struct several_path *paths;	/* a uthash: files by path, and whether there is but one */
	struct several_module *modules;	/* a uthash: modules of all recordings, by id in theirs */
	struct several_module **module;	/* the same, by id in the stacks put together - 1 */
	uint32_t module_count, module_room;
	uint32_t **site_id;		/* by process and site of its recording: id in the sums */
};

/* several_match.c: what sites and groups are matched by. */

/* Learns which files the recordings have. 0 or -ENOMEM. */
int several_match_init(struct several *several) _must_check_;
/* Frames to be taken of sites, with texts of several's; ended by site_frames_done. */
struct site_frames several_match_frames(struct several *several);
/* The one copy of text: equal texts have equal addresses. NULL: text is, or no memory. */
const char *several_match_keep(struct several *several, const char *text);
void several_match_done(struct several *several);

/* several_stacks.c: stacks put together, and the names of their frames. */

/* The stack of a recording in several->stacks. 0 or -ENOMEM. */
int several_stacks_add(struct several *several, uint32_t process, uint32_t stack, uint32_t *ret)
	_must_check_;
struct report_names several_stacks_names(struct several *several);
void several_stacks_done(struct several *several);

/* several_sites.c, several_leaks.c: all that the recordings have, put together. 0 or -ENOMEM. */
int several_sites_add(struct several *several) _must_check_;
/* pre: sites were added. */
int several_leaks_add(struct several *several) _must_check_;
void several_leaks_done(struct several *several);

#endif
