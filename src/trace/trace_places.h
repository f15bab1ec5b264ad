/* SPDX-License-Identifier: MIT */
/*
 * trace_places.h - the places that calls come from, each named once: as text that is ready
 * for a line of the log.
 */
#ifndef MEMATTACH_TRACE_PLACES_H
#define MEMATTACH_TRACE_PLACES_H

#include "src/names/names.h"
#include "src/report/report.h"
#include "src/trace/filter.h"

struct trace_place {
	char *text;		/* see trace_places_new */
	bool passes;		/* the filter, whatever is called */
	bool passes_called;	/* if what is called is the function that was asked for */
	/* The answer of a search for the caller (report/caller.h) to this place alone. */
	bool helper;		/* all of it allocates for its own caller */
	bool ends_search;	/* frames farther out change nothing */
};

struct trace_places;
/* Makes the text of one place; NULL: out of memory. The caller frees it. */
typedef char *(*trace_place_fn)(const struct symbol_frame *frame, size_t count);
/* Where names come from, and what they are asked for. Borrowed. */
struct trace_places_input {
	struct symbolizer *symbolizer;
	struct session_names *names;
	const struct trace_filter *filter;	/* of names as they are; copied, not its texts */
	struct name_shape shape;	/* of what is shown */
	trace_place_fn text;
};
/* 0 or -ENOMEM. */
int trace_places_new(const struct trace_places_input *input, struct trace_places **ret)
	_must_check_;
void trace_places_free(struct trace_places *places);
/*
 * The place of caller. NULL: its name is still being looked for, ask again (wait: never; it takes
 * as long as it takes), or out of memory. Borrowed until the next call.
 */
const struct trace_place *trace_places_get(struct trace_places *places, const struct frame *caller,
					   bool wait);
/*
 * The same for what stands for the stack from frame `from` on (report/caller.h). pre: it has such a
 * frame.
 */
const struct trace_place *trace_places_caller(struct trace_places *places,
					      const struct stack *stack, uint32_t from,
					      bool wait);

#endif
