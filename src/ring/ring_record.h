/* SPDX-License-Identifier: MIT */
/* ring_record.h - one ring record's own words: are they possible, and what do they say? */
#ifndef MEMATTACH_RECORD_H
#define MEMATTACH_RECORD_H

#include "src/ring/event.h"

/* Is what the record, of so many lines, says possible? Only then may others see it. */
bool record_valid(const struct ring_record *record, uint32_t lines);
/* What its first line says; ring, stack and call are not set. pre: record_valid. */
void record_event(const struct ring_record *record, struct event *ret);

#endif
