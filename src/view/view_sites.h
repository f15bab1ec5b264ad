/* SPDX-License-Identifier: MIT */
/*
 * view_sites.h - the sites of a snapshot with their source-level frames: what views and exports
 * stand on.
 *
 * Texts are interned: within one struct view_sites, equal texts have equal addresses.
 */
#ifndef MEMATTACH_VIEW_SITES_H
#define MEMATTACH_VIEW_SITES_H

#include "src/report/report.h"
#include "src/view/view_metric.h"

#define VIEW_MAX_FRAMES 4096u	/* of one site; what is farther out is cut */

/* A function in a stack; what was inlined is a frame of its own. */
struct view_frame {
	uint32_t index;			/* in view_sites.frame */
	uint32_t line, column;		/* 0: unknown */
	bool inlined;			/* into the next frame of the stack */
	/*
	 * To show: the function, else module+0xoffset or 0xaddress. Any bytes: make it printable
	 * (report/printable.h) or escape it.
	 */
	const char *title;
	const char *function;		/* NULL: unknown */
	const char *file;		/* NULL: unknown */
	const char *module, *build_id;	/* as in struct symbol_frame: "" unknown */
	uint64_t offset;		/* of the call in the module, or its address */
	uint64_t function_offset;	/* of the call in the function */
};

struct view_site {
	const struct snapshot_site *figures;	/* the snapshot's; filter.thread: their part */
	/*
	 * Innermost first, at least one: where nothing is known, one that is titled "unknown"
	 * (function, file NULL; module, build_id "").
	 */
	uint32_t frame_count;
	const struct view_frame *const *frame;
	uint32_t caller;		/* index of the frame that stands for them all (caller.h) */
	uint32_t stack_flags;			/* enum stack_flag */
	bool cut;				/* at VIEW_MAX_FRAMES, or by view_filter.depth */
};

enum view_kind { VIEW_KIND_ALL = 0, VIEW_KIND_MALLOC, VIEW_KIND_MMAP };

/* Zeroed: everything, nothing shortened. */
struct view_filter {
	uint32_t site;			/* id; 0: all */
	enum view_kind kind;
	const char *module;		/* of some frame: path, file name, that up to .so */
	/*
	 * Only what this thread allocated: its number, its id, or the name of all that have it.
	 * Blocks only, and not what is known of a site as a whole alone: peaks, lifetimes.
	 */
	const char *thread;
	/*
	 * Requested sizes, of which some lie in [low, high], as far as size_set.h can tell; both 0:
	 * all. Where a recording has no sizes of sites (snapshot.site_peaks): the mean size does.
	 */
	uint64_t size_low, size_high;
	/* Source-level frames kept from the caller outwards, with those in it; 0: all. */
	uint32_t depth;
};

struct view_sites {
	size_t count;
	struct view_site *site;		/* in the snapshot's order: live bytes, descending */
	uint64_t sum[VIEW_METRIC_COUNT];	/* over these sites */
	uint32_t frame_count;
	struct view_frame *const *frame;	/* all that the sites refer to, each once */
	struct view_store *store;		/* private */
};

/*
 * Everything in input is borrowed for the life of *ret (names only for the call); filter for the
 * call. NULL: no filter. 0 or -ENOMEM.
 */
int view_sites_new(const struct report_input *input, const struct view_filter *filter,
		   struct view_sites **ret) _must_check_;
/* NULL is ignored. */
void view_sites_free(struct view_sites *sites);
/* The frame of site that stands for its stack. */
static inline const struct view_frame *view_site_caller(const struct view_site *site)
{
	return site->frame[site->caller];
}
/* A module's name without its folders. */
const char *view_base_name(const char *path);

#endif
