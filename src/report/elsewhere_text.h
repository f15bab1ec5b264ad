/* SPDX-License-Identifier: MIT */
/* elsewhere_text.h - memory of the process that is in none of the blocks that a report knows. */
#ifndef MEMATTACH_REPORT_ELSEWHERE_TEXT_H
#define MEMATTACH_REPORT_ELSEWHERE_TEXT_H

#include <stdio.h>

#include "src/live/snapshot.h"

/*
 * Where less than a quarter of what is resident is in blocks that were seen: how much that is not,
 * what it may be, and the command that tells. It may be free memory that the allocator keeps, which
 * no other part of the report shows. Nothing of a process that has ended, or is small.
 */
void elsewhere_text_put(FILE *out, const struct snapshot *snapshot);

#endif
