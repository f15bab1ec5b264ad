/* SPDX-License-Identifier: MIT */
/* several_write.h - the combined report, for people and as a document; views of its sites. */
#ifndef MEMATTACH_SEVERAL_WRITE_H
#define MEMATTACH_SEVERAL_WRITE_H

#include "src/several/several.h"
#include "src/view/view.h"

/*
 * A line per process, then sites with a column per process, as many as fit; leaks where memory was
 * searched. leaks_alone: these only. 0 or -errno of out, -ENOMEM.
 */
int several_write_text(FILE *out, const struct several *several,
		       const struct report_options *options, bool leaks_alone) _must_check_;
/* docs/several.schema.json. The same. */
int several_write_json(FILE *out, const struct several *several,
		       const struct report_options *options) _must_check_;
/* Why view can't be shown of several processes, a phrase for people; NULL: it can. */
const char *several_view_missing(const struct view *view, const struct view_options *options,
				 const struct several *several);
/* pre: not missing. As view_write. */
int several_view_write(const struct view *view, FILE *out, const struct several *several,
		       const struct report_options *report, const struct view_options *options,
		       bool json) _must_check_;

#endif
