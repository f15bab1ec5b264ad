/* SPDX-License-Identifier: MIT */
/* wrong_frees_text.h - double and illegal frees for people: a part of report_text.c's report. */
#ifndef MEMATTACH_REPORT_WRONG_FREES_TEXT_H
#define MEMATTACH_REPORT_WRONG_FREES_TEXT_H

#include "src/report/report.h"

/*
 * Each with what it was, and the stacks of this free, the first one and the allocation; and
 * why others may be missing, if so. Nothing in other modes than exact. Errors stick to the stream.
 */
void wrong_frees_text_put(FILE *out, const struct report_input *input);

#endif
