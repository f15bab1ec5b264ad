/* SPDX-License-Identifier: MIT */
/* access_text.h - what --access found out, for people. Not for callers of reports. */
#ifndef MEMATTACH_REPORT_ACCESS_TEXT_H
#define MEMATTACH_REPORT_ACCESS_TEXT_H

#include "src/report/report.h"

/* A line on how it was watched, or why it was not. Nothing, if it was not asked for. */
void access_text_put_run(FILE *out, const struct report_input *input);
/* Lines on a group. Nothing, if none of its blocks was watched. */
void access_text_put(FILE *out, const struct report_input *input, const struct leak_group *group);
/* A group that would be left out as reachable was called lost before. */
static inline bool access_text_shows(const struct leak_group *group)
{
	return group->access && group->access->disproved;
}

#endif
