/* SPDX-License-Identifier: MIT */
/* watch_ahead.h - what events to come will need is fetched before (reader_foresee). */
#ifndef MEMATTACH_WATCH_AHEAD_H
#define MEMATTACH_WATCH_AHEAD_H

#include "src/ring/reader.h"

/* context: the struct watch. */
void watch_foresee(void *context, struct reader_hint *const hint[READER_STAGES]);

#endif
