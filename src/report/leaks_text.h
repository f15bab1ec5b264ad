/* SPDX-License-Identifier: MIT */
/* leaks_text.h - the leak report for people: the last part of report_text.c's. */
#ifndef MEMATTACH_REPORT_LEAKS_TEXT_H
#define MEMATTACH_REPORT_LEAKS_TEXT_H

#include "src/report/report.h"

/*
 * What was searched and what was not, totals, the groups with their stacks, one line that sums
 * it up. Without options.top: the first 10 groups that are lost or suspect; with it: the first
 * so many of all groups. pre: input->leaks. Errors stick to the stream.
 */
void leaks_text_put(FILE *out, const struct report_input *input);
/* The verdict follows from what a site did, of which too few samples are known. */
bool leaks_rest_on_too_few(const struct snapshot *snapshot, const struct leak_group *group);
/* Sites with live blocks of which too few samples are known to say whether they grow. */
size_t leaks_too_few_sites(const struct snapshot *snapshot);

#endif
