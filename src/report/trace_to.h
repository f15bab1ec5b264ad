/* SPDX-License-Identifier: MIT */
/* trace_to.h - who holds one block: every chain of references from a root to it. */
#ifndef MEMATTACH_REPORT_TRACE_H
#define MEMATTACH_REPORT_TRACE_H

#include <stdio.h>

#include "src/report/report.h"

/* pre: input->leaks->traced. For people, or as one JSON document on one line. 0 or -errno. */
int trace_write(FILE *out, const struct report_input *input, uint64_t address, bool json)
	_must_check_;

#endif
