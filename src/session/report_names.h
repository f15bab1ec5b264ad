/* SPDX-License-Identifier: MIT */
/*
 * report_names.h - names in the recording while it is written, for those who read it meanwhile.
 * None are looked for, nor written, before somebody does.
 */
#ifndef MEMATTACH_SESSION_REPORT_NAMES_H
#define MEMATTACH_SESSION_REPORT_NAMES_H

#include "src/modules/stacks.h"
#include "src/symbolize/symbolize.h"
#include "src/watch/watch.h"

struct session_report;

#define REPORT_NAMES_TOP 256u	/* sites whose frames come first */

struct report_naming {
	double until;			/* CLOCK_MONOTONIC: they are wanted; 0: they never were */
	double next_slice, next_write;	/* the same: not before */
	/* The sites with the most live bytes, the largest first. */
	struct { uint64_t bytes; uint32_t stack; } top[REPORT_NAMES_TOP];
	uint32_t top_count;
	uint32_t place;			/* of the next site that may be one of them */
	uint32_t top_next;		/* whose frames are looked at next, */
	uint32_t stack;			/* and then: of all stacks up to this id they were, */
	uint32_t depth;			/* and of the next one so many */
	struct frame frame[SYMBOLIZER_FORESEEN];	/* that are asked for */
	uint32_t frame_count;
	uint32_t asked;			/* frames so far */
	uint32_t written;		/* the same, into the recording */
	bool found;			/* there may be some to be written */
};

/* Somebody reads the recording. */
void session_report_names_want(struct session_report *report);
/*
 * Between two looks at the rings: finds some names, for two milliseconds, and writes what was
 * found, once a second at the most. busy: the rings fill up.
 */
void session_report_names_turn(struct session_report *report, const struct watch *watch, bool busy);
/* After the recording's next interval: it may have frames whose names are known. */
void session_report_names_interval(struct session_report *report);
/* Are there names to be found, or to be written, for which somebody waits? */
bool session_report_names_are_due(const struct session_report *report, const struct watch *watch);

#endif
