/* SPDX-License-Identifier: MIT */
/* several_report.h - the combined report on stdout, as its options want it. */
#ifndef MEMATTACH_SEVERAL_REPORT_H
#define MEMATTACH_SEVERAL_REPORT_H

#include "src/session/session.h"
#include "src/several/several.h"

/*
 * Of options: json, view, leaks_alone, top, color. input in any order, count at least 1; missed
 * children of theirs were not watched. SESSION_OK; SESSION_USAGE, SESSION_FAILED with a line on
 * stderr.
 */
int several_report(const struct several_input *input, size_t count, uint32_t missed,
		   const struct session_options *options);

#endif
