/* SPDX-License-Identifier: MIT */
/*
 * name_shape.h - --inline=no, --just-function-name, --shorten-templates: the one place where
 * names become what was asked for. Reports, views, exports and the log of calls take their names
 * through it, and know nothing of these options.
 */
#ifndef MEMATTACH_REPORT_NAME_SHAPE_H
#define MEMATTACH_REPORT_NAME_SHAPE_H

#include "src/report/report.h"

/* Is anything to be changed? */
static inline bool name_shape_any(const struct name_shape *shape)
{
	return shape->no_inlined || shape->function_only || shape->shorten_templates;
}

struct name_shaper;
/* *ret NULL: shape leaves all as it is. 0 or -ENOMEM. */
int name_shaper_new(const struct name_shape *shape, struct name_shaper **ret) _must_check_;
/* NULL is ignored. */
void name_shaper_free(struct name_shaper *shaper);
static inline void name_shaper_cleanup(struct name_shaper **shaper) { name_shaper_free(*shaper); }
/*
 * What is shown instead of symbol[0 .. count), the frames of machine; at least one if count is not
 * 0. They themselves for shaper NULL, and where memory is short. Valid as long as the shaper and
 * symbol.
 */
const struct symbol_frame *name_shaper_frames(struct name_shaper *shaper,
					      const struct frame *machine,
					      const struct symbol_frame *symbol, size_t count,
					      size_t *ret_count);
/* names with shaper (NULL: none) before them, which borrows what they refer to. */
struct report_names name_shaper_names(struct name_shaper *shaper, struct report_names names);
/*
 * Puts a new shaper before names. *ret is to be freed after the last question; NULL: none was
 * needed. 0 or -ENOMEM: names are as before.
 */
int report_names_shape(struct report_names *names, const struct name_shape *shape,
		       struct name_shaper **ret) _must_check_;
/*
 * A type, a variable or what holds a block, as the frames of names are shown: a copy, to be
 * freed. NULL for text NULL, or out of memory.
 */
char *report_names_text(const struct report_names *names, const char *text) _must_check_;

#endif
