/* SPDX-License-Identifier: MIT */
/* watch_ahead.c - what events to come will need of all books. */
#include "src/watch/watch_ahead.h"

#include "src/watch/watch.h"

static inline void foresee_stage(const struct watch *w, unsigned int stage,
				 struct reader_hint *hint)
{
	live_foresee(w->live, stage, hint->address, &hint->found[0]);
	if (stage < 2 && hint->path && w->recognition)
		hint->found[1] = recognition_foresee(w->recognition, stage, hint->path);
	if (hint->found[1])
		sites_foresee(w->sites, stage, (uint32_t)hint->found[1]);
}

void watch_foresee(void *context, struct reader_hint *const hint[READER_STAGES])
{
	const struct watch *w = context;

#pragma GCC unroll 4
	for (unsigned int stage = 0; stage < READER_STAGES; stage++)
		if (hint[stage])
			foresee_stage(w, stage, hint[stage]);
}
