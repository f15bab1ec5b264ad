/* SPDX-License-Identifier: MIT */
/* watch_counts.h - a watch that only counts: from the shim's counters to the books. */
#ifndef MEMATTACH_WATCH_COUNTS_H
#define MEMATTACH_WATCH_COUNTS_H

#include "src/watch/watch.h"

/* pre: control is mapped. 0 or -errno. */
int watch_counts_open(struct watch *watch) _must_check_;
/*
 * Reads all counters and books them. last: no thread is in the shim any more, and what was told is
 * read: paths that nobody knows by now are booked as unknown. 0 or -ENOMEM.
 */
int watch_counts_read(struct watch *watch, bool last) _must_check_;
/* What a point of the timeline says of blocks. pre: read. */
void watch_counts_point(struct watch *watch, struct timeline_point *point);
/*
 * An event in the rings, beside those of mappings: a stack for the audit, or one that no rule
 * describes. 0 or -ENOMEM.
 */
int watch_counts_event(struct watch *watch, const struct event *event) _must_check_;
/* Now and then: may more of those be copied? */
void watch_counts_allow(struct watch *watch, double seconds);
/* Puts the figures into a snapshot that was just taken of the books. 0 or -ENOMEM. */
int watch_counts_snapshot(const struct watch *watch, struct snapshot *snapshot) _must_check_;

#endif
